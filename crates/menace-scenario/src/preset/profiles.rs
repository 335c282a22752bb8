//! The profile catalog: built-in profiles, and those of the user laid over them.

use std::sync::LazyLock;

use menace_model::{ScenarioSeverity, suggest_names_or};
use serde_json::Value as Json;

use menace_settings::KeywordProfiles;

use crate::config::{ConfigError, ConfigProblem, OrderedPairs, parse_json};

use super::{Preset, PresetOrigin, PresetProfile, PresetValues, ProfileLevel};

/// The profiles that every module runs under.
pub const CANONICAL_PROFILES: [&str; 4] =
    ["high_latency_api", "hostile_input", "user_misuse", "concurrency_spike"];

/// The scenarios that a module is compared in, at `high`.
pub const WORKFLOW_SCENARIOS: [&str; 5] =
    ["normal", "concurrency_spike", "hostile_input", "schema_drift", "flaky_upstream"];

/// The stages of a module's decline, in order, at `high`.
pub const TRAJECTORY_STAGES: [&str; 5] =
    ["normal", "high_latency", "resource_strain", "schema_drift", "chaotic_failure"];

static BUILT_IN_PROFILES: LazyLock<Vec<PresetProfile>> = LazyLock::new(|| {
    read_profiles(include_str!("profiles.json"), "profiles.json").expect("a test reads them")
});

#[derive(Debug, Clone)]
pub struct ProfileCatalog(Vec<PresetProfile>);

impl ProfileCatalog {
    pub fn built_in() -> Self {
        Self(BUILT_IN_PROFILES.clone())
    }

    /// Adds the profiles of a file and returns the names that it replaces.
    pub fn add_file(&mut self, text: &str, file: &str) -> Result<Vec<String>, ConfigError> {
        let mut replaced = Vec::new();
        for profile in read_profiles(text, file)? {
            let profile = PresetProfile { file: Some(file.to_owned()), ..profile };
            if let Some(other) = self.0.iter_mut().find(|other| other.name == profile.name) {
                replaced.push(profile.name.clone());
                *other = profile;
            } else {
                if self.find(&profile.name).is_some() {
                    replaced.push(profile.name.clone());
                }
                self.0.push(profile);
            }
        }
        Ok(replaced)
    }

    pub fn iter(&self) -> impl Iterator<Item = &PresetProfile> {
        self.0.iter()
    }

    /// Finds a profile by its name, else by an alias.
    pub fn find(&self, name: &str) -> Option<&PresetProfile> {
        let by_name = self.0.iter().find(|profile| profile.name == name);
        by_name.or_else(|| self.0.iter().find(|profile| profile.has_name(name)))
    }

    /// Finds a profile, or returns a problem with a suggestion; `at` is the place of the name.
    pub fn get(&self, name: &str, at: &str) -> Result<&PresetProfile, ConfigProblem> {
        self.find(name).ok_or_else(|| {
            let names =
                self.0.iter().flat_map(|one| std::iter::once(&one.name).chain(&one.aliases));
            let hint = suggest_names_or(
                name,
                names.map(String::as_str),
                "`menace presets list` shows the known ones",
            );
            ConfigProblem::for_key(at, name, format!("unknown profile{hint}"))
        })
    }

