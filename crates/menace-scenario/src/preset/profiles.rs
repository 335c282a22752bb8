//! All profiles: the built-in ones and, laid over them, the user's.

use std::sync::LazyLock;

use serde_json::Value as Json;

use menace_settings::{KeywordProfiles, ScenarioSeverity};

use crate::notation::{Pairs, parse};
use crate::problem::did_you_mean;
use crate::{Problem, Problems};

use super::{Level, Preset, PresetOrigin, Profile, Values};

/// The profiles that every module is put through.
pub const CANONICAL: [&str; 4] =
    ["high_latency_api", "hostile_input", "user_misuse", "concurrency_spike"];

/// The scenarios that a workflow is compared in, at `high`.
pub const SCENARIOS: [&str; 5] =
    ["normal", "concurrency_spike", "hostile_input", "schema_drift", "flaky_upstream"];

/// The stages of a workflow's decline, in order, at `high`.
pub const TRAJECTORY: [&str; 5] =
    ["normal", "high_latency", "resource_strain", "schema_drift", "chaotic_failure"];

static BUILT_IN: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    read(include_str!("profiles.json"), "profiles.json").expect("a test reads them")
});

#[derive(Debug, Clone)]
pub struct Profiles(Vec<Profile>);

impl Profiles {
    pub fn built_in() -> Self {
        Self(BUILT_IN.clone())
    }

    /// Lays the profiles of a file over these and tells which it replaces.
    pub fn add(&mut self, text: &str, file: &str) -> Result<Vec<String>, Problems> {
        let mut replaced = Vec::new();
        for profile in read(text, file)? {
            let profile = Profile { file: Some(file.to_owned()), ..profile };
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

    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        self.0.iter()
    }

    /// By its name, or else by another name of it.
    pub fn find(&self, name: &str) -> Option<&Profile> {
        let by_name = self.0.iter().find(|profile| profile.name == name);
        by_name.or_else(|| self.0.iter().find(|profile| profile.is_called(name)))
    }

    /// The same, or who was meant; `at` is where the name stands.
    pub fn get(&self, name: &str, at: &str) -> Result<&Profile, Problem> {
        self.find(name).ok_or_else(|| {
            let names =
                self.0.iter().flat_map(|one| std::iter::once(&one.name).chain(&one.aliases));
            let hint = did_you_mean(
                name,
                names.map(String::as_str),
                "`menace presets list` shows the known ones",
            );
            Problem::of(at, name, format!("unknown profile{hint}"))
        })
    }

    /// All of them, or everybody who is unknown.
    pub fn all<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        at: &str,
    ) -> Result<Vec<&Profile>, Problems> {
        let mut problems = Problems::default();
        let found: Vec<Option<&Profile>> = names
            .into_iter()
            .map(|name| problems.keep(self.get(name, at).map_err(Problems::from)))
            .collect();
        problems.or(found.into_iter().flatten().collect())
    }

    /// What `name`, `name:low` or `one+other:high` stands for; `high` unless said otherwise. A
    /// severity that is `set` beats the one that is written, as settings do.
    pub fn preset(
        &self,
        text: &str,
        set: Option<ScenarioSeverity>,
        at: &str,
    ) -> Result<Preset, Problems> {
        let (profiles, written) = self.written(text, at)?;
        let severity = set.or(written).unwrap_or(ScenarioSeverity::High);
        Preset::new(merged(&profiles, severity), PresetOrigin::Profile, at)
    }

    /// The same as one profile, at the severity that is written or at all that there are.
    pub fn profile(&self, text: &str, at: &str) -> Result<Profile, Problems> {
        let (profiles, written) = self.written(text, at)?;
        let first = profiles.first().ok_or_else(|| Problem::new(at, "there is no name in it"))?;
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
        let level = |severity| Level {
            severity: has_levels.then_some(severity),
            values: Values {
                scenario_name: None,
                scenario_severity: None,
                ..merged(&profiles, severity)
            },
        };
        let names: Vec<&str> = profiles.iter().map(|one| one.name.as_str()).collect();
        let about: Vec<&str> = profiles.iter().filter_map(|one| one.about.as_deref()).collect();
        let files: Vec<&str> = profiles.iter().filter_map(|one| one.file.as_deref()).collect();
        Ok(Profile {
            name: names.join("+"),
            aliases: Vec::new(),
            category: first.category,
            about: (!about.is_empty()).then(|| about.join(" ")),
            levels: severities.into_iter().map(level).collect(),
            file: (!files.is_empty()).then(|| files.join(", ")),
        })
    }

