//! XML: broken, entities that read files, entities that grow.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/xml.txt");

/// Elements in elements, attributes without an end.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("<a>", size / 3), around("<a>", repeated("<b/>", size / 4), "</a>")]
}
