//! JSON with the order of keys and with repeated keys, neither of which `serde_json::Value` keeps.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::truncate_chars;

/// How much of an unexpected text a message shows.
const MAX_SHOWN_CHARS: usize = 40;

pub(super) enum OrderedJson {
    Null,
    Bool(bool),
    Int(i64),
    LargeInt(u64),
    Float(f64),
    Text(String),
    Array(Vec<OrderedJson>),
    Object(Vec<(String, OrderedJson)>),
}

/// Describes what was found, for messages.
impl fmt::Display for OrderedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(number) => number.fmt(f),
            Self::LargeInt(number) => number.fmt(f),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Text(text) => write!(f, "{:?}", truncate_chars(text, MAX_SHOWN_CHARS)),
            Self::Array(items) => write!(f, "a list of {}", items.len()),
            Self::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for OrderedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrderedJsonVisitor)
    }
}

struct OrderedJsonVisitor;

impl<'de> Visitor<'de> for OrderedJsonVisitor {
    type Value = OrderedJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<OrderedJson, E> {
        Ok(i64::try_from(number).map_or(OrderedJson::LargeInt(number), OrderedJson::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<OrderedJson, E> {
        Ok(OrderedJson::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<OrderedJson, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(OrderedJson::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<OrderedJson, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(OrderedJson::Object(entries))
    }
}
