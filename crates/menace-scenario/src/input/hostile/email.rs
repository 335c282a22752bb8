//! E-mail addresses: headers in them, comments, domains in disguise.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/email.txt");

/// Longer than mail allows.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![
        around("", repeated("a", size), "@example.com"),
        around("a@", repeated("b.", size / 2), "example"),
    ]
}
