//! Values that are JSON by nature: presets, inputs, answers.

use serde_json::Value as Json;

use crate::{ParseContext, ParseRefusal, SettingType};

/// A JSON array of objects, or one object (presets grouped by scenario and severity).
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRecords(pub Json);

fn parse_json(text: &str) -> Result<Json, ParseRefusal> {
    serde_json::from_str(text).map_err(|error| ParseRefusal::with_reason(error.to_string()))
}

impl SettingType for JsonRecords {
    described_as!("JSON list of objects", "a JSON list of objects, or one object");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        let json = parse_json(text)?;
        let fits = match &json {
            Json::Object(_) => true,
            Json::Array(items) => items.iter().all(Json::is_object),
            _ => false,
        };
        if fits { Ok(Self(json)) } else { Err(ParseRefusal::default()) }
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
        let around = ParseContext::default();
        assert!(JsonRecords::parse(r#"[{"CPU_LIMIT": 1}]"#, &around).is_ok());
        assert!(JsonRecords::parse("[1]", &around).is_err());
    }

    #[test]
    fn a_syntax_error_says_where() {
        let refusal = JsonRecords::parse("[{]", &ParseContext::default()).unwrap_err();
        assert!(refusal.reason.unwrap().contains("line 1 column 3"));
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        assert!(JsonRecords::parse(&"[".repeat(100_000), &ParseContext::default()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<JsonRecords>(&text);
        }
    }
}
