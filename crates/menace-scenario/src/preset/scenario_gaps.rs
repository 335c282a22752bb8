//! Scenario coverage: adds canonical scenarios that are missing for a module, and names those that
//! did not run.

use std::fmt;

use menace_model::{ConcurrencyBurst, ScenarioSeverity, Seed};
use menace_settings::{BoundedInteger, KeywordProfiles};

use crate::config::ConfigError;

use super::{
    CANONICAL_PROFILES, CallSettings, PRESET_KEYS, Preset, PresetOrigin, PresetProfile,
    PresetRequest, PresetValues, ProfileCatalog, generate_presets, profiles_for,
};

/// Presets that a module needs in addition to `presets`: the canonical profiles that these do not
/// cover, and a preset of the profiles that keywords in its path select.
pub fn missing_presets(
    presets: &[Preset],
    module: &str,
    profiles: &ProfileCatalog,
    keywords: &KeywordProfiles,
    settings: &CallSettings,
    seed: Seed,
) -> Result<Vec<Preset>, ConfigError> {
    let mut added = Vec::new();
    for profile in profiles.get_all(CANONICAL_PROFILES, "canonical profiles")? {
        if !presets.iter().any(|preset| covers_profile(preset, profile)) {
            added.extend(profile.to_presets_with_settings(settings, PresetOrigin::Added)?);
        }
    }
    let suggested = profiles.get_all(profiles_for(module, keywords), "keyword_profiles")?;
    if !suggested.is_empty() {
        let wanted = PresetRequest {
            profiles: suggested,
            count: Some(1),
            settings: settings.clone(),
            ..PresetRequest::default()
        };
        let made = generate_presets(&wanted, seed.derive(module))?;
        added.extend(made.into_iter().map(|one| Preset { origin: PresetOrigin::Keyword, ..one }));
    }
    for preset in &added {
        tracing::debug!(
            target: "menace_scenario::preset",
            module,
            preset = preset.name(),
            origin = preset.origin.as_str(),
            "added a preset"
        );
    }
    Ok(added)
}

/// Does the preset have the effect of the profile, at least as severe as its lowest level? The name
/// of the preset does not matter.
fn covers_profile(preset: &Preset, profile: &PresetProfile) -> bool {
    profile
        .level(ScenarioSeverity::Low)
        .is_some_and(|level| has_effect_of(preset, &level.values, profile))
}

/// Does the preset have the failure modes and the latency of these values, at least as severe? For
/// a user's profile with neither: all of its keys.
fn has_effect_of(preset: &Preset, values: &PresetValues, profile: &PresetProfile) -> bool {
    let own = preset.values();
    let modes = values.failure_modes.as_deref().unwrap_or_default();
    if modes.is_empty() && values.network_latency_ms.is_none() {
        let is_named = preset.name().split('+').any(|name| profile.has_name(name));
        return PRESET_KEYS.iter().all(|key| match (key.value_json(values), key.value_json(own)) {
            (None, _) => true,
            // A setting may have changed a value of a preset that was made of the profile.
            (Some(_), Some(_)) if is_named => true,
            (wanted, found) => wanted == found,
        });
    }
    modes.iter().all(|mode| preset.mode_has_effect(*mode))
        && is_at_least_as_severe(preset, values, profile)
}

/// Are latency, intensity and burst not below these values? A setting may have lowered them in a
/// preset that was made of the profile: that is intended.
fn is_at_least_as_severe(preset: &Preset, values: &PresetValues, profile: &PresetProfile) -> bool {
    let is_of_users =
        matches!(preset.origin, PresetOrigin::StaticFile | PresetOrigin::UserProvided);
    if !is_of_users && preset.name().split('+').any(|name| profile.has_name(name)) {
        return true;
    }
    let burst = preset.burst().unwrap_or(ConcurrencyBurst { threads: 0, tasks: 0 });
    let is_burst_enough = |given: u32, wanted: Option<u64>| u64::from(given) >= wanted.unwrap_or(0);
    preset.values().network_latency_ms >= values.network_latency_ms
        && values.threat_intensity.is_none_or(|it| preset.threat_intensity() >= it.fraction())
        && is_burst_enough(burst.threads, values.thread_burst.map(BoundedInteger::get))
        && is_burst_enough(burst.tasks, values.async_task_burst.map(BoundedInteger::get))
}

