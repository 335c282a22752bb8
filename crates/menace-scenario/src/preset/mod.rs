//! Presets: what a call is held to and troubled with, and where such lists of conditions come from.
//!
//! | room | what is in it |
//! |---|---|
//! | `keys` | the table of every key, from which reading, writing and the documentation follow |
//! | `modes` | the failure modes: what they do, how often at which severity |
//! | `read` | JSON → presets, with everything that is wrong |
//! | `conditions` | a preset → limits and conditions of a call |
//! | `oddity` | keys that change nothing |
//! | `profile`, `profiles`, `profiles.json` | named parts of presets, built-in and the user's |
//! | `generate` | presets from profiles and chance |
//! | `keyword`, `coverage` | which profiles a module needs, and which it did not get |
//! | `choose` | which presets a run has |
//! | `reference` | the tables of `docs/scenarios.md` |
//!
//! Invariant: a [`Preset`] holds values in their range that fit together.

mod choose;
mod conditions;
mod coverage;
mod generate;
mod har;
mod key;
mod keys;
mod keyword;
mod mocks;
mod modes;
mod oddity;
mod origin;
mod profile;
mod profiles;
mod read;
mod reference;
mod unanswered;
mod values;

use menace_model::Mock;
use menace_settings::{FailureMode, ScenarioSeverity, StubStrategy};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::input::Threat;
use crate::{Problem, Problems};

pub use choose::{Choice, PresetFile};
pub use conditions::{Interposed, Isolation};
pub use coverage::{Gap, MissingScenarios, gaps, missing};
pub use generate::{Wanted, generate};
pub use key::Key;
pub use keys::{KEYS, Values, key};
pub use keyword::{profiles_for, words};
pub use mocks::mocks;
pub use modes::{Effect, MODES, Mode};
pub use oddity::Oddity;
pub use origin::PresetOrigin;
pub use profile::{Category, Level, Profile};
pub use profiles::{CANONICAL, Profiles, SCENARIOS, TRAJECTORY};
pub use read::{Placed, read, read_one, read_placed};
pub use reference::markdown;
pub use unanswered::unanswered;

const DEFAULT_THREAT: f64 = 0.5;
/// What oversized inputs are measured against when no limit is set.
const DEFAULT_MEMORY: u64 = 512 << 20;
/// For a preset that nobody named.
const UNNAMED: &str = "unnamed";

/// What a call is put through. Written as a JSON object of its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    values: Values,
    /// Who answers when the section calls out; none when nobody asked for answers.
    pub mocks: Option<Vec<Mock>>,
    pub origin: PresetOrigin,
}

impl Preset {
    /// Checks what only several values together can get wrong; `at` is where they stand.
    pub fn new(values: Values, origin: PresetOrigin, at: &str) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        if let (Some(min), Some(max)) = (values.min_bandwidth, values.max_bandwidth)
            && min > max
        {
            let reason = "it is above MAX_BANDWIDTH: lower it or raise that";
            problems.add(Problem::of(at, "MIN_BANDWIDTH", reason));
        }
        let mocks = match &values.network_mocks {
            Some(records) => problems.keep(mocks::mocks(&records.0, at).map(Some)),
            None => Some(None),
        };
        problems.or(mocks.unwrap_or_default()).map(|mocks| Self { values, mocks, origin })
    }

    /// No conditions at all.
    pub fn empty(origin: PresetOrigin) -> Self {
        Self { values: Values::default(), mocks: None, origin }
    }

    /// The same, with what the settings say about calls laid over it. A canonical scenario stays what it
    /// is about: failure modes and ways to make inputs of the settings come on top of its own.
    pub fn under(&self, settings: &Values) -> Result<Self, Problems> {
        let mut settings = settings.clone();
        if self.origin.is_canonical() {
            let strategies = self.strategies();
            settings = settings.beside(self.failure_modes(), &strategies);
        }
        for key in KEYS {
            let (own, set) = (key.text(&self.values), key.text(&settings));
            if set.is_some() && set != own {
                tracing::debug!(
                    target: "menace_scenario::preset",
                    preset = self.name(),
                    key = key.name,
                    value = set.unwrap_or_default(),
                    instead_of = own.unwrap_or_default(),
                    "a setting overrides the preset"
                );
            }
        }
        Self::new(settings.over(self.values.clone()), self.origin, "settings")
    }

    pub fn values(&self) -> &Values {
        &self.values
    }

    pub fn name(&self) -> &str {
        self.values.scenario_name.as_deref().unwrap_or(UNNAMED)
    }

    /// None for what is neither.
    pub fn severity(&self) -> Option<ScenarioSeverity> {
        self.values.scenario_severity
    }

    pub fn failure_modes(&self) -> &[FailureMode] {
        self.values.failure_modes.as_deref().unwrap_or_default()
    }

    pub fn has(&self, mode: FailureMode) -> bool {
        self.failure_modes().contains(&mode)
    }

    /// Ways to make inputs, to be taken in turns; none when all are to be used as usual.
    pub fn strategies(&self) -> Vec<StubStrategy> {
        match &self.values.stub_strategy {
            Some(strategies) => strategies.clone(),
            None => self.failure_modes().iter().filter_map(|mode| modes::implied(*mode)).collect(),
        }
    }

    /// How aggressive inputs are, from 0 to 1.
    pub fn threat_intensity(&self) -> f64 {
        self.values.threat_intensity.map_or(DEFAULT_THREAT, menace_settings::Percent::fraction)
    }

    /// How bad its inputs are, and against how much memory.
    pub fn threat(&self) -> Threat {
        let memory = self.conditions(0).0.memory_bytes.unwrap_or(DEFAULT_MEMORY);
        Threat::new(self.threat_intensity(), memory)
    }

    /// Keys that were given and that no sandbox of this kind can meet.
    pub fn unmet(&self) -> Vec<&'static str> {
        let Values { gpu_limit, os_type, container_image, vm_settings, .. } = &self.values;
        let is_elsewhere = os_type.is_some_and(|os| os != menace_settings::OsType::Linux);
        [
            (gpu_limit.is_some_and(|count| count.get() > 0), "GPU_LIMIT"),
            (is_elsewhere, "OS_TYPE"),
            (container_image.is_some(), "CONTAINER_IMAGE"),
            (vm_settings.is_some(), "VM_SETTINGS"),
        ]
        .into_iter()
        .filter_map(|(given, key)| given.then_some(key))
        .collect()
    }
}

impl Serialize for Preset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in KEYS {
            if let Some(value) = key.json(self) {
                map.serialize_entry(key.name, &value)?;
            }
        }
        map.end()
    }
}
