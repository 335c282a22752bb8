//! SQL: quotes, comments, stacked and recursive queries.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/sql.txt");

/// A condition that never ends.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![around("1", repeated(" OR 1=1", size / 7), "--")]
}