/// A module that did not run under a canonical scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScenarioGap {
    pub module: String,
    pub scenario: String,
}

/// The error of `SANDBOX_FAIL_ON_MISSING_SCENARIOS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingScenariosError(pub Vec<ScenarioGap>);

impl fmt::Display for MissingScenariosError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not every module went through every canonical scenario:")?;
        for gap in &self.0 {
            write!(f, "\n  {}: {}", gap.module, gap.scenario)?;
        }
        f.write_str("\nraise the budget, or unset SANDBOX_FAIL_ON_MISSING_SCENARIOS")
    }
}

impl std::error::Error for MissingScenariosError {}

/// Modules and canonical scenarios that they did not run under.
pub fn find_scenario_gaps<'a>(
    modules: impl IntoIterator<Item = &'a str>,
    ran: &[(&str, &Preset)],
    profiles: &ProfileCatalog,
) -> Result<Vec<ScenarioGap>, ConfigError> {
    let canonical = profiles.get_all(CANONICAL_PROFILES, "canonical profiles")?;
    let mut gaps = Vec::new();
    for module in modules {
        let under: Vec<&Preset> =
            ran.iter().filter(|(name, _)| *name == module).map(|(_, preset)| *preset).collect();
        for profile in &canonical {
            if !under.iter().any(|preset| covers_profile(preset, profile)) {
                gaps.push(ScenarioGap {
                    module: module.to_owned(),
                    scenario: profile.name.clone(),
                });
            }
        }
    }
    Ok(gaps)
}

#[cfg(test)]
mod tests {
    use crate::preset::{read_presets, read_single_preset};

    use super::*;

    fn missing_origins(presets: &str, module: &str) -> Vec<(String, PresetOrigin)> {
        let presets = read_presets(presets, "test", PresetOrigin::StaticFile).unwrap();
        let keywords = KeywordProfiles::default();
        let found = missing_presets(
            &presets,
            module,
            &ProfileCatalog::built_in(),
            &keywords,
            &CallSettings::default(),
            Seed(1),
        );
        found.unwrap().iter().map(|preset| (preset.name().to_owned(), preset.origin)).collect()
    }

    fn injected_origins(names: &[&str]) -> Vec<(String, PresetOrigin)> {
        names
            .iter()
            .flat_map(|name| [(*name).to_owned(), (*name).to_owned()])
            .map(|name| (name, PresetOrigin::Added))
            .collect()
    }

