//! What may set a setting: the user alone, or also a file that came with a checkout.

use std::cmp::Ordering;
use std::path::{Component, Path};

use serde_json::Value as Json;

use crate::{ParseContext, SettingDeclaration, declarations};

/// What an untrusted file of a checkout may set. Flags and the environment belong to the user and
/// may set everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingAuthority {
    /// Nothing: addresses, keys, programs, plugins, ports, paths outside of the checkout.
    User,
    /// Anything: it chooses scenarios, or words of a report.
    Repository,
    /// Values up to this one: limits of a call.
    AtMost(&'static str),
    /// Values from this one on: how strict the sandbox is.
    AtLeast(&'static str),
    /// Any value, for a limit that does not exist unless it is set; where the user has one, a lower
    /// one.
    LowerOnly,
    /// Paths inside of the checkout.
    PathInside,
    /// Presets, of which each key follows the authority of the setting with its name.
    PresetRecords,
}

/// Whether a file's settings are taken as the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTrust {
    Trusted,
    Untrusted,
}

impl SettingAuthority {
    /// Whether a checkout may only make its calls stricter by such a setting.
    pub fn has_bound(self) -> bool {
        matches!(self, Self::AtMost(_) | Self::AtLeast(_) | Self::LowerOnly)
    }

    /// The text for the reference page.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::User => "no".to_owned(),
            Self::Repository => "yes".to_owned(),
            Self::AtMost(bound) => format!("up to `{bound}`"),
            Self::AtLeast(bound) => format!("from `{bound}`"),
            Self::LowerOnly => "lower than yours".to_owned(),
            Self::PathInside => "inside of it".to_owned(),
            Self::PresetRecords => "key by key".to_owned(),
        }
    }
}

/// Why a file of a checkout may not give `text` to a setting; `None` where it may.
pub(crate) fn find_objection(
    declared: &SettingDeclaration,
    text: &str,
    around: &ParseContext,
) -> Option<String> {
    match declared.authority {
        // A value of the user is in a stronger place, or in a preset; see
        // [`SettingDeclaration::is_stricter`].
        SettingAuthority::Repository | SettingAuthority::LowerOnly => None,
        SettingAuthority::User => Some("only you may set it".to_owned()),
        SettingAuthority::AtMost(bound) => {
            let is_above = compare(declared, text, bound, around) == Some(Ordering::Greater);
            is_above.then(|| format!("a checkout may set {bound} at most"))
        }
        SettingAuthority::AtLeast(bound) => {
            let is_below = compare(declared, text, bound, around) == Some(Ordering::Less);
            is_below.then(|| format!("a checkout may set {bound} at least"))
        }
        SettingAuthority::PathInside => (!is_inside(Path::new(text)))
            .then(|| "a checkout may only name a path inside of itself".to_owned()),
        SettingAuthority::PresetRecords => {
            let Ok(records) = serde_json::from_str::<Json>(text) else { return None };
            find_objection_to_records(&records, around)
        }
    }
}

impl SettingDeclaration {
    /// Whether a checkout makes its calls stricter by this value, where a preset of the user has
    /// another one. `false` for settings that have no bound, and for values without an order.
    pub fn is_stricter(&self, text: &str, than: &str) -> bool {
        let order = || compare(self, text, than, &ParseContext::default());
        match self.authority {
            SettingAuthority::AtMost(_) | SettingAuthority::LowerOnly => {
                order() == Some(Ordering::Less)
            }
            SettingAuthority::AtLeast(_) => order() == Some(Ordering::Greater),
            _ => false,
        }
    }
}

/// Malformed values are not compared, since they are reported as malformed.
fn compare(
    declared: &SettingDeclaration,
    text: &str,
    bound: &str,
    around: &ParseContext,
) -> Option<Ordering> {
    declared.magnitude(text, around)?.partial_cmp(&declared.magnitude(bound, around)?)
}

/// Whether a path stays below the working directory by its text.
fn is_inside(path: &Path) -> bool {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => name != ".git",
        Component::CurDir => true,
        _ => false,
    };
    !path.starts_with("~") && path.components().all(is_plain)
}

