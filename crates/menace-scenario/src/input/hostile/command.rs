//! Command lines: quotes, substitutions, options in the place of names.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/command.txt");

/// Arguments without an end.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![around("echo ", repeated("'a' ", size / 4), ""), repeated("\\", size)]
}
