//! Regular expressions: broken ones, and those that search forever.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/regex.txt");

/// Groups in groups, and what makes the ones above search.
pub(super) fn grown(size: u64) -> Vec<Value> {
    let size = size.min(4096);
    vec![around("", repeated("(a?)", size / 4), "a"), repeated("a|", size / 2)]
}