    fn written(
        &self,
        text: &str,
        at: &str,
    ) -> Result<(Vec<&Profile>, Option<ScenarioSeverity>), Problems> {
        let (names, severity) = match text.rsplit_once(':') {
            Some((names, severity)) => {
                let severity = severity
                    .parse()
                    .map_err(|_| Problem::of(at, text, "after the colon comes `low` or `high`"))?;
                (names, Some(severity))
            }
            None => (text, None),
        };
        Ok((self.all(names.split('+').map(str::trim), at)?, severity))
    }

    /// Profiles of keywords must exist; keywords are settings, these are known only later.
    pub fn check(&self, keywords: &KeywordProfiles) -> Result<(), Problems> {
        let mut problems = Problems::default();
        for (word, names) in keywords.iter() {
            let at = format!("keyword_profiles: {word}");
            let names = names.iter().map(String::as_str);
            problems.keep(self.all(names, &at));
        }
        problems.or(())
    }
}

/// Several profiles at once, in their order.
pub(super) fn merged(profiles: &[&Profile], severity: ScenarioSeverity) -> Values {
    profiles
        .iter()
        .filter_map(|profile| Some(profile.named(profile.level(severity)?)))
        .reduce(|earlier, later| later.with(earlier))
        .unwrap_or_default()
}

fn read(text: &str, file: &str) -> Result<Vec<Profile>, Problems> {
    let shape: Json = parse(text, file)?;
    let is_right = shape.as_object().is_some_and(|map| map.values().all(Json::is_object));
    if !is_right {
        let reason = "expected profiles: a JSON object such as `{\"my_profile\": {\"CPU_LIMIT\": \
                      \"1\"}}`, with `low` and `high` in it if you like";
        return Err(Problem::new(file, reason).into());
    }
    let pairs: Pairs<Pairs<Json>> = parse(text, file)?;
    let twice = |name: &str| Problem::of(file, name, "it is defined twice: remove one of them");
    let mut problems = Problems(pairs.repeated().into_iter().map(twice).collect());
    let mut profiles = Vec::new();
    for (name, pairs) in pairs.0 {
        profiles.extend(problems.keep(Profile::read(&name, pairs, file)));
    }
    problems.or(profiles)
}

#[cfg(test)]
mod tests {
    use crate::preset::Category;

    use super::*;

    fn with(text: &str) -> (Profiles, Vec<String>) {
        let mut profiles = Profiles::built_in();
        let replaced = profiles.add(text, "mine.json").unwrap();
        (profiles, replaced)
    }

    fn json(preset: &Preset) -> String {
        serde_json::to_string(preset).unwrap()
    }

