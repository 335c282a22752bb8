//! The notation for users: JSON, with `{"$tag": …}` for values that JSON cannot represent.
//!
//! Described in `docs/values.md`. Invariant: reading what was written gives the same value.

mod read;
mod reader;
mod tree;
mod write;

pub use read::decode_base64;

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};

use self::reader::ValueReader;
use self::tree::OrderedJson;
use super::{Value, ValueError};

/// Each tag, and the keys that are allowed beside it.
const VALUE_TAGS: [(&str, &[&str]); 24] = [
    ("$int", &[]),
    ("$float", &[]),
    ("$complex", &[]),
    ("$str", &[]),
    ("$bytes", &[]),
    ("$bytearray", &[]),
    ("$tuple", &[]),
    ("$set", &[]),
    ("$frozenset", &[]),
    ("$dict", &[]),
    ("$ellipsis", &[]),
    ("$name", &[]),
    ("$call", &["args", "kwargs"]),
    ("$method", &["on", "args", "kwargs"]),
    ("$repeat", &["times"]),
    ("$shared", &["label"]),
    ("$again", &[]),
    ("$returns", &[]),
    ("$raises", &[]),
    ("$yields", &[]),
    ("$argument", &[]),
    ("$async", &[]),
    ("$stub", &["bases", "args", "kwargs"]),
    ("$after", &["calls"]),
];

/// A JSON number from this magnitude on may be an integer that lost digits in a parser, so such
/// floats are always tagged.
const MIN_AMBIGUOUS_FLOAT: f64 = 9_223_372_036_854_775_808.0;

/// Whether the number is written without `$float`.
pub(super) fn is_plain_number(number: f64) -> bool {
    number.abs() < MIN_AMBIGUOUS_FLOAT
}

/// The keys, if the dict can be written as a plain object: distinct strings that are no tags.
pub(super) fn plain_object_keys(pairs: &[(Value, Value)]) -> Option<Vec<&str>> {
    let mut seen = HashSet::new();
    pairs
        .iter()
        .map(|(key, _)| match key {
            Value::Str(key) => {
                key.as_str().filter(|key| !key.starts_with('$') && seen.insert(*key))
            }
            _ => None,
        })
        .collect()
}

impl Value {
    /// Parses one value.
    pub fn from_json(text: &str) -> Result<Self, ValueError> {
        ValueReader::starting_at("").read_value(parse_json("", text)?)
    }

    /// Parses positional arguments: a list of values. Positions in errors begin with `args`.
    pub fn args_from_json(text: &str) -> Result<Vec<Self>, ValueError> {
        ValueReader::starting_at("args").read_items(parse_json("args", text)?)
    }

    /// Parses keyword arguments: an object of values. Positions in errors begin with `kwargs`.
    pub fn kwargs_from_json(text: &str) -> Result<Vec<(String, Self)>, ValueError> {
        ValueReader::starting_at("kwargs").read_named(parse_json("kwargs", text)?)
    }
}

fn parse_json(place: &str, text: &str) -> Result<OrderedJson, ValueError> {
    serde_json::from_str(text).map_err(|error| ValueError {
        place: place.to_owned(),
        reason: format!("expected JSON: {error}"),
    })
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tree = OrderedJson::deserialize(deserializer)?;
        ValueReader::starting_at("").read_value(tree).map_err(serde::de::Error::custom)
    }
}