    /// Finds all profiles, or returns the problems of all unknown names.
    pub fn get_all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        at: &str,
    ) -> Result<Vec<&PresetProfile>, ConfigError> {
        let mut problems = ConfigError::default();
        let found: Vec<Option<&PresetProfile>> = names
            .into_iter()
            .map(|name| problems.collect_ok(self.get(name, at).map_err(ConfigError::from)))
            .collect();
        problems.into_result(found.into_iter().flatten().collect())
    }

    /// The preset of `name`, `name:low` or `one+other:high`; `high` by default. The severity of the
    /// settings, `set`, overrides the written one.
    pub fn parse_preset(
        &self,
        text: &str,
        set: Option<ScenarioSeverity>,
        at: &str,
    ) -> Result<Preset, ConfigError> {
        let (profiles, written) = self.parse_names_and_severity(text, at)?;
        let severity = set.or(written).unwrap_or(ScenarioSeverity::High);
        Preset::new(merge_profiles(&profiles, severity), PresetOrigin::Profile, at)
    }

    /// Parses a text with one name as a profile, at the given severity or at all severities.
    pub fn parse_profile(&self, text: &str, at: &str) -> Result<PresetProfile, ConfigError> {
        let (profiles, written) = self.parse_names_and_severity(text, at)?;
        let first =
            profiles.first().ok_or_else(|| ConfigProblem::new(at, "there is no name in it"))?;
        if let ([_], None) = (profiles.as_slice(), written) {
            return Ok((*first).clone());
        }
        let has_levels =
            profiles.iter().flat_map(|one| &one.levels).any(|level| level.severity.is_some());
        let severities = match written {
            Some(severity) => vec![severity],
            None if has_levels => vec![ScenarioSeverity::Low, ScenarioSeverity::High],
            None => vec![ScenarioSeverity::High],
        };
        let level = |severity| ProfileLevel {
            severity: has_levels.then_some(severity),
            values: PresetValues {
                scenario_name: None,
                scenario_severity: None,
                ..merge_profiles(&profiles, severity)
            },
        };
        let names: Vec<&str> = profiles.iter().map(|one| one.name.as_str()).collect();
        let about: Vec<&str> = profiles.iter().filter_map(|one| one.about.as_deref()).collect();
        let files: Vec<&str> = profiles.iter().filter_map(|one| one.file.as_deref()).collect();
        Ok(PresetProfile {
            name: names.join("+"),
            aliases: Vec::new(),
            category: first.category,
            about: (!about.is_empty()).then(|| about.join(" ")),
            levels: severities.into_iter().map(level).collect(),
            file: (!files.is_empty()).then(|| files.join(", ")),
        })
    }

    fn parse_names_and_severity(
        &self,
        text: &str,
        at: &str,
    ) -> Result<(Vec<&PresetProfile>, Option<ScenarioSeverity>), ConfigError> {
        let (names, severity) = match text.rsplit_once(':') {
            Some((names, severity)) => {
                let severity = ScenarioSeverity::from_name(severity).ok_or_else(|| {
                    ConfigProblem::for_key(at, text, "after the colon comes `low` or `high`")
                })?;
                (names, Some(severity))
            }
            None => (text, None),
        };
        Ok((self.get_all(names.split('+').map(str::trim), at)?, severity))
    }

    /// Checks that the profiles of `keyword_profiles` exist.
    pub fn check_keywords(&self, keywords: &KeywordProfiles) -> Result<(), ConfigError> {
        let mut problems = ConfigError::default();
        for (word, names) in keywords.iter() {
            let at = format!("keyword_profiles: {word}");
            let names = names.iter().map(String::as_str);
            problems.collect_ok(self.get_all(names, &at));
        }
        problems.into_result(())
    }
}

/// Merges profiles in their order.
pub(super) fn merge_profiles(
    profiles: &[&PresetProfile],
    severity: ScenarioSeverity,
) -> PresetValues {
    profiles
        .iter()
        .filter_map(|profile| Some(profile.named_values(profile.level(severity)?)))
        .reduce(|earlier, later| later.merged_with(earlier))
        .unwrap_or_default()
}

fn read_profiles(text: &str, file: &str) -> Result<Vec<PresetProfile>, ConfigError> {
    let shape: Json = parse_json(text, file)?;
    let is_right = shape.as_object().is_some_and(|map| map.values().all(Json::is_object));
    if !is_right {
        let reason = "expected profiles: a JSON object such as `{\"my_profile\": {\"CPU_LIMIT\": \
                      \"1\"}}`, with `low` and `high` in it if you like";
        return Err(ConfigProblem::new(file, reason).into());
    }
    let pairs: OrderedPairs<OrderedPairs<Json>> = parse_json(text, file)?;
    let twice =
        |name: &str| ConfigProblem::for_key(file, name, "it is defined twice: remove one of them");
    let mut problems = ConfigError(pairs.find_repeated_keys().into_iter().map(twice).collect());
    let mut profiles = Vec::new();
    for (name, pairs) in pairs.0 {
        profiles.extend(problems.collect_ok(PresetProfile::read_profile(&name, pairs, file)));
    }
    problems.into_result(profiles)
}

#[cfg(test)]
mod tests {
    use crate::preset::ProfileCategory;

    use super::*;

