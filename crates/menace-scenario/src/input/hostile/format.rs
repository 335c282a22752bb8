//! Format strings: places that are not there, ways into objects, widths.

use menace_model::Value;

use super::repeated;

pub(super) const SAMPLES: &str = include_str!("../data/hostile/format.txt");

/// More places than values.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("{}", size / 2), repeated("%s", size / 2)]
}
