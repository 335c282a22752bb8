//! The notation for users: JSON, with `{"$tag": …}` for what JSON has no word for.
//!
//! Described in `docs/values.md`. Invariant: what is written is read back as the same value.

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

/// Each tag, and the keys that may stand beside it.
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

/// From here on a JSON number may have been an integer that lost its digits, so that neither side
/// uses plain numbers for such floats.
const MIN_AMBIGUOUS_FLOAT: f64 = 9_223_372_036_854_775_808.0;

/// Is the number written as it is, without `$float`?
pub(super) fn is_plain_number(number: f64) -> bool {
    number.abs() < MIN_AMBIGUOUS_FLOAT
}

/// The keys, if the dict can be a plain object: different strings that look like no tag.
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
    /// One value.
    pub fn from_json(text: &str) -> Result<Self, ValueError> {
        ValueReader::starting_at("").read_value(parse_json("", text)?)
    }

    /// Positional arguments: a list of values. Errors begin with `args`.
    pub fn args_from_json(text: &str) -> Result<Vec<Self>, ValueError> {
        ValueReader::starting_at("args").read_items(parse_json("args", text)?)
    }

    /// Keyword arguments: an object of values. Errors begin with `kwargs`.
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