    fn catalog_with(text: &str) -> (ProfileCatalog, Vec<String>) {
        let mut profiles = ProfileCatalog::built_in();
        let replaced = profiles.add_file(text, "mine.json").unwrap();
        (profiles, replaced)
    }

    fn json(preset: &Preset) -> String {
        serde_json::to_string(preset).unwrap()
    }

    #[test]
    fn the_documented_profiles_exist_and_have_effects() {
        let profiles = ProfileCatalog::built_in();
        for name in CANONICAL_PROFILES.iter().chain(&WORKFLOW_SCENARIOS).chain(&TRAJECTORY_STAGES) {
            let presets = profiles.get(name, "test").unwrap().to_presets(PresetOrigin::Profile);
            for preset in presets.unwrap() {
                assert_eq!(preset.find_ineffective_keys(), [], "{name}");
                assert_eq!(preset.name(), *name);
            }
        }
        for (alias, name) in [
            ("baseline", "normal"),
            ("latency_spike", "high_latency"),
            ("io_cpu_strain", "resource_strain"),
        ] {
            assert_eq!(profiles.find(alias).unwrap().name, name);
        }
    }

    #[test]
    fn every_profile_but_the_control_has_both_severities_and_they_differ() {
        for profile in ProfileCatalog::built_in().iter().filter(|one| one.name != "normal") {
            let presets = profile.to_presets(PresetOrigin::Profile).unwrap();
            let [low, high] = presets.as_slice() else { panic!("{}", profile.name) };
            assert_eq!(low.severity(), Some(ScenarioSeverity::Low));
            let differ = low.limits_and_conditions(0) != high.limits_and_conditions(0)
                || low.threat_intensity() < high.threat_intensity();
            assert!(differ, "{}", profile.name);
        }
    }

    #[test]
    fn several_profiles_make_one_preset() {
        let preset = ProfileCatalog::built_in().parse_preset(
            "hostile_input+user_misuse+baseline:low",
            None,
            "x",
        );
        assert_eq!(
            json(&preset.unwrap()),
            concat!(
                r#"{"SCENARIO_NAME":"hostile_input+user_misuse+normal","SCENARIO_SEVERITY":"low","#,
                r#""THREAT_INTENSITY":"30","SANDBOX_STUB_STRATEGY":["hostile","misuse"],"#,
                r#""FAILURE_MODES":["hostile_input","user_misuse"]}"#
            )
        );
    }

    #[test]
    fn a_severity_of_the_settings_overrides_the_written_one() {
        let profiles = ProfileCatalog::built_in();
        let low = Some(ScenarioSeverity::Low);
        for text in ["hostile_input", "hostile_input:high", "hostile_input:low"] {
            let preset = profiles.parse_preset(text, low, "x").unwrap();
            assert_eq!(
                preset.values().threat_intensity,
                menace_settings::PercentShare::new(30.0),
                "{text}"
            );
        }
    }

    #[test]
    fn a_written_preset_can_be_parsed_as_a_profile() {
        let profiles = ProfileCatalog::built_in();
        let both = profiles.parse_profile("hostile_input+concurrency_spike", "x").unwrap();
        assert_eq!((both.name.as_str(), both.levels.len()), ("hostile_input+concurrency_spike", 2));
        let low = profiles.parse_profile("hostile_input:low", "x").unwrap();
        let of_whole = profiles.find("hostile_input").unwrap().level(ScenarioSeverity::Low);
        assert_eq!(low.levels.iter().collect::<Vec<_>>(), [of_whole.unwrap()]);
        assert_eq!(
            &profiles.parse_profile("baseline", "x").unwrap(),
            profiles.find("normal").unwrap()
        );
        assert!(profiles.parse_profile("hostile_input:mid", "x").is_err());
    }

