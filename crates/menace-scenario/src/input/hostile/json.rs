//! JSON: broken, doubled keys, numbers that no float holds, nesting.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/json.txt");

/// Nested, wide and long.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![
        repeated("[", size),
        around("[", repeated("0,", size / 2), "0]"),
        around("\"", repeated("a", size), "\""),
        around("{\"a\":1", repeated(",\"a\":1", size / 6), "}"),
    ]
}
