//! URLs: other schemes, hosts in disguise, the inside of a network.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/url.txt");

/// Queries without an end.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![
        around("http://example.com/?", repeated("a=b&", size / 4), ""),
        around("http://", repeated("a.", size / 2), "example"),
    ]
}