/// Records lie in lists and objects; a key that names a setting follows that setting.
fn find_objection_to_records(records: &Json, around: &ParseContext) -> Option<String> {
    match records {
        Json::Array(items) => items.iter().find_map(|item| find_objection_to_records(item, around)),
        Json::Object(record) => record.iter().find_map(|(key, value)| {
            let named = declarations().find(|declared| declared.name.eq_ignore_ascii_case(key));
            // Levels of a scenario: presets by their names.
            let Some(declared) = named else { return find_objection_to_records(value, around) };
            let text = match value {
                Json::String(text) => text.trim().to_owned(),
                Json::Null => String::new(),
                other => other.to_string(),
            };
            let objection = find_objection(declared, &text, around)?;
            Some(format!("{}: {objection}", declared.name))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(name: &str, text: &str) -> Option<String> {
        let declared = declarations().find(|declared| declared.name == name).unwrap();
        find_objection(declared, text, &ParseContext::default())
    }

    #[test]
    fn a_checkout_may_lower_limits_and_raise_the_security_level_only() {
        for (name, text, is_allowed) in [
            ("TIMEOUT", "10s", true),
            ("TIMEOUT", "0.5", true),
            ("TIMEOUT", "11", false),
            ("MEMORY_LIMIT", "64Mi", true),
            ("MEMORY_LIMIT", "1Gi", false),
            ("SECURITY_LEVEL", "3", true),
            ("SECURITY_LEVEL", "5", true),
            ("SECURITY_LEVEL", "1", false),
            ("SAFE_MODE", "1", true),
            ("SAFE_MODE", "off", false),
            ("OPENAI_API_KEY", "sk-1", false),
            ("DASHBOARD_HOST", "0.0.0.0", false),
            ("SANDBOX_LOG_FILE", "notes.txt", false),
            ("SANDBOX_METRICS_PLUGIN_DIR", "plugins", false),
            ("FAILURE_MODES", "disk", true),
            ("THREAD_BURST", "64", true),
            ("THREAD_BURST", "65", false),
            ("CPU_LIMIT", "1h", true),
            ("CPU_SHARE", "8", true),
            ("SANDBOX_CYCLES", "6", false),
            ("SANDBOX_LOG_LEVEL", "off", false),
        ] {
            assert_eq!(objection(name, text).is_none(), is_allowed, "{name}={text}");
        }
    }

    #[test]
    fn the_stricter_of_two_values_is_found_in_every_class_that_has_an_order() {
        for (name, stricter, other) in [
            ("CPU_LIMIT", "500ms", "1"),
            ("CPU_SHARE", "25%", "0.5"),
            ("MEMORY_LIMIT", "64Mi", "1Gi"),
            ("DISK_LIMIT", "64Mi", "256Mi"),
            ("TIMEOUT", "5s", "1m"),
            ("PROCESS_LIMIT", "8", "64"),
            ("OPEN_FILES_LIMIT", "16", "1024"),
            ("OUTPUT_LIMIT", "1Ki", "64Ki"),
            ("THREAD_BURST", "2", "64"),
            ("ASYNC_TASK_BURST", "2", "256"),
            ("SECURITY_LEVEL", "5", "3"),
            ("SAFE_MODE", "1", "0"),
        ] {
            let declared = declarations().find(|declared| declared.name == name).unwrap();
            assert!(declared.is_stricter(stricter, other), "{name}");
            assert!(!declared.is_stricter(other, stricter), "{name}");
            assert!(!declared.is_stricter(other, other), "{name}");
            assert!(!declared.is_stricter("nonsense", other), "{name}");
        }
        let latency = declarations().find(|it| it.name == "NETWORK_LATENCY_MS").unwrap();
        assert!(!latency.is_stricter("1", "100"));
    }

    #[test]
    fn paths_of_a_checkout_stay_inside() {
        for (path, is_allowed) in [
            ("sandbox_data", true),
            ("./data/x", true),
            ("../data", false),
            ("a/../../b", false),
            ("/tmp/x", false),
            ("~/x", false),
            ("~", false),
            (".git/hooks", false),
        ] {
            assert_eq!(objection("SANDBOX_DATA_DIR", path).is_none(), is_allowed, "{path}");
        }
    }

    #[test]
    fn presets_of_a_checkout_follow_the_settings_that_they_name() {
        for (presets, is_allowed) in [
            (r#"[{"CPU_LIMIT": "1", "FAILURE_MODES": "disk"}]"#, true),
            (r#"[{"CPU_LIMIT": "1"}, {"SECURITY_LEVEL": 1}]"#, false),
            (r#"{"memory_limit": "9Gi"}"#, false),
            (r#"{"x": {"low": {"SECURITY_LEVEL": 1}}}"#, false),
            (r#"{"x": {"low": {"SECURITY_LEVEL": 4}}}"#, true),
            (r#"[{"TIMEOUT": 3600}]"#, false),
            ("no JSON", true),
        ] {
            let objection = objection("SANDBOX_ENV_PRESETS", presets);
            assert_eq!(objection.is_none(), is_allowed, "{presets}: {objection:?}");
        }
    }

    #[test]
    fn every_bound_can_be_compared_with() {
        let around = ParseContext::default();
        for declared in declarations() {
            if let SettingAuthority::AtMost(bound) | SettingAuthority::AtLeast(bound) =
                declared.authority
            {
                assert!(declared.magnitude(bound, &around).is_some(), "{}", declared.name);
            }
        }
    }

    /// Or a checkout would set the one by setting the other.
    #[test]
    fn a_setting_follows_only_settings_of_the_same_authority() {
        for declared in declarations() {
            let Some(implication) = declared.implied else { continue };
            let by = declarations().find(|other| other.name == implication.source_name());
            assert_eq!(by.unwrap().authority, declared.authority, "{}", declared.name);
        }
    }
}
