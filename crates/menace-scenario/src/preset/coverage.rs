//! Every module is put through the canonical scenarios: what is missing is added, and what did not
//! run after all is named.

use std::fmt;

use menace_model::{Burst, Seed};
use menace_settings::{KeywordProfiles, ScenarioSeverity, Within};

use crate::Problems;

use super::{
    CANONICAL, KEYS, Preset, PresetOrigin, Profile, Profiles, Values, Wanted, generate,
    profiles_for,
};

/// What a module needs beside the presets that it has: the canonical profiles that these do not
/// cover, and a preset made of the profiles that its path calls for.
pub fn missing(
    presets: &[Preset],
    module: &str,
    profiles: &Profiles,
    keywords: &KeywordProfiles,
    settings: &Values,
    seed: Seed,
) -> Result<Vec<Preset>, Problems> {
    let mut added = Vec::new();
    for profile in profiles.all(CANONICAL, "canonical profiles")? {
        if !presets.iter().any(|preset| covers(preset, profile)) {
            added.extend(profile.presets_under(settings, PresetOrigin::Injected)?);
        }
    }
    let suggested = profiles.all(profiles_for(module, keywords), "keyword_profiles")?;
    if !suggested.is_empty() {
        let wanted = Wanted {
            profiles: suggested,
            count: Some(1),
            settings: settings.clone(),
            ..Wanted::default()
        };
        let made = generate(&wanted, seed.of(module))?;
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

/// It does to a call what the profile is about, at least as hard as its lowest level. What it is
/// called does not matter: a name alone troubles nobody.
fn covers(preset: &Preset, profile: &Profile) -> bool {
    profile
        .level(ScenarioSeverity::Low)
        .is_some_and(|level| reaches(preset, &level.values, profile))
}

/// Whether a preset has the effect of these values: their failure modes and their latency, as hard as
/// they are; for a profile of the user's that has neither, all of its keys.
fn reaches(preset: &Preset, values: &Values, profile: &Profile) -> bool {
    let own = preset.values();
    let modes = values.failure_modes.as_deref().unwrap_or_default();
    if modes.is_empty() && values.network_latency_ms.is_none() {
        let is_named = preset.name().split('+').any(|name| profile.is_called(name));
        return KEYS.iter().all(|key| match (key.json(values), key.json(own)) {
            (None, _) => true,
            // A setting may have changed the figure of a preset that was made of the profile.
            (Some(_), Some(_)) if is_named => true,
            (wanted, found) => wanted == found,
        });
    }
    modes.iter().all(|mode| preset.acts(*mode)) && is_as_hard(preset, values, profile)
}

/// Latency, intensity and company are not below these. A setting may have lowered what was made of the
/// profile itself: that is what was asked for.
fn is_as_hard(preset: &Preset, values: &Values, profile: &Profile) -> bool {
    let is_of_users = matches!(preset.origin, PresetOrigin::StaticFile | PresetOrigin::Given);
    if !is_of_users && preset.name().split('+').any(|name| profile.is_called(name)) {
        return true;
    }
    let burst = preset.conditions(0).1.burst.unwrap_or(Burst { threads: 0, tasks: 0 });
    let is_company = |given: u32, wanted: Option<u64>| u64::from(given) >= wanted.unwrap_or(0);
    preset.values().network_latency_ms >= values.network_latency_ms
        && values.threat_intensity.is_none_or(|it| preset.threat_intensity() >= it.fraction())
        && is_company(burst.threads, values.thread_burst.map(Within::get))
        && is_company(burst.tasks, values.async_task_burst.map(Within::get))
}

/// A module that was not put through a canonical scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    pub module: String,
    pub scenario: String,
}

/// What `SANDBOX_FAIL_ON_MISSING_SCENARIOS` makes an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingScenarios(pub Vec<Gap>);

impl fmt::Display for MissingScenarios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not every module went through every canonical scenario:")?;
        for gap in &self.0 {
            write!(f, "\n  {}: {}", gap.module, gap.scenario)?;
        }
        f.write_str("\nraise the budget, or unset SANDBOX_FAIL_ON_MISSING_SCENARIOS")
    }
}

impl std::error::Error for MissingScenarios {}

/// The gaps between modules that were to be called and what they were called under.
pub fn gaps<'a>(
    modules: impl IntoIterator<Item = &'a str>,
    ran: &[(&str, &Preset)],
    profiles: &Profiles,
) -> Result<Vec<Gap>, Problems> {
    let canonical = profiles.all(CANONICAL, "canonical profiles")?;
    let mut gaps = Vec::new();
    for module in modules {
        let under: Vec<&Preset> =
            ran.iter().filter(|(name, _)| *name == module).map(|(_, preset)| *preset).collect();
        for profile in &canonical {
            if !under.iter().any(|preset| covers(preset, profile)) {
                gaps.push(Gap { module: module.to_owned(), scenario: profile.name.clone() });
            }
        }
    }
    Ok(gaps)
}

