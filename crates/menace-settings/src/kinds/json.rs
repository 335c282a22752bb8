//! Values that are JSON by nature: presets, inputs, answers.

use serde_json::Value as Json;

use crate::{Refusal, Setting, Surroundings};

/// A JSON array of objects, or one object (presets grouped by scenario and severity).
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRecords(pub Json);

fn read(text: &str) -> Result<Json, Refusal> {
    serde_json::from_str(text).map_err(|error| Refusal::because(error.to_string()))
}

impl Setting for JsonRecords {
    fn kind() -> String {
        "JSON list of objects".into()
    }

    fn expected() -> String {
        "a JSON list of objects, or one object".into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        let json = read(text)?;
        let fits = match &json {
            Json::Object(_) => true,
            Json::Array(items) => items.iter().all(Json::is_object),
            _ => false,
        };
        if fits { Ok(Self(json)) } else { Err(Refusal::default()) }
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn shapes_are_checked() {
        let around = Surroundings::default();
        assert!(JsonRecords::parse(r#"[{"CPU_LIMIT": 1}]"#, &around).is_ok());
        assert!(JsonRecords::parse("[1]", &around).is_err());
    }

    #[test]
    fn a_syntax_error_says_where() {
        let refusal = JsonRecords::parse("[{]", &Surroundings::default()).unwrap_err();
        assert!(refusal.why.unwrap().contains("line 1 column 3"));
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        assert!(JsonRecords::parse(&"[".repeat(100_000), &Surroundings::default()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<JsonRecords>(&text);
        }
    }
}
