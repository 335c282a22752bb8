//! Text that is almost a number.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/number.txt");

/// More digits than Python reads.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("9", size), around("0.", repeated("0", size), "1")]
}
