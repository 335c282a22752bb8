//! JSON as people write it: in order, and nothing twice without being noticed.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use menace_model::Value;

use crate::{Problem, Problems};

/// The entries of an object as they were written.
#[derive(Debug, Clone)]
pub(crate) struct Pairs<V>(pub Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = Pairs<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Pairs<V>, M::Error> {
                let mut pairs = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    pairs.push(entry);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<V> Pairs<V> {
    /// Names that stand in it more than once.
    pub(crate) fn repeated(&self) -> Vec<&str> {
        let mut repeated: Vec<&str> = Vec::new();
        for (index, (name, _)) in self.0.iter().enumerate() {
            let before = self.0[..index].iter().any(|(other, _)| other == name);
            if before && !repeated.contains(&name.as_str()) {
                repeated.push(name);
            }
        }
        repeated
    }
}

/// Reads JSON of a known shape, with or without the mark that some editors begin a file with.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str, at: &str) -> Result<T, Problems> {
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| Problem::new(at, format!("this is no such JSON: {error}")).into())
}

/// A value as the environment would hold it; none for what counts as not given.
pub(crate) fn text_of(value: &Json) -> Option<String> {
    let text = match value {
        Json::Null => return None,
        Json::Bool(yes) => yes.to_string(),
        Json::String(text) => text.trim().to_owned(),
        Json::Number(number) => number.to_string(),
        Json::Array(_) | Json::Object(_) => value.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// Bytes written in base64.
pub(crate) fn bytes_of(base64: &str) -> Option<Vec<u8>> {
    let notation = serde_json::json!({ "$bytes": base64 }).to_string();
    match Value::from_json(&notation) {
        Ok(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order_and_repetitions_are_seen() {
        let pairs: Pairs<u8> = parse(r#"{"b": 1, "a": 2, "b": 3, "b": 4}"#, "x").unwrap();
        assert_eq!(pairs.0.iter().map(|(name, _)| name.as_str()).collect::<String>(), "babb");
        assert_eq!(pairs.repeated(), ["b"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(parse::<u8>("\u{feff}7", "a.json").unwrap(), 7);
    }

    #[test]
    fn a_mistake_says_where() {
        let problems = parse::<Json>("[1,\n2", "a.json").unwrap_err().to_string();
        assert!(problems.starts_with("a.json: ") && problems.contains("line 2"), "{problems}");
    }

    #[test]
    fn values_become_text_and_empty_ones_nothing() {
        let text = |json: Json| text_of(&json);
        assert_eq!(text(serde_json::json!(2.5)).as_deref(), Some("2.5"));
        assert_eq!(text(serde_json::json!(true)).as_deref(), Some("true"));
        assert_eq!(text(serde_json::json!(["a", "b"])).as_deref(), Some(r#"["a","b"]"#));
        assert_eq!((text(Json::Null), text(serde_json::json!("  "))), (None, None));
    }

    #[test]
    fn base64_is_read() {
        assert_eq!(bytes_of("aGk="), Some(b"hi".to_vec()));
        assert_eq!(bytes_of("?"), None);
    }
}
