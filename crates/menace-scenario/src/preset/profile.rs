//! A profile: a named part of a preset, usually at two severities.

use std::fmt;

use serde_json::Value as Json;

use menace_settings::ScenarioSeverity;

use crate::notation::Pairs;
use crate::problem::{did_you_mean, quoted};
use crate::{Problem, Problems};

use super::read::{repeated, values};
use super::{Preset, PresetOrigin, Values};

/// What a profile is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Baseline,
    Stress,
    Security,
    Concurrency,
}

impl Category {
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Stress, Self::Security, Self::Concurrency];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Stress => "stress",
            Self::Security => "security",
            Self::Concurrency => "concurrency",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a profile says at one severity, or at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    pub severity: Option<ScenarioSeverity>,
    /// Without name and severity.
    pub values: Values,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    pub name: String,
    pub aliases: Vec<String>,
    pub category: Category,
    pub about: Option<String>,
    /// One, or the severities from low to high.
    pub levels: Vec<Level>,
    /// The file that defines it; none for the built-in ones.
    pub file: Option<String>,
}

/// What stands in a profile beside keys.
const WORDS: [&str; 5] = ["category", "about", "aliases", "low", "high"];

impl Profile {
    /// Reads one: keys for all severities, and under `low` and `high` what is laid over them.
    pub(super) fn read(name: &str, pairs: Pairs<Json>, at: &str) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        if !is_name(name) {
            let reason = "a profile's name has letters, digits, `_`, `-` and `.` only";
            problems.add(Problem::of(at, name, reason));
        }
        let mut profile = Self {
            name: name.to_owned(),
            aliases: Vec::new(),
            category: Category::Stress,
            about: None,
            levels: Vec::new(),
            file: None,
        };
        let at = format!("{at}[{name}]");
        let (described, keys): (Vec<_>, Vec<_>) =
            pairs.0.into_iter().partition(|(key, _)| WORDS.contains(&key.as_str()));
        let described = Pairs(described);
        problems.0.extend(repeated(&described, &at).0);
        let common = problems.keep(values(&Pairs(keys), &at)).unwrap_or_default();
        for (word, json) in described.0 {
            let done = profile.describe(&word, &json, &at);
            problems.keep(done);
        }
        profile.levels.sort_by_key(|level| level.severity);
        if profile.levels.is_empty() {
            profile.levels.push(Level { severity: None, values: Values::default() });
        }
        for level in &mut profile.levels {
            level.values = std::mem::take(&mut level.values).over(common.clone());
        }
        // Together they must make sense too.
        if problems.0.is_empty() {
            for preset in profile.levels.iter().map(|level| profile.preset_at(level, &at)) {
                problems.keep(preset);
            }
        }
        problems.or(profile)
    }

    fn describe(&mut self, word: &str, json: &Json, at: &str) -> Result<(), Problems> {
        let expected = |what: &str| {
            let found = quoted(&json.to_string());
            Problems::from(Problem::of(at, word, format!("expected {what}, found {found}")))
        };
        match (word, json) {
            ("category", Json::String(text)) => {
                let known = Category::ALL.map(Category::as_str);
                let found = Category::ALL.into_iter().find(|one| one.as_str() == text);
                self.category = found.ok_or_else(|| {
                    let hint =
                        did_you_mean(text, known, &format!("known are {}", known.join(", ")));
                    Problems::from(Problem::of(at, word, format!("unknown category{hint}")))
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
                let pairs: Pairs<Json> =
                    serde_json::from_value(json.clone()).map_err(|_| expected("an object"))?;
                let values = values(&pairs, &format!("{at}[{word}]"))?;
                self.levels.push(Level { severity: word.parse().ok(), values });
            }
            ("low" | "high", _) => return Err(expected("an object of keys")),
            ("aliases", _) => return Err(expected("a list of names")),
            _ => return Err(expected("text")),
        }
        Ok(())
    }

    /// The level of this severity; where a profile has no levels, what it says at all.
    pub fn level(&self, severity: ScenarioSeverity) -> Option<&Level> {
        self.levels
            .iter()
            .find(|level| level.severity == Some(severity))
            .or_else(|| self.levels.iter().find(|level| level.severity.is_none()))
            .or_else(|| self.levels.last())
    }

    /// A preset of its own for each level.
    pub fn presets(&self, origin: PresetOrigin) -> Result<Vec<Preset>, Problems> {
        self.levels
            .iter()
            .map(|level| Ok(Preset { origin, ..self.preset_at(level, &self.name)? }))
            .collect()
    }

    /// The same, with settings laid over them. Where these say how hard, only that level is taken: the
    /// figures of another would belie its name.
    pub(super) fn presets_under(
        &self,
        settings: &Values,
        origin: PresetOrigin,
    ) -> Result<Vec<Preset>, Problems> {
        let levels: Vec<&Level> = match settings.scenario_severity {
            Some(severity) => self.level(severity).into_iter().collect(),
            None => self.levels.iter().collect(),
        };
        let preset = |level: &Level| {
            let own = Preset { origin, ..self.preset_at(level, &self.name)? };
            own.under(settings)
        };
        levels.into_iter().map(preset).collect()
    }

    fn preset_at(&self, level: &Level, at: &str) -> Result<Preset, Problems> {
        Preset::new(self.named(level), PresetOrigin::Profile, at)
    }

    /// What it says, with its name and severity.
    pub(super) fn named(&self, level: &Level) -> Values {
        let mut values = level.values.clone();
        values.scenario_name.get_or_insert_with(|| self.name.clone());
        values.scenario_severity = values.scenario_severity.or(level.severity);
        values
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}
