//! What virtual machines are made of.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::{DurationFrom, Positive, Refusal, Setting, Size, Surroundings};

/// Images, memory and timeout of virtual machines. They are kept as written: whoever starts a machine
/// reads its memory in its own way.
#[derive(Debug, Clone, PartialEq)]
pub struct VmSettings(Map<String, Json>);

const KEYS: [&str; 4] = ["windows_image", "macos_image", "memory", "timeout"];

impl VmSettings {
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    pub fn json(&self) -> Json {
        Json::Object(self.0.clone())
    }
}

impl Setting for VmSettings {
    fn kind() -> String {
        format!("JSON object ({})", named(&KEYS))
    }

    fn expected() -> String {
        r#"a JSON object such as `{"windows_image": "win.qcow2", "memory": "2G"}`"#.into()
    }

    fn parse(text: &str, _: &Surroundings) -> Result<Self, Refusal> {
        match serde_json::from_str(text) {
            Ok(Json::Object(map)) => {
                map.iter().try_for_each(|(key, value)| check(key, value))?;
                Ok(Self(map))
            }
            Ok(_) => Err(Refusal::default()),
            Err(error) => Err(Refusal::because(error.to_string())),
        }
    }

    fn show(&self) -> Option<String> {
        serde_json::to_string(&self.0).ok()
    }
}

fn check(key: &str, value: &Json) -> Result<(), Refusal> {
    let text = match value {
        Json::String(text) => text.trim().to_owned(),
        Json::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let around = Surroundings::default();
    let expected = match key {
        "windows_image" | "macos_image" if value.is_string() && !text.is_empty() => return Ok(()),
        "windows_image" | "macos_image" => "the name of an image".to_owned(),
        "memory" if Positive::<Size>::parse(&text, &around).is_ok() => return Ok(()),
        "memory" => format!("{} above zero", Size::expected()),
        "timeout" if DurationFrom::<1>::parse(&text, &around).is_ok() => return Ok(()),
        "timeout" => Duration::expected(),
        _ => {
            let known = named(&KEYS);
            return Err(Refusal::because(format!("it has no key `{key}`; known are {known}")));
        }
    };
    Err(Refusal::because(format!("`{key}` is {expected}, not `{value}`")))
}

fn named(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn known_keys_with_values_that_make_sense_are_taken() {
        let around = Surroundings::default();
        for text in [
            "{}",
            r#"{"memory": "2G"}"#,
            r#"{"windows_image": "w.qcow2", "macos_image": "m", "memory": 2048, "timeout": "5m"}"#,
        ] {
            laws::reads_back(&VmSettings::parse(text, &around).unwrap());
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        let why = |text: &str| {
            let refusal = VmSettings::parse(text, &Surroundings::default()).unwrap_err();
            refusal.why.unwrap_or_default()
        };
        for (text, says) in [
            ("[]", ""),
            ("{", "EOF"),
            (r#"{"memroy": "2G"}"#, "it has no key `memroy`; known are `windows_image`,"),
            (r#"{"memory": "much"}"#, "`memory` is a size"),
            (r#"{"memory": 0}"#, "`memory` is a size"),
            (r#"{"timeout": "soon"}"#, "`timeout` is a duration"),
            (r#"{"timeout": 0}"#, "`timeout` is a duration"),
            (r#"{"windows_image": 7}"#, "`windows_image` is the name of an image, not `7`"),
            (r#"{"macos_image": " "}"#, "`macos_image` is the name of an image"),
        ] {
            assert!(why(text).starts_with(says), "{text}: {}", why(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            laws::survives::<VmSettings>(&text);
        }
    }
}
