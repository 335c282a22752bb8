//! Text without a grammar: what makes trouble in whatever it is pasted into.

use menace_model::Value;

use super::repeated;

pub(super) const SAMPLES: &str = include_str!("../data/hostile/plain.txt");

/// Just a lot of it.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("A", size), repeated("\u{1f4a9}", size / 4), repeated("\n", size)]
}
