//! CSV: rows of other lengths, quotes, formulas of spreadsheets.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/csv.txt");

/// Many rows, many columns, one field.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("a,b\n", size / 4), repeated(",", size), around("\"", repeated("a", size), "\"")]
}