    #[test]
    fn users_define_their_own_flat_or_by_severity() {
        let (profiles, replaced) = catalog_with(
            r#"{"mine": {"CPU_LIMIT": 1},
                "graded": {"category": "security", "DISK_LIMIT": "1Mi", "CPU_LIMIT": 3,
                           "high": {"CPU_LIMIT": 1}, "low": {"CPU_LIMIT": 2}},
                "hostile_input": {"THREAT_INTENSITY": 1}, "baseline": {"CPU_LIMIT": 9}}"#,
        );
        assert_eq!(replaced, ["hostile_input", "baseline"]);
        let flat = profiles.parse_preset("mine", None, "x").unwrap();
        assert_eq!(json(&flat), r#"{"SCENARIO_NAME":"mine","CPU_LIMIT":"1"}"#);
        let graded = profiles.find("graded").unwrap();
        assert_eq!(
            (graded.category, graded.file.as_deref()),
            (ProfileCategory::Security, Some("mine.json"))
        );
        let presets: Vec<String> =
            graded.to_presets(PresetOrigin::Profile).unwrap().iter().map(json).collect();
        assert_eq!(
            presets,
            [
                concat!(
                    r#"{"SCENARIO_NAME":"graded","SCENARIO_SEVERITY":"low","#,
                    r#""CPU_LIMIT":"2","DISK_LIMIT":"1Mi"}"#
                ),
                concat!(
                    r#"{"SCENARIO_NAME":"graded","SCENARIO_SEVERITY":"high","#,
                    r#""CPU_LIMIT":"1","DISK_LIMIT":"1Mi"}"#
                ),
            ]
        );
        assert!(profiles.parse_preset("baseline", None, "x").unwrap().values().cpu_limit.is_some());
    }

    #[test]
    fn all_errors_in_profiles_are_reported() {
        let text = r#"{"a b": {}, "x": {"CPU_LIMTI": 1, "low": {"CPU_LIMIT": "many"}, "high": 3},
            "y": {"category": "stres", "aliases": "z", "about": 1},
            "z": {"MIN_BANDWIDTH": "2Mbps", "MAX_BANDWIDTH": "1Mbps"},
            "z": {"low": {}, "low": {}}}"#;
        let problems = ProfileCatalog::built_in().add_file(text, "mine.json").unwrap_err();
        insta::assert_snapshot!(problems, @"
        mine.json: z: it is defined twice: remove one of them
        mine.json: a b: a profile's name has letters, digits, `_`, `-` and `.` only
        mine.json[x]: CPU_LIMTI: unknown key; did you mean `CPU_LIMIT`?
        mine.json[x][low]: CPU_LIMIT: expected a duration such as `30` (seconds), `500ms`, \
            `5m` or `7d`, found `many`
        mine.json[x]: high: expected an object of keys, found `3`
        mine.json[y]: category: unknown category; did you mean `stress`?
        mine.json[y]: aliases: expected a list of names, found `\"z\"`
        mine.json[y]: about: expected text, found `1`
        mine.json[z]: MIN_BANDWIDTH: it is above MAX_BANDWIDTH: lower it or raise that
        mine.json[z]: low: it stands there twice: remove one of them
        ");
        let shape = ProfileCatalog::built_in().add_file("[]", "mine.json").unwrap_err().to_string();
        assert!(shape.starts_with("mine.json: expected profiles"), "{shape}");
    }

    #[test]
    fn unknown_names_come_with_a_suggestion() {
        let profiles = ProfileCatalog::built_in();
        let wrong = profiles
            .parse_preset("hostile_inptu+unheard_of+baselin", None, "--preset")
            .unwrap_err();
        insta::assert_snapshot!(wrong, @r"
        --preset: hostile_inptu: unknown profile; did you mean `hostile_input`?
        --preset: unheard_of: unknown profile; `menace presets list` shows the known ones
        --preset: baselin: unknown profile; did you mean `baseline`?
        ");
        let wrong =
            profiles.parse_preset("normal:medium", None, "--preset").unwrap_err().to_string();
        assert!(wrong.ends_with("after the colon comes `low` or `high`"), "{wrong}");
    }

    #[test]
    fn profiles_of_keywords_must_exist() {
        use menace_settings::{ParseContext, SettingType};
        let read = |text| KeywordProfiles::parse(text, &ParseContext::default()).unwrap();
        assert_eq!(ProfileCatalog::built_in().check_keywords(&KeywordProfiles::default()), Ok(()));
        let wrong =
            ProfileCatalog::built_in().check_keywords(&read(r#"{"ledger": ["user_misus"]}"#));
        assert_eq!(
            wrong.unwrap_err().to_string(),
            "keyword_profiles: ledger: user_misus: unknown profile; did you mean `user_misuse`?"
        );
    }
}
