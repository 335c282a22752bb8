//! Configuration that users write as JSON: reading it, and all problems of it at once.

use std::fmt;
use std::marker::PhantomData;

use menace_model::escape_for_terminal;
use menace_settings::SettingType;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

/// One problem: where it is, which key it is about, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigProblem {
    /// A file and a place in it: `presets.json[2]`.
    pub at: String,
    pub key: Option<String>,
    pub reason: String,
}

impl ConfigProblem {
    pub(crate) fn new(at: &str, reason: impl Into<String>) -> Self {
        Self { at: escape_for_terminal(at), key: None, reason: reason.into() }
    }

    pub(crate) fn for_key(at: &str, key: &str, reason: impl Into<String>) -> Self {
        Self { key: Some(escape_for_terminal(key)), ..Self::new(at, reason) }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: {key}: {}", self.at, self.reason),
            None => write!(f, "{}: {}", self.at, self.reason),
        }
    }
}

/// All problems of a file. Never empty when it is returned as an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigError(pub Vec<ConfigProblem>);

impl ConfigError {
    /// The value, unless there are problems.
    pub(crate) fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    pub(crate) fn add(&mut self, problem: ConfigProblem) {
        self.0.push(problem);
    }

    /// The value of an `Ok`; the problems of an `Err` are added to these.
    pub(crate) fn collect_ok<T>(&mut self, result: Result<T, Self>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(problems) => {
                self.0.extend(problems.0);
                None
            }
        }
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ConfigProblem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigError {}

/// The text between backticks, shortened to a readable length.
pub(crate) fn quote_shortened(text: &str) -> String {
    String::quote(text)
}

/// The entries of a JSON object, in the order of the file.
#[derive(Debug, Clone)]
pub(crate) struct OrderedPairs<V>(pub Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for OrderedPairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedPairsVisitor<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for OrderedPairsVisitor<V> {
            type Value = OrderedPairs<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<OrderedPairs<V>, M::Error> {
                let mut pairs = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    pairs.push(entry);
                }
                Ok(OrderedPairs(pairs))
            }
        }

        deserializer.deserialize_map(OrderedPairsVisitor(PhantomData))
    }
}

impl<V> OrderedPairs<V> {
    /// Keys that occur more than once.
    pub(crate) fn find_repeated_keys(&self) -> Vec<&str> {
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

/// Parses JSON into a type; a byte order mark at the beginning is skipped.
pub(crate) fn parse_json<'a, T: Deserialize<'a>>(
    text: &'a str,
    at: &str,
) -> Result<T, ConfigError> {
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ConfigProblem::new(at, format!("this is no such JSON: {error}")).into())
}

/// The value as text, as an environment variable would hold it; none for null and empty text.
pub(crate) fn to_setting_text(value: &Json) -> Option<String> {
    let text = match value {
        Json::Null => return None,
        Json::Bool(yes) => yes.to_string(),
        Json::String(text) => text.trim().to_owned(),
        Json::Number(number) => number.to_string(),
        Json::Array(_) | Json::Object(_) => value.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_reported_on_a_line_of_its_own() {
        let problems = ConfigError(vec![
            ConfigProblem::new("a.json", "expected a list"),
            ConfigProblem::for_key("a.json[1]", "CPU\u{1b}", "unknown key"),
        ]);
        assert_eq!(
            problems.to_string(),
            "a.json: expected a list\na.json[1]: CPU\\x1b: unknown key"
        );
    }

    #[test]
    fn entries_keep_their_order_and_repeated_keys_are_found() {
        let pairs: OrderedPairs<u8> =
            parse_json(r#"{"b": 1, "a": 2, "b": 3, "b": 4}"#, "x").unwrap();
        assert_eq!(pairs.0.iter().map(|(name, _)| name.as_str()).collect::<String>(), "babb");
        assert_eq!(pairs.find_repeated_keys(), ["b"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(parse_json::<u8>("\u{feff}7", "a.json").unwrap(), 7);
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let problems = parse_json::<Json>("[1,\n2", "a.json").unwrap_err().to_string();
        assert!(problems.starts_with("a.json: ") && problems.contains("line 2"), "{problems}");
    }

    #[test]
    fn values_become_text_and_empty_values_become_none() {
        let text = |json: Json| to_setting_text(&json);
        assert_eq!(text(serde_json::json!(2.5)).as_deref(), Some("2.5"));
        assert_eq!(text(serde_json::json!(true)).as_deref(), Some("true"));
        assert_eq!(text(serde_json::json!(["a", "b"])).as_deref(), Some(r#"["a","b"]"#));
        assert_eq!((text(Json::Null), text(serde_json::json!("  "))), (None, None));
    }
}
