//! The settings that apply to calls, apart by whose they are.
//!
//! Invariant: settings of an untrusted checkout take nothing away from a preset, and loosen none of
//! its limits.

use menace_model::{FailureMode, InputStrategy, ScenarioSeverity};
use menace_settings::Settings;

use super::{PRESET_KEYS, PresetKey, PresetValues};

/// The settings that are laid over presets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallSettings {
    /// Of flags, the environment and trusted files: they override presets.
    pub user: PresetValues,
    /// Of files that are not trusted: they complete presets. Where both have a value of a setting
    /// with a bound, the stricter one holds.
    pub checkout: PresetValues,
}

impl CallSettings {
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            user: PresetValues::from_settings(settings, false),
            checkout: PresetValues::from_settings(settings, true),
        }
    }

    /// The settings laid over the values of a preset.
    pub(super) fn layered_over(&self, preset: PresetValues) -> PresetValues {
        let mut values = self.user.clone().layered_over(preset).layered_over(self.checkout.clone());
        for key in PRESET_KEYS {
            if key.is_stricter(&self.checkout, &values) {
                (key.copy)(&self.checkout, &mut values);
            }
        }
        values
    }

    /// The settings laid over profiles, which have priority over random values. What a checkout
    /// sets has priority over these, too, except for a looser limit.
    pub(super) fn layered_over_random(
        &self,
        profiles: PresetValues,
        random: PresetValues,
    ) -> PresetValues {
        let chosen = profiles.layered_over(self.checkout_without_bounds());
        self.layered_over(chosen.layered_over(random))
    }

    /// The settings over a canonical scenario: it keeps its failure modes and strategies, and those
    /// of the settings are added.
    pub(super) fn added_to(&self, modes: &[FailureMode], strategies: &[InputStrategy]) -> Self {
        let mut user = self.user.clone();
        user.failure_modes = user.failure_modes.or_else(|| self.checkout.failure_modes.clone());
        user.stub_strategy = user.stub_strategy.or_else(|| self.checkout.stub_strategy.clone());
        let user = user.with_modes_and_strategies(modes, strategies);
        Self { user, checkout: self.checkout.clone() }
    }

    pub(super) fn scenario_severity(&self) -> Option<ScenarioSeverity> {
        self.user.scenario_severity.or(self.checkout.scenario_severity)
    }

    /// The part that also applies to the baseline.
    #[must_use]
    pub fn baseline_part(&self) -> Self {
        Self { user: self.user.baseline_part(), checkout: self.checkout.baseline_part() }
    }

    /// The values of a checkout that are no limits.
    fn checkout_without_bounds(&self) -> PresetValues {
        let mut values = PresetValues::default();
        for key in PRESET_KEYS.iter().filter(|key| !key.has_bound()) {
            (key.copy)(&self.checkout, &mut values);
        }
        values
    }
}

/// Settings of the user alone.
impl From<PresetValues> for CallSettings {
    fn from(user: PresetValues) -> Self {
        Self { user, checkout: PresetValues::default() }
    }
}

impl PresetKey {
    /// Whether both values have the key, and the first one is stricter.
    fn is_stricter(&self, values: &PresetValues, than: &PresetValues) -> bool {
        let (Some(own), Some(other)) = (self.value_text(values), self.value_text(than)) else {
            return false;
        };
        self.setting().is_some_and(|declared| declared.is_stricter(&own, &other))
    }

    fn has_bound(&self) -> bool {
        self.setting().is_some_and(|declared| declared.authority.has_bound())
    }
}

#[cfg(test)]
mod tests {
    use crate::preset::{
        Preset, PresetOrigin, PresetRequest, ProfileCatalog, find_key, generate_presets,
        read_single_preset,
    };

    use menace_model::Seed;
    use menace_settings::MillisDuration;

    use super::*;

    fn values(json: &str) -> PresetValues {
        read_single_preset(json, "test").unwrap().values().clone()
    }

    fn of_checkout(json: &str) -> CallSettings {
        CallSettings { checkout: values(json), ..CallSettings::default() }
    }

    fn text(preset: &str, settings: &CallSettings) -> String {
        let preset = read_single_preset(preset, "test").unwrap();
        serde_json::to_string(&preset.with_settings(settings).unwrap()).unwrap()
    }

