//! The configuration of virtual machines.

use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::{ByteSize, MinimumDuration, ParseContext, ParseRefusal, PositiveAmount, SettingType};

/// Images, memory and timeout of virtual machines. They are kept as written: the virtual machine
/// monitor has its own notation for memory.
#[derive(Debug, Clone, PartialEq)]
pub struct VmSettings(Map<String, Json>);

const VM_SETTING_KEYS: [&str; 4] = ["windows_image", "macos_image", "memory", "timeout"];

impl VmSettings {
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    pub fn json(&self) -> Json {
        Json::Object(self.0.clone())
    }
}

impl SettingType for VmSettings {
    fn kind() -> String {
        format!("JSON object ({})", list_keys(&VM_SETTING_KEYS))
    }

    fn expected() -> String {
        r#"a JSON object such as `{"windows_image": "win.qcow2", "memory": "2G"}`"#.into()
    }

    fn parse(text: &str, _: &ParseContext) -> Result<Self, ParseRefusal> {
        match serde_json::from_str(text) {
            Ok(Json::Object(map)) => {
                map.iter().try_for_each(|(key, value)| check_entry(key, value))?;
                Ok(Self(map))
            }
            Ok(_) => Err(ParseRefusal::default()),
            Err(error) => Err(ParseRefusal::with_reason(error.to_string())),
        }
    }

    fn show(&self) -> Option<String> {
        serde_json::to_string(&self.0).ok()
    }
}

fn check_entry(key: &str, value: &Json) -> Result<(), ParseRefusal> {
    let text = match value {
        Json::String(text) => text.trim().to_owned(),
        Json::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let around = ParseContext::default();
    let expected = match key {
        "windows_image" | "macos_image" if value.is_string() && !text.is_empty() => return Ok(()),
        "windows_image" | "macos_image" => "the name of an image".to_owned(),
        "memory" if PositiveAmount::<ByteSize>::parse(&text, &around).is_ok() => return Ok(()),
        "memory" => format!("{} above zero", ByteSize::expected()),
        "timeout" if MinimumDuration::<1>::parse(&text, &around).is_ok() => return Ok(()),
        "timeout" => Duration::expected(),
        _ => {
            let known = list_keys(&VM_SETTING_KEYS);
            return Err(ParseRefusal::with_reason(format!(
                "it has no key `{key}`; known are {known}"
            )));
        }
    };
    Err(ParseRefusal::with_reason(format!("`{key}` is {expected}, not `{value}`")))
}

fn list_keys(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::laws;
    use super::*;

    #[test]
    fn known_keys_with_values_that_make_sense_are_taken() {
        let around = ParseContext::default();
        for text in [
            "{}",
            r#"{"memory": "2G"}"#,
            r#"{"windows_image": "w.qcow2", "macos_image": "m", "memory": 2048, "timeout": "5m"}"#,
        ] {
            laws::assert_reads_back(&VmSettings::parse(text, &around).unwrap());
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        let why = |text: &str| {
            let refusal = VmSettings::parse(text, &ParseContext::default()).unwrap_err();
            refusal.reason.unwrap_or_default()
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
            laws::assert_does_not_panic::<VmSettings>(&text);
        }
    }
}
