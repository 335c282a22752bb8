//! Names of files: ways out of a directory, devices, null bytes.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/path.txt");

/// Up and up.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("../", size / 3), around("/", repeated("a/", size / 2), "b")]
}