    #[test]
    fn the_documented_profiles_are_there_and_change_something() {
        let profiles = Profiles::built_in();
        for name in CANONICAL.iter().chain(&SCENARIOS).chain(&TRAJECTORY) {
            let presets = profiles.get(name, "test").unwrap().presets(PresetOrigin::Profile);
            for preset in presets.unwrap() {
                assert_eq!(preset.oddities(), [], "{name}");
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
        for profile in Profiles::built_in().iter().filter(|one| one.name != "normal") {
            let presets = profile.presets(PresetOrigin::Profile).unwrap();
            let [low, high] = presets.as_slice() else { panic!("{}", profile.name) };
            assert_eq!(low.severity(), Some(ScenarioSeverity::Low));
            let differ = low.conditions(0) != high.conditions(0)
                || low.threat_intensity() < high.threat_intensity();
            assert!(differ, "{}", profile.name);
        }
    }

    #[test]
    fn several_profiles_make_one_preset() {
        let preset =
            Profiles::built_in().preset("hostile_input+user_misuse+baseline:low", None, "x");
        insta::assert_snapshot!(json(&preset.unwrap()), @r#"{"SCENARIO_NAME":"hostile_input+user_misuse+normal","SCENARIO_SEVERITY":"low","THREAT_INTENSITY":"30","SANDBOX_STUB_STRATEGY":["hostile","misuse"],"FAILURE_MODES":["hostile_input","user_misuse"]}"#);
    }

    #[test]
    fn a_severity_that_is_set_beats_the_written_one() {
        let profiles = Profiles::built_in();
        let low = Some(ScenarioSeverity::Low);
        for text in ["hostile_input", "hostile_input:high", "hostile_input:low"] {
            let preset = profiles.preset(text, low, "x").unwrap();
            assert_eq!(
                preset.values().threat_intensity,
                menace_settings::Percent::new(30.0),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_preset_is_written_as_is_a_profile_too() {
        let profiles = Profiles::built_in();
        let both = profiles.profile("hostile_input+concurrency_spike", "x").unwrap();
        assert_eq!((both.name.as_str(), both.levels.len()), ("hostile_input+concurrency_spike", 2));
        let low = profiles.profile("hostile_input:low", "x").unwrap();
        let of_whole = profiles.find("hostile_input").unwrap().level(ScenarioSeverity::Low);
        assert_eq!(low.levels.iter().collect::<Vec<_>>(), [of_whole.unwrap()]);
        assert_eq!(&profiles.profile("baseline", "x").unwrap(), profiles.find("normal").unwrap());
        assert!(profiles.profile("hostile_input:mid", "x").is_err());
    }

    #[test]
    fn users_define_their_own_flat_or_by_severity() {
        let (profiles, replaced) = with(
            r#"{"mine": {"CPU_LIMIT": 1},
                "graded": {"category": "security", "DISK_LIMIT": "1Mi", "CPU_LIMIT": 3,
                           "high": {"CPU_LIMIT": 1}, "low": {"CPU_LIMIT": 2}},
                "hostile_input": {"THREAT_INTENSITY": 1}, "baseline": {"CPU_LIMIT": 9}}"#,
        );
        assert_eq!(replaced, ["hostile_input", "baseline"]);
        let flat = profiles.preset("mine", None, "x").unwrap();
        assert_eq!(json(&flat), r#"{"SCENARIO_NAME":"mine","CPU_LIMIT":"1"}"#);
        let graded = profiles.find("graded").unwrap();
        assert_eq!(
            (graded.category, graded.file.as_deref()),
            (Category::Security, Some("mine.json"))
        );
        let presets: Vec<String> =
            graded.presets(PresetOrigin::Profile).unwrap().iter().map(json).collect();
        assert_eq!(
            presets,
            [
                r#"{"SCENARIO_NAME":"graded","SCENARIO_SEVERITY":"low","CPU_LIMIT":"2","DISK_LIMIT":"1Mi"}"#,
                r#"{"SCENARIO_NAME":"graded","SCENARIO_SEVERITY":"high","CPU_LIMIT":"1","DISK_LIMIT":"1Mi"}"#,
            ]
        );
        assert!(profiles.preset("baseline", None, "x").unwrap().values().cpu_limit.is_some());
    }

    #[test]
    fn mistakes_in_profiles_are_all_told() {
        let text = r#"{"a b": {}, "x": {"CPU_LIMTI": 1, "low": {"CPU_LIMIT": "many"}, "high": 3},
            "y": {"category": "stres", "aliases": "z", "about": 1},
            "z": {"MIN_BANDWIDTH": "2Mbps", "MAX_BANDWIDTH": "1Mbps"}, "z": {"low": {}, "low": {}}}"#;
        let problems = Profiles::built_in().add(text, "mine.json").unwrap_err();
        insta::assert_snapshot!(problems, @r#"
        mine.json: z: it is defined twice: remove one of them
        mine.json: a b: a profile's name has letters, digits, `_`, `-` and `.` only
        mine.json[x]: CPU_LIMTI: unknown key; did you mean `CPU_LIMIT`?
        mine.json[x][low]: CPU_LIMIT: expected a duration such as `30` (seconds), `500ms`, `5m` or `7d`, found `many`
        mine.json[x]: high: expected an object of keys, found `3`
        mine.json[y]: category: unknown category; did you mean `stress`?
        mine.json[y]: aliases: expected a list of names, found `"z"`
        mine.json[y]: about: expected text, found `1`
        mine.json[z]: MIN_BANDWIDTH: it is above MAX_BANDWIDTH: lower it or raise that
        mine.json[z]: low: it stands there twice: remove one of them
        "#);
        let shape = Profiles::built_in().add("[]", "mine.json").unwrap_err().to_string();
        assert!(shape.starts_with("mine.json: expected profiles"), "{shape}");
    }

    #[test]
    fn unknown_names_come_with_a_suggestion() {
        let profiles = Profiles::built_in();
        let wrong = profiles.preset("hostile_inptu+nobody+baselin", None, "--preset").unwrap_err();
        insta::assert_snapshot!(wrong, @r"
        --preset: hostile_inptu: unknown profile; did you mean `hostile_input`?
        --preset: nobody: unknown profile; `menace presets list` shows the known ones
        --preset: baselin: unknown profile; did you mean `baseline`?
        ");
        let wrong = profiles.preset("normal:medium", None, "--preset").unwrap_err().to_string();
        assert!(wrong.ends_with("after the colon comes `low` or `high`"), "{wrong}");
    }

    #[test]
    fn profiles_of_keywords_must_exist() {
        use menace_settings::{Setting, Surroundings};
        let read = |text| KeywordProfiles::parse(text, &Surroundings::default()).unwrap();
        assert_eq!(Profiles::built_in().check(&KeywordProfiles::default()), Ok(()));
        let wrong = Profiles::built_in().check(&read(r#"{"ledger": ["user_misus"]}"#));
        assert_eq!(
            wrong.unwrap_err().to_string(),
            "keyword_profiles: ledger: user_misus: unknown profile; did you mean `user_misuse`?"
        );
    }
}
