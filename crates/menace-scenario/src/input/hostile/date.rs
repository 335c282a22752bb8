//! Text that is almost a date.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/date.txt");

/// Digits without an end.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![around("2024-01-", repeated("0", size), "1")]
}
