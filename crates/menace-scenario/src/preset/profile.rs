//! A profile: a named part of a preset, usually at two severities.

use menace_model::{ScenarioSeverity, suggest_names_or};
use serde_json::Value as Json;

use crate::config::{ConfigError, ConfigProblem, OrderedPairs, quote_shortened};

use super::read::{read_values, repeated_key_problems};
use super::{CallSettings, Preset, PresetOrigin, PresetValues};

menace_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ProfileCategory {
        Baseline = "baseline",
        Stress = "stress",
        Security = "security",
        Concurrency = "concurrency",
    }
}

/// The values of a profile at one severity, or at all severities.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileLevel {
    pub severity: Option<ScenarioSeverity>,
    /// Values without name and severity.
    pub values: PresetValues,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PresetProfile {
    pub name: String,
    pub aliases: Vec<String>,
    pub category: ProfileCategory,
    pub about: Option<String>,
    /// One level, or several from low to high.
    pub levels: Vec<ProfileLevel>,
    /// The file that defines it; `None` for built-in profiles.
    pub file: Option<String>,
}

/// Fields of a profile beside preset keys.
const PROFILE_FIELDS: [&str; 5] = ["category", "about", "aliases", "low", "high"];

impl PresetProfile {
    /// Reads a profile: keys for all severities, and under `low` and `high` the keys that override
    /// them.
    pub(super) fn read_profile(
        name: &str,
        pairs: OrderedPairs<Json>,
        at: &str,
    ) -> Result<Self, ConfigError> {
        let mut problems = ConfigError::default();
        if !is_name(name) {
            let reason = "a profile's name has letters, digits, `_`, `-` and `.` only";
            problems.add(ConfigProblem::for_key(at, name, reason));
        }
        let mut profile = Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            category: ProfileCategory::Stress,
            about: None,
            levels: Vec::new(),
            file: None,
        };
        let at = format!("{at}[{name}]");
        let (described, keys): (Vec<_>, Vec<_>) =
            pairs.0.into_iter().partition(|(key, _)| PROFILE_FIELDS.contains(&key.as_str()));
        let described = OrderedPairs(described);
        problems.0.extend(repeated_key_problems(&described, &at).0);
        let common = problems.collect_ok(read_values(&OrderedPairs(keys), &at)).unwrap_or_default();
        for (word, json) in described.0 {
            let done = profile.read_description(&word, &json, &at);
            problems.collect_ok(done);
        }
        profile.levels.sort_by_key(|level| level.severity);
        if profile.levels.is_empty() {
            profile.levels.push(ProfileLevel { severity: None, values: PresetValues::default() });
        }
        for level in &mut profile.levels {
            level.values = std::mem::take(&mut level.values).layered_over(common.clone());
        }
        // The merged values must be consistent as well.
        if problems.0.is_empty() {
            for preset in profile.levels.iter().map(|level| profile.preset_at_level(level, &at)) {
                problems.collect_ok(preset);
            }
        }
        problems.into_result(profile)
    }

    fn read_description(&mut self, word: &str, json: &Json, at: &str) -> Result<(), ConfigError> {
        let expected = |what: &str| {
            let found = quote_shortened(&json.to_string());
            ConfigError::from(ConfigProblem::for_key(
                at,
                word,
                format!("expected {what}, found {found}"),
            ))
        };
        match (word, json) {
            ("category", Json::String(text)) => {
                let known = ProfileCategory::ALL.map(ProfileCategory::as_str);
                self.category = text.parse().map_err(|()| {
                    let hint =
                        suggest_names_or(text, known, &format!("known are {}", known.join(", ")));
                    ConfigError::from(ConfigProblem::for_key(
                        at,
                        word,
                        format!("unknown category{hint}"),
                    ))
                })?;
            }
            ("about", Json::String(text)) => self.about = Some(text.clone()),
            ("aliases", Json::Array(items)) => {
                let names: Option<Vec<String>> =
                    items.iter().map(|item| Some(item.as_str()?.to_owned())).collect();
                self.aliases = names
                    .filter(|names| names.iter().all(|name| is_name(name)))
                    .ok_or_else(|| expected("a list of names"))?;
            }
            ("low" | "high", Json::Object(_)) => {
                let pairs: OrderedPairs<Json> =
                    serde_json::from_value(json.clone()).map_err(|_| expected("an object"))?;
                let values = read_values(&pairs, &format!("{at}[{word}]"))?;
                self.levels
                    .push(ProfileLevel { severity: ScenarioSeverity::from_name(word), values });
            }
            ("low" | "high", _) => return Err(expected("an object of keys")),
            ("aliases", _) => return Err(expected("a list of names")),
            _ => return Err(expected("text")),
        }
        Ok(())
    }

    /// The level of this severity; if there is none, the level for all severities, or the last one.
    pub fn level(&self, severity: ScenarioSeverity) -> Option<&ProfileLevel> {
        self.levels
            .iter()
            .find(|level| level.severity == Some(severity))
            .or_else(|| self.levels.iter().find(|level| level.severity.is_none()))
            .or_else(|| self.levels.last())
    }

    /// One preset per level.
    pub fn to_presets(&self, origin: PresetOrigin) -> Result<Vec<Preset>, ConfigError> {
        self.levels
            .iter()
            .map(|level| Ok(Preset { origin, ..self.preset_at_level(level, &self.name)? }))
            .collect()
    }

    /// One preset per level, with the settings laid over them. If the settings have a severity,
    /// only that level.
    pub(super) fn to_presets_with_settings(
        &self,
        settings: &CallSettings,
        origin: PresetOrigin,
    ) -> Result<Vec<Preset>, ConfigError> {
        let levels: Vec<&ProfileLevel> = match settings.scenario_severity() {
            Some(severity) => self.level(severity).into_iter().collect(),
            None => self.levels.iter().collect(),
        };
        let preset = |level: &ProfileLevel| {
            let own = Preset { origin, ..self.preset_at_level(level, &self.name)? };
            own.with_settings(settings)
        };
        levels.into_iter().map(preset).collect()
    }

    fn preset_at_level(&self, level: &ProfileLevel, at: &str) -> Result<Preset, ConfigError> {
        Preset::new(self.named_values(level), PresetOrigin::Profile, at)
    }

    /// The values with name and severity.
    pub(super) fn named_values(&self, level: &ProfileLevel) -> PresetValues {
        let mut values = level.values.clone();
        values.scenario_name.get_or_insert_with(|| self.name.clone());
        values.scenario_severity = values.scenario_severity.or(level.severity);
        values
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}
