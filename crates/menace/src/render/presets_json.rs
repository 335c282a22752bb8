//! Profiles and checked presets for machines. The shapes are promises: a change of meaning raises
//! `version`.

use std::collections::BTreeMap;

use serde::Serialize;

use menace_scenario::Problem;
use menace_scenario::preset::{KEYS, Mode, Placed, Profile, Profiles, Values};
use menace_settings::{KeywordProfiles, ScenarioSeverity};

const VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct ListJson<'a> {
    version: u32,
    profiles: Vec<ProfileJson<'a>>,
    keywords: BTreeMap<&'a str, &'a [String]>,
}

impl<'a> ListJson<'a> {
    pub(crate) fn new(profiles: &'a Profiles, keywords: &'a KeywordProfiles) -> Self {
        Self {
            version: VERSION,
            profiles: profiles.iter().map(ProfileJson::new).collect(),
            keywords: keywords.iter().collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct ProfileJson<'a> {
    name: &'a str,
    aliases: &'a [String],
    category: &'static str,
    about: Option<&'a str>,
    /// None for the built-in ones.
    file: Option<&'a str>,
    levels: Vec<LevelJson<'a>>,
}

#[derive(Debug, Serialize)]
struct LevelJson<'a> {
    severity: Option<ScenarioSeverity>,
    preset: &'a Values,
}

impl<'a> ProfileJson<'a> {
    fn new(profile: &'a Profile) -> Self {
        let Profile { name, aliases, category, about, levels, file } = profile;
        Self {
            name,
            aliases,
            category: category.as_str(),
            about: about.as_deref(),
            file: file.as_deref(),
            levels: levels
                .iter()
                .map(|level| LevelJson { severity: level.severity, preset: &level.values })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ShowJson<'a> {
    version: u32,
    profile: ProfileJson<'a>,
    keys: Vec<KeyJson>,
    failure_modes: Vec<ModeJson>,
}

/// A key that the profile sets.
#[derive(Debug, Serialize)]
struct KeyJson {
    name: &'static str,
    meaning: &'static str,
    held_by: &'static str,
}

#[derive(Debug, Serialize)]
struct ModeJson {
    name: &'static str,
    meaning: &'static str,
    low: String,
    high: String,
    held_by: &'static str,
}

impl<'a> ShowJson<'a> {
    pub(crate) fn new(profile: &'a Profile) -> Self {
        let is_set = |key: &&menace_scenario::preset::Key| {
            profile.levels.iter().any(|level| key.json(&level.values).is_some())
        };
        Self {
            version: VERSION,
            profile: ProfileJson::new(profile),
            keys: KEYS
                .iter()
                .filter(is_set)
                .map(|key| KeyJson {
                    name: key.name,
                    meaning: key.setting().map_or("", |setting| setting.help()),
                    held_by: key.held_by,
                })
                .collect(),
            failure_modes: modes(profile)
                .map(|mode| ModeJson {
                    name: mode.mode.as_str(),
                    meaning: mode.meaning,
                    low: mode.strength(ScenarioSeverity::Low),
                    high: mode.strength(ScenarioSeverity::High),
                    held_by: mode.held_by,
                })
                .collect(),
        }
    }
}

/// The failure modes of any of its levels.
pub(crate) fn modes(profile: &Profile) -> impl Iterator<Item = &'static Mode> {
    let has = |mode: &&Mode| {
        let levels = profile.levels.iter();
        levels
            .flat_map(|level| level.values.failure_modes.iter().flatten())
            .any(|m| *m == mode.mode)
    };
    menace_scenario::preset::MODES.iter().filter(has)
}

#[derive(Debug, Serialize)]
pub(crate) struct ValidateJson<'a> {
    version: u32,
    pub file: &'a str,
    presets: usize,
    errors: &'a [Problem],
    pub warnings: Vec<Problem>,
}

impl<'a> ValidateJson<'a> {
    /// Presets that can be used, with what is odd about them.
    pub(crate) fn new(file: &'a str, presets: &[Placed]) -> Self {
        let mut warnings = Vec::new();
        for Placed { at, preset } in presets {
            warnings.extend(preset.oddities().into_iter().map(|oddity| Problem {
                at: at.clone(),
                key: oddity.key.map(str::to_owned),
                reason: oddity.why.to_owned(),
            }));
        }
        Self { version: VERSION, file, presets: presets.len(), errors: &[], warnings }
    }

    pub(crate) fn refused(file: &'a str, errors: &'a [Problem]) -> Self {
        Self { version: VERSION, file, presets: 0, errors, warnings: Vec::new() }
    }
}
