//! Profiles and checked presets for machines. The shapes are promises: a change of meaning raises
//! `version`.

use std::collections::BTreeMap;

use menace_model::ScenarioSeverity;
use serde::Serialize;

use menace_scenario::ConfigProblem;
use menace_scenario::preset::{
    FailureModeInfo, LocatedPreset, PRESET_KEYS, PresetProfile, PresetValues, ProfileCatalog,
};
use menace_settings::KeywordProfiles;

const PRESETS_JSON_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct ProfileListJson<'a> {
    version: u32,
    profiles: Vec<PresetProfileJson<'a>>,
    keywords: BTreeMap<&'a str, &'a [String]>,
}

impl<'a> ProfileListJson<'a> {
    pub(crate) fn new(profiles: &'a ProfileCatalog, keywords: &'a KeywordProfiles) -> Self {
        Self {
            version: PRESETS_JSON_VERSION,
            profiles: profiles.iter().map(PresetProfileJson::new).collect(),
            keywords: keywords.iter().collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct PresetProfileJson<'a> {
    name: &'a str,
    aliases: &'a [String],
    category: &'static str,
    about: Option<&'a str>,
    /// `None` for the built-in profiles.
    file: Option<&'a str>,
    levels: Vec<ProfileLevelJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ProfileLevelJson<'a> {
    severity: Option<ScenarioSeverity>,
    preset: &'a PresetValues,
}

impl<'a> PresetProfileJson<'a> {
    fn new(profile: &'a PresetProfile) -> Self {
        let PresetProfile { name, aliases, category, about, levels, file } = profile;
        Self {
            name,
            aliases,
            category: category.as_str(),
            about: about.as_deref(),
            file: file.as_deref(),
            levels: levels
                .iter()
                .map(|level| ProfileLevelJson { severity: level.severity, preset: &level.values })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ProfileDetailJson<'a> {
    version: u32,
    profile: PresetProfileJson<'a>,
    keys: Vec<PresetKeyJson>,
    failure_modes: Vec<FailureModeJson>,
}

/// A key that the profile sets.
#[derive(Debug, Serialize)]
struct PresetKeyJson {
    name: &'static str,
    meaning: &'static str,
    enforced_by: &'static str,
}

#[derive(Debug, Serialize)]
struct FailureModeJson {
    name: &'static str,
    meaning: &'static str,
    low: String,
    high: String,
    enforced_by: &'static str,
}

impl<'a> ProfileDetailJson<'a> {
    pub(crate) fn new(profile: &'a PresetProfile) -> Self {
        let is_set = |key: &&menace_scenario::preset::PresetKey| {
            profile.levels.iter().any(|level| key.value_json(&level.values).is_some())
        };
        Self {
            version: PRESETS_JSON_VERSION,
            profile: PresetProfileJson::new(profile),
            keys: PRESET_KEYS
                .iter()
                .filter(is_set)
                .map(|key| PresetKeyJson {
                    name: key.name,
                    meaning: key.setting().map_or("", |setting| setting.help()),
                    enforced_by: key.enforced_by,
                })
                .collect(),
            failure_modes: failure_modes_of(profile)
                .map(|mode| FailureModeJson {
                    name: mode.mode.as_str(),
                    meaning: mode.meaning,
                    low: mode.describe_strength(ScenarioSeverity::Low),
                    high: mode.describe_strength(ScenarioSeverity::High),
                    enforced_by: mode.enforced_by,
                })
                .collect(),
        }
    }
}

/// The failure modes of any of its levels.
pub(crate) fn failure_modes_of(
    profile: &PresetProfile,
) -> impl Iterator<Item = &'static FailureModeInfo> {
    let has = |mode: &&FailureModeInfo| {
        let levels = profile.levels.iter();
        levels
            .flat_map(|level| level.values.failure_modes.iter().flatten())
            .any(|m| *m == mode.mode)
    };
    menace_scenario::preset::FAILURE_MODES.iter().filter(has)
}

#[derive(Debug, Serialize)]
pub(crate) struct PresetCheckJson<'a> {
    version: u32,
    pub file: &'a str,
    presets: usize,
    errors: &'a [ConfigProblem],
    pub warnings: Vec<ConfigProblem>,
}

impl<'a> PresetCheckJson<'a> {
    /// Valid presets, with warnings about them.
    pub(crate) fn new(file: &'a str, presets: &[LocatedPreset]) -> Self {
        let mut warnings = Vec::new();
        for LocatedPreset { at, preset } in presets {
            warnings.extend(preset.find_ineffective_keys().into_iter().map(|anomaly| {
                ConfigProblem {
                    at: at.clone(),
                    key: anomaly.key.map(str::to_owned),
                    reason: anomaly.reason.to_owned(),
                }
            }));
        }
        Self { version: PRESETS_JSON_VERSION, file, presets: presets.len(), errors: &[], warnings }
    }

    pub(crate) fn from_errors(file: &'a str, errors: &'a [ConfigProblem]) -> Self {
        Self { version: PRESETS_JSON_VERSION, file, presets: 0, errors, warnings: Vec::new() }
    }
}
