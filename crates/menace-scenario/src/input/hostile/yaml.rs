//! YAML: objects of Python, aliases that grow, words that are no words.

use menace_model::Value;

use super::repeated;

pub(super) const SAMPLES: &str = include_str!("../data/hostile/yaml.txt");

/// Nested and long.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("[", size.min(4096)), repeated("- a\n", size / 4)]
}
