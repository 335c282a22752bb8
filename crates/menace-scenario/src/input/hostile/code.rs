//! Python: expressions that do something, and ones that never end.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/code.txt");

/// Brackets in brackets, and sums without an end.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("(", size), around("1", repeated("+1", size / 2), "")]
}
