//! HTML: broken tags, scripts, disguises, nesting that parsers recurse into.

use menace_model::Value;

use super::{around, repeated};

pub(super) const SAMPLES: &str = include_str!("../data/hostile/html.txt");

/// Tags in tags.
pub(super) fn grown(size: u64) -> Vec<Value> {
    vec![repeated("<div>", size / 5), around("<a ", repeated("b=c ", size / 4), ">")]
}
