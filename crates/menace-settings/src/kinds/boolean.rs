//! Switches.

use crate::{ParseContext, ParseRefusal, SettingType};

impl SettingType for bool {
    described_as!("switch", "`1` or `0` (or `true`/`false`, `yes`/`no`, `on`/`off`)");

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => Err(ParseRefusal::default()),
        }
    }

    fn show(&self) -> Option<String> {
        Some(if *self { "1" } else { "0" }.into())
    }

    fn magnitude(&self) -> Option<f64> {
        Some(f64::from(u8::from(*self)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn the_usual_words_are_understood() {
        let around = ParseContext::default();
        for text in ["1", "true", "YES", "On"] {
            assert_eq!(bool::parse(text, &around), Ok(true), "{text}");
        }
        for text in ["0", "False", "no", "OFF"] {
            assert_eq!(bool::parse(text, &around), Ok(false), "{text}");
        }
        assert!(bool::parse("2", &around).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::assert_does_not_panic::<bool>(&text);
        }
    }
}