    #[test]
    fn of_a_checkout_and_a_preset_the_stricter_limit_holds() {
        for (name, strict, loose) in [
            ("CPU_LIMIT", "1", "5"),
            ("CPU_SHARE", "0.25", "2"),
            ("MEMORY_LIMIT", "64Mi", "512Mi"),
            ("DISK_LIMIT", "16Mi", "256Mi"),
            ("TIMEOUT", "0.5", "10"),
            ("PROCESS_LIMIT", "1", "64"),
            ("OPEN_FILES_LIMIT", "16", "1024"),
            ("OUTPUT_LIMIT", "1Ki", "64Ki"),
            ("SECURITY_LEVEL", "5", "3"),
            ("SAFE_MODE", "1", "0"),
            ("THREAD_BURST", "1", "64"),
            ("ASYNC_TASK_BURST", "1", "256"),
        ] {
            let json = |value: &str| format!(r#"{{"{name}": "{value}"}}"#);
            let key = find_key(name).unwrap();
            let held = |preset: &str, settings: &CallSettings| {
                let preset = read_single_preset(&json(preset), "test").unwrap();
                key.value_json(preset.with_settings(settings).unwrap().values())
            };
            let expected = key.value_json(&values(&json(strict)));
            assert!(expected.is_some(), "{name}");
            assert_eq!(held(strict, &of_checkout(&json(loose))), expected, "{name}");
            assert_eq!(held(loose, &of_checkout(&json(strict))), expected, "{name}");
            assert_eq!(held(loose, &values(&json(strict)).into()), expected, "{name}");
            assert_ne!(held(strict, &values(&json(loose)).into()), expected, "{name}");
        }
    }

    #[test]
    fn every_key_of_a_preset_with_a_bound_has_an_order() {
        let bounded: Vec<&str> =
            PRESET_KEYS.iter().filter(|key| key.has_bound()).map(|key| key.name).collect();
        assert_eq!(
            bounded,
            [
                "CPU_LIMIT",
                "MEMORY_LIMIT",
                "DISK_LIMIT",
                "TIMEOUT",
                "CPU_SHARE",
                "PROCESS_LIMIT",
                "OPEN_FILES_LIMIT",
                "OUTPUT_LIMIT",
                "SAFE_MODE",
                "SECURITY_LEVEL",
                "THREAD_BURST",
                "ASYNC_TASK_BURST",
            ],
            "the test above tries each of them"
        );
    }

    #[test]
    fn a_checkout_fills_only_what_a_preset_leaves_empty() {
        let checkout = of_checkout(
            r#"{"SCENARIO_NAME": "theirs", "NETWORK_LATENCY_MS": 1, "FAILURE_MODES": "disk",
                "THREAT_INTENSITY": 0, "NETWORK_MOCKS": [{"url": "b"}], "CPU_LIMIT": 9}"#,
        );
        let mine = r#"{"SCENARIO_NAME":"mine","NETWORK_LATENCY_MS":"200",
                       "NETWORK_MOCKS":[{"url":"a"}],"THREAT_INTENSITY":"90",
                       "FAILURE_MODES":["memory"]}"#;
        let kept = concat!(
            r#"{"SCENARIO_NAME":"mine","CPU_LIMIT":"9","NETWORK_LATENCY_MS":"200","#,
            r#""NETWORK_MOCKS":[{"url":"a"}],"THREAT_INTENSITY":"90","FAILURE_MODES":["memory"]}"#
        );
        assert_eq!(text(mine, &checkout), kept);
        let filled = concat!(
            r#"{"SCENARIO_NAME":"theirs","CPU_LIMIT":"9","NETWORK_LATENCY_MS":"1","#,
            r#""NETWORK_MOCKS":[{"url":"b"}],"THREAT_INTENSITY":"0","FAILURE_MODES":["disk"]}"#
        );
        assert_eq!(text("{}", &checkout), filled);
    }

    #[test]
    fn a_bandwidth_of_a_checkout_contradicts_no_preset() {
        let checkout = of_checkout(r#"{"MIN_BANDWIDTH": "9Mbps"}"#);
        let expected = r#"{"MIN_BANDWIDTH":"1Mbps","MAX_BANDWIDTH":"1Mbps"}"#;
        assert_eq!(text(r#"{"MAX_BANDWIDTH": "1Mbps"}"#, &checkout), expected);
    }

    #[test]
    fn a_checkout_adds_modes_to_canonical_scenarios_and_takes_none_away() {
        let profile = ProfileCatalog::built_in();
        let profile = profile.find("concurrency_spike").unwrap();
        let modes = |settings: &CallSettings| {
            let made = profile.to_presets_with_settings(settings, PresetOrigin::Canonical);
            made.unwrap()[0].failure_modes().iter().map(|mode| mode.as_str()).collect::<Vec<_>>()
        };
        let checkout = of_checkout(r#"{"FAILURE_MODES": "disk"}"#);
        assert_eq!(modes(&checkout), ["concurrency_spike", "disk"]);
        let user = values(r#"{"FAILURE_MODES": "memory"}"#);
        assert_eq!(modes(&CallSettings { user, ..checkout }), ["concurrency_spike", "memory"]);
        assert_eq!(modes(&of_checkout(r#"{"FAILURE_MODES": []}"#)), ["concurrency_spike"]);
    }

    #[test]
    fn a_checkout_wins_over_random_values_but_loosens_no_random_limit() {
        let generate = |settings: CallSettings| {
            let count = Some(200);
            let request = PresetRequest { count, settings, ..PresetRequest::default() };
            generate_presets(&request, Seed(7)).unwrap()
        };
        let before = generate(CallSettings::default());
        let checkout = of_checkout(
            r#"{"NETWORK_LATENCY_MS": 7, "MEMORY_LIMIT": "256Mi", "SECURITY_LEVEL": 3}"#,
        );
        let level = |preset: &Preset| preset.values().security_level.unwrap().get();
        let memory = |preset: &Preset| preset.values().memory_limit.unwrap().get().bytes();
        for (preset, drawn) in generate(checkout).iter().zip(before) {
            let latency = MillisDuration::from_millis(7);
            assert_eq!(preset.values().network_latency_ms, Some(latency));
            assert_eq!(memory(preset), memory(&drawn).min(256 << 20));
            assert_eq!(level(preset), level(&drawn).max(3));
        }
    }
}