#[cfg(test)]
mod tests {
    use crate::preset::{read, read_one};

    use super::*;

    fn added(presets: &str, module: &str) -> Vec<(String, PresetOrigin)> {
        let presets = read(presets, "test", PresetOrigin::StaticFile).unwrap();
        let keywords = KeywordProfiles::default();
        let found = missing(
            &presets,
            module,
            &Profiles::built_in(),
            &keywords,
            &Values::default(),
            Seed(1),
        );
        found.unwrap().iter().map(|preset| (preset.name().to_owned(), preset.origin)).collect()
    }

    fn injected(names: &[&str]) -> Vec<(String, PresetOrigin)> {
        names
            .iter()
            .flat_map(|name| [(*name).to_owned(), (*name).to_owned()])
            .map(|name| (name, PresetOrigin::Injected))
            .collect()
    }

    #[test]
    fn canonical_profiles_that_are_missing_are_added_at_both_severities() {
        assert_eq!(added("[{}]", "shop/core.py"), injected(&CANONICAL));
        let some = r#"[{"SCENARIO_NAME": "mine", "FAILURE_MODES": "hostile_input"},
                       {"NETWORK_LATENCY_MS": 100}]"#;
        assert_eq!(added(some, "shop/core.py"), injected(&["user_misuse", "concurrency_spike"]));
    }

    #[test]
    fn a_name_without_the_effect_does_not_count() {
        let named = r#"[{"SCENARIO_NAME": "hostile_input+user_misuse+high_latency_api"},
                        {"SCENARIO_NAME": "concurrency_spike", "FAILURE_MODES": "concurrency_spike",
                         "THREAD_BURST": 0, "ASYNC_TASK_BURST": 0},
                        {"FAILURE_MODES": "hostile_input", "THREAT_INTENSITY": 0},
                        {"FAILURE_MODES": "user_misuse", "SANDBOX_STUB_STRATEGY": "random"}]"#;
        assert_eq!(added(named, "shop/core.py"), injected(&CANONICAL));
    }

    #[test]
    fn a_profile_of_the_users_without_modes_is_covered_by_its_keys() {
        let mut profiles = Profiles::built_in();
        profiles.add(r#"{"hostile_input": {"THREAT_INTENSITY": 7}}"#, "mine.json").unwrap();
        let is_covered = |json: &str| {
            let preset = read_one(json, "test").unwrap();
            let gaps = gaps(["a.py"], &[("a.py", &preset)], &profiles).unwrap();
            !gaps.iter().any(|gap| gap.scenario == "hostile_input")
        };
        assert!(is_covered(r#"{"THREAT_INTENSITY": 7}"#));
        assert!(is_covered(r#"{"SCENARIO_NAME": "hostile_input", "THREAT_INTENSITY": 5}"#));
        assert!(!is_covered(r#"{"SCENARIO_NAME": "hostile_input"}"#));
        assert!(!is_covered(r#"{"THREAT_INTENSITY": 8}"#));
    }

    #[test]
    fn what_is_weaker_than_low_does_not_count() {
        let weak = r#"[{"NETWORK_LATENCY_MS": 99, "FAILURE_MODES": "hostile_input,user_misuse"},
                       {"FAILURE_MODES": "concurrency_spike"}]"#;
        assert_eq!(added(weak, "shop/core.py"), injected(&["high_latency_api"]));
        let weak = r#"[{"FAILURE_MODES": "hostile_input,user_misuse", "THREAT_INTENSITY": 29},
                       {"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 7},
                       {"FAILURE_MODES": "concurrency_spike", "ASYNC_TASK_BURST": 1}]"#;
        assert_eq!(added(weak, "shop/core.py"), injected(&CANONICAL));
        let hard = r#"[{"FAILURE_MODES": "hostile_input,user_misuse", "THREAT_INTENSITY": 30},
                       {"FAILURE_MODES": "concurrency_spike", "THREAD_BURST": 8,
                        "ASYNC_TASK_BURST": 32, "NETWORK_LATENCY_MS": 100}]"#;
        assert_eq!(added(hard, "shop/core.py"), []);
    }

    #[test]
    fn what_a_setting_made_weaker_is_no_gap() {
        let settings = r#"{"THREAT_INTENSITY": 5, "THREAD_BURST": 2, "NETWORK_LATENCY_MS": 1}"#;
        let settings = read_one(settings, "test").unwrap().values().clone();
        let (profiles, keywords) = (Profiles::built_in(), KeywordProfiles::default());
        let added = missing(&[], "core.py", &profiles, &keywords, &settings, Seed(1)).unwrap();
        let ran: Vec<(&str, &Preset)> = added.iter().map(|one| ("core.py", one)).collect();
        assert_eq!(gaps(["core.py"], &ran, &profiles), Ok(Vec::new()));
    }

    #[test]
    fn settings_of_modes_and_inputs_come_on_top_of_what_a_scenario_is_about() {
        let (profiles, keywords) = (Profiles::built_in(), KeywordProfiles::default());
        for settings in [
            r#"{"FAILURE_MODES": "concurrency_spike"}"#,
            r#"{"SANDBOX_STUB_STRATEGY": "hostile"}"#,
            r#"{"SANDBOX_STUB_STRATEGY": "random", "FAILURE_MODES": "disk,user_misuse"}"#,
        ] {
            let set = read_one(settings, "test").unwrap().values().clone();
            let added = missing(&[], "core.py", &profiles, &keywords, &set, Seed(1)).unwrap();
            assert_eq!(added.len(), 2 * CANONICAL.len());
            let ran: Vec<(&str, &Preset)> = added.iter().map(|one| ("core.py", one)).collect();
            assert_eq!(gaps(["core.py"], &ran, &profiles), Ok(Vec::new()), "{settings}");
            for preset in &added {
                let profile = profiles.find(preset.name()).unwrap();
                let own = &profile.level(preset.severity().unwrap()).unwrap().values;
                let modes = own.failure_modes.iter().chain(&set.failure_modes).flatten();
                let mut ways = own.stub_strategy.iter().chain(&set.stub_strategy).flatten();
                assert!(modes.copied().all(|mode| preset.has(mode)), "{settings}: {preset:?}");
                assert!(ways.all(|way| preset.strategies().contains(way)), "{preset:?}");
                assert_eq!(preset.values().network_latency_ms, own.network_latency_ms);
            }
        }
    }

    #[test]
    fn a_mode_keeps_its_inputs_where_only_the_settings_name_some() {
        let mut profiles = Profiles::built_in();
        profiles.add(r#"{"user_misuse": {"FAILURE_MODES": "user_misuse"}}"#, "mine.json").unwrap();
        let set = read_one(r#"{"SANDBOX_STUB_STRATEGY": "smart"}"#, "test").unwrap();
        let keywords = KeywordProfiles::default();
        let added = missing(&[], "core.py", &profiles, &keywords, set.values(), Seed(1)).unwrap();
        let ran: Vec<(&str, &Preset)> = added.iter().map(|one| ("core.py", one)).collect();
        assert_eq!(gaps(["core.py"], &ran, &profiles), Ok(Vec::new()));
    }

    #[test]
    fn a_telling_path_gets_a_preset_of_its_own() {
        let all = added("[{}]", "shop/db/client.py");
        let name = "high_latency_api+concurrency_spike".to_owned();
        assert_eq!(all.last(), Some(&(name, PresetOrigin::Keyword)));
        assert_eq!(all.len(), 9);
    }

    #[test]
    fn settings_hold_for_what_is_added_too() {
        let settings = read_one(r#"{"CPU_LIMIT": 3}"#, "test").unwrap().values().clone();
        let keywords = KeywordProfiles::default();
        let profiles = Profiles::built_in();
        let found = missing(&[], "db.py", &profiles, &keywords, &settings, Seed(1)).unwrap();
        assert!(found.iter().all(|preset| preset.values().cpu_limit == settings.cpu_limit));
        let low = read_one(r#"{"SCENARIO_SEVERITY": "low"}"#, "test").unwrap().values().clone();
        let found = missing(&[], "core.py", &profiles, &keywords, &low, Seed(1)).unwrap();
        let threat = |preset: &Preset| preset.threat_intensity();
        assert_eq!(found.len(), CANONICAL.len(), "one level of each");
        assert!(found.iter().all(|preset| threat(preset) <= 0.5), "{found:?}");
    }

    #[test]
    fn a_module_that_skipped_a_scenario_is_named() {
        let profiles = Profiles::built_in();
        let canonical: Vec<Preset> = profiles
            .all(CANONICAL, "test")
            .unwrap()
            .into_iter()
            .flat_map(|profile| profile.presets(PresetOrigin::Canonical).unwrap())
            .collect();
        let mut ran: Vec<(&str, &Preset)> = canonical.iter().map(|one| ("a.py", one)).collect();
        ran.extend(canonical[..6].iter().map(|one| ("b.py", one)));
        assert_eq!(gaps(["a.py"], &ran, &profiles), Ok(Vec::new()));
        let found = gaps(["a.py", "b.py"], &ran, &profiles).unwrap();
        insta::assert_snapshot!(MissingScenarios(found), @r"
        not every module went through every canonical scenario:
          b.py: concurrency_spike
        raise the budget, or unset SANDBOX_FAIL_ON_MISSING_SCENARIOS
        ");
        assert_eq!(gaps(["c.py"], &ran, &profiles).unwrap().len(), 4);
    }
}