    #[test]
    fn canonical_profiles_that_are_missing_are_added_at_both_severities() {
        assert_eq!(missing_origins("[{}]", "shop/core.py"), injected_origins(&CANONICAL_PROFILES));
        let some = r#"[{"SCENARIO_NAME": "mine", "FAILURE_MODES": "hostile_input"},
                       {"NETWORK_LATENCY_MS": 100}]"#;
        assert_eq!(
            missing_origins(some, "shop/core.py"),
            injected_origins(&["user_misuse", "concurrency_spike"])
        );
    }

    #[test]
    fn a_name_without_the_effect_is_no_coverage() {
        let named = r#"[{"SCENARIO_NAME": "hostile_input+user_misuse+high_latency_api"},
                        {"SCENARIO_NAME": "concurrency_spike", "FAILURE_MODES": "concurrency_spike",
                         "THREAD_BURST": 0, "ASYNC_TASK_BURST": 0},
                        {"FAILURE_MODES": "hostile_input", "THREAT_INTENSITY": 0},
                        {"FAILURE_MODES": "user_misuse", "SANDBOX_STUB_STRATEGY": "random"}]"#;
        assert_eq!(missing_origins(named, "shop/core.py"), injected_origins(&CANONICAL_PROFILES));
    }

    #[test]
    fn a_user_profile_without_modes_is_covered_by_its_keys() {
        let mut profiles = ProfileCatalog::built_in();
        profiles.add_file(r#"{"hostile_input": {"THREAT_INTENSITY": 7}}"#, "mine.json").unwrap();
        let is_covered = |json: &str| {
            let preset = read_single_preset(json, "test").unwrap();
            let gaps = find_scenario_gaps(["a.py"], &[("a.py", &preset)], &profiles).unwrap();
            !gaps.iter().any(|gap| gap.scenario == "hostile_input")
        };
        assert!(is_covered(r#"{"THREAT_INTENSITY": 7}"#));
        assert!(is_covered(r#"{"SCENARIO_NAME": "hostile_input", "THREAT_INTENSITY": 5}"#));
        assert!(!is_covered(r#"{"SCENARIO_NAME": "hostile_input"}"#));
        assert!(!is_covered(r#"{"THREAT_INTENSITY": 8}"#));
    }

    #[test]
    fn conditions_weaker_than_low_are_no_coverage() {
        let weak = r#"[{"NETWORK_LATENCY_MS": 99, "FAILURE_MODES": "hostile_input,user_misuse"},
                       {"FAILURE_MODES": "concurrency_spike"}]"#;
        assert_eq!(missing_origins(weak, "shop/core.py"), injected_origins(&["high_latency_api"]));
        let weak = r#"[{"FAILURE_MODES": "hostile_input,user_misuse", "THREAT_INTENSITY": 29},
                       {"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 7},
                       {"FAILURE_MODES": "concurrency_spike", "ASYNC_TASK_BURST": 1}]"#;
        assert_eq!(missing_origins(weak, "shop/core.py"), injected_origins(&CANONICAL_PROFILES));
        let hard = r#"[{"FAILURE_MODES": "hostile_input,user_misuse", "THREAT_INTENSITY": 30},
                       {"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 8,
                        "ASYNC_TASK_BURST": 32, "NETWORK_LATENCY_MS": 100}]"#;
        assert_eq!(missing_origins(hard, "shop/core.py"), []);
    }

    #[test]
    fn conditions_weakened_by_a_setting_are_no_gap() {
        let settings = r#"{"THREAT_INTENSITY": 5, "THREAD_BURST": 2, "NETWORK_LATENCY_MS": 1}"#;
        let settings = read_single_preset(settings, "test").unwrap().values().clone().into();
        let (profiles, keywords) = (ProfileCatalog::built_in(), KeywordProfiles::default());
        let added =
            missing_presets(&[], "core.py", &profiles, &keywords, &settings, Seed(1)).unwrap();
        let ran: Vec<(&str, &Preset)> = added.iter().map(|one| ("core.py", one)).collect();
        assert_eq!(find_scenario_gaps(["core.py"], &ran, &profiles), Ok(Vec::new()));
    }

    #[test]
    fn modes_and_strategies_of_settings_are_added_to_a_scenario() {
        let (profiles, keywords) = (ProfileCatalog::built_in(), KeywordProfiles::default());
        for settings in [
            r#"{"FAILURE_MODES": "concurrency_spike"}"#,
            r#"{"SANDBOX_STUB_STRATEGY": "hostile"}"#,
            r#"{"SANDBOX_STUB_STRATEGY": "random", "FAILURE_MODES": "disk,user_misuse"}"#,
        ] {
            let set = read_single_preset(settings, "test").unwrap().values().clone();
            let added =
                missing_presets(&[], "core.py", &profiles, &keywords, &set.clone().into(), Seed(1))
                    .unwrap();
            assert_eq!(added.len(), 2 * CANONICAL_PROFILES.len());
            let ran: Vec<(&str, &Preset)> = added.iter().map(|one| ("core.py", one)).collect();
            assert_eq!(
                find_scenario_gaps(["core.py"], &ran, &profiles),
                Ok(Vec::new()),
                "{settings}"
            );
            for preset in &added {
                let profile = profiles.find(preset.name()).unwrap();
                let own = &profile.level(preset.severity().unwrap()).unwrap().values;
                let modes = own.failure_modes.iter().chain(&set.failure_modes).flatten();
                let mut ways = own.stub_strategy.iter().chain(&set.stub_strategy).flatten();
                assert!(modes.copied().all(|mode| preset.has_mode(mode)), "{settings}: {preset:?}");
                assert!(ways.all(|way| preset.strategies().contains(way)), "{preset:?}");
                assert_eq!(preset.values().network_latency_ms, own.network_latency_ms);
            }
        }
    }

    #[test]
    fn a_mode_keeps_its_strategy_when_settings_name_others() {
        let mut profiles = ProfileCatalog::built_in();
        profiles
            .add_file(r#"{"user_misuse": {"FAILURE_MODES": "user_misuse"}}"#, "mine.json")
            .unwrap();
        let set = read_single_preset(r#"{"SANDBOX_STUB_STRATEGY": "smart"}"#, "test").unwrap();
        let keywords = KeywordProfiles::default();
        let set = set.values().clone().into();
        let added = missing_presets(&[], "core.py", &profiles, &keywords, &set, Seed(1)).unwrap();
        let ran: Vec<(&str, &Preset)> = added.iter().map(|one| ("core.py", one)).collect();
        assert_eq!(find_scenario_gaps(["core.py"], &ran, &profiles), Ok(Vec::new()));
    }

    #[test]
    fn a_path_with_keywords_gets_a_preset() {
        let all = missing_origins("[{}]", "shop/db/client.py");
        let name = "high_latency_api+concurrency_spike".to_owned();
        assert_eq!(all.last(), Some(&(name, PresetOrigin::Keyword)));
        assert_eq!(all.len(), 9);
    }

    #[test]
    fn settings_apply_to_added_presets() {
        let settings = read_single_preset(r#"{"CPU_LIMIT": 3}"#, "test").unwrap().values().clone();
        let keywords = KeywordProfiles::default();
        let profiles = ProfileCatalog::built_in();
        let found =
            missing_presets(&[], "db.py", &profiles, &keywords, &settings.clone().into(), Seed(1))
                .unwrap();
        assert!(found.iter().all(|preset| preset.values().cpu_limit == settings.cpu_limit));
        let low =
            read_single_preset(r#"{"SCENARIO_SEVERITY": "low"}"#, "test").unwrap().values().clone();
        let low = low.into();
        let found = missing_presets(&[], "core.py", &profiles, &keywords, &low, Seed(1)).unwrap();
        let threat = |preset: &Preset| preset.threat_intensity();
        assert_eq!(found.len(), CANONICAL_PROFILES.len(), "one level of each");
        assert!(found.iter().all(|preset| threat(preset) <= 0.5), "{found:?}");
    }

    #[test]
    fn a_module_that_skipped_a_scenario_is_named() {
        let profiles = ProfileCatalog::built_in();
        let canonical: Vec<Preset> = profiles
            .get_all(CANONICAL_PROFILES, "test")
            .unwrap()
            .into_iter()
            .flat_map(|profile| profile.to_presets(PresetOrigin::Canonical).unwrap())
            .collect();
        let mut ran: Vec<(&str, &Preset)> = canonical.iter().map(|one| ("a.py", one)).collect();
        ran.extend(canonical[..6].iter().map(|one| ("b.py", one)));
        assert_eq!(find_scenario_gaps(["a.py"], &ran, &profiles), Ok(Vec::new()));
        let found = find_scenario_gaps(["a.py", "b.py"], &ran, &profiles).unwrap();
        insta::assert_snapshot!(MissingScenariosError(found), @r"
        not every module went through every canonical scenario:
          b.py: concurrency_spike
        raise the budget, or unset SANDBOX_FAIL_ON_MISSING_SCENARIOS
        ");
        assert_eq!(find_scenario_gaps(["c.py"], &ran, &profiles).unwrap().len(), 4);
    }
}
