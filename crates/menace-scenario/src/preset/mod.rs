//! Presets: limits, faults, network conditions and inputs of calls, and where they come from.
//!
//! | module | content |
//! |---|---|
//! | `keys` | the table of all keys; reading, writing and documentation use it |
//! | `failure_modes` | the effect of each failure mode, and its rate at each severity |
//! | `read` | JSON → presets, or all problems |
//! | `call_settings` | the settings over presets: whose value holds |
//! | `conditions` | a preset → limits and conditions of a call |
//! | `ineffective` | keys without effect, limits that an outcome does not report |
//! | `profile`, `profiles`, `profiles.json` | named parts of presets, built-in and the user's |
//! | `generate` | presets from profiles and the seed |
//! | `keyword`, `scenario_gaps` | profiles that a module needs, and scenarios that it missed |
//! | `selection` | which presets a run has |
//! | `reference` | the tables of `docs/scenarios.md` |
//!
//! Invariant: the values of a [`Preset`] are in their ranges and consistent with each other.

mod call_settings;
mod conditions;
mod failure_modes;
mod generate;
mod har;
mod ineffective;
mod keys;
mod keyword;
mod mocks;
mod profile;
mod profiles;
mod read;
mod reference;
mod scenario_gaps;
mod selection;
mod values;

use menace_model::{FailureMode, InputStrategy, MockResponse, ScenarioSeverity};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::config::{ConfigError, ConfigProblem};
use crate::input::ThreatIntensity;

pub use call_settings::CallSettings;
pub use failure_modes::{FAILURE_MODES, FailureModeEffect, FailureModeInfo};
pub use generate::{PresetRequest, generate_presets};
pub use ineffective::{IneffectiveKey, find_unreported_limits};
pub use keys::{PRESET_KEYS, PresetKey, PresetValues, find_key};
pub use keyword::{profiles_for, split_path_words};
pub use mocks::read_mocks;
pub use profile::{PresetProfile, ProfileCategory, ProfileLevel};
pub use profiles::{CANONICAL_PROFILES, ProfileCatalog, TRAJECTORY_STAGES, WORKFLOW_SCENARIOS};
pub use read::{LocatedPreset, read_located_presets, read_presets, read_single_preset};
pub use reference::render_markdown;
pub use scenario_gaps::{MissingScenariosError, ScenarioGap, find_scenario_gaps, missing_presets};
pub use selection::{PresetFile, PresetSelection};

const DEFAULT_THREAT_INTENSITY: f64 = 0.5;
/// Memory that bounds oversized inputs when no limit is set.
const DEFAULT_MEMORY_BYTES: u64 = 512 << 20;
const UNNAMED_PRESET: &str = "unnamed";

/// The conditions of calls. Serialized as a JSON object of its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    values: PresetValues,
    /// Mocked upstream answers; none when the preset has no `NETWORK_MOCKS`.
    pub mocks: Option<Vec<MockResponse>>,
    pub origin: PresetOrigin,
}

impl Preset {
    /// Checks values that depend on each other; `at` is their place in a file.
    pub fn new(values: PresetValues, origin: PresetOrigin, at: &str) -> Result<Self, ConfigError> {
        let mut problems = ConfigError::default();
        if let (Some(min), Some(max)) = (values.min_bandwidth, values.max_bandwidth)
            && min > max
        {
            let reason = "it is above MAX_BANDWIDTH: lower it or raise that";
            problems.add(ConfigProblem::for_key(at, "MIN_BANDWIDTH", reason));
        }
        let mocks = match &values.network_mocks {
            Some(records) => problems.collect_ok(mocks::read_mocks(&records.0, at).map(Some)),
            None => Some(None),
        };
        problems.into_result(mocks.unwrap_or_default()).map(|mocks| Self { values, mocks, origin })
    }

    /// A preset without conditions.
    pub fn empty(origin: PresetOrigin) -> Self {
        Self { values: PresetValues::default(), mocks: None, origin }
    }

    /// The preset with the settings laid over it. A canonical scenario keeps its failure modes and
    /// strategies; those of the settings are added.
    pub fn with_settings(&self, settings: &CallSettings) -> Result<Self, ConfigError> {
        let values = if self.origin.is_canonical() {
            let settings = settings.added_to(self.failure_modes(), &self.strategies());
            settings.layered_over(self.values.clone())
        } else {
            settings.layered_over(self.values.clone())
        };
        for key in PRESET_KEYS {
            let (own, set) = (key.value_text(&self.values), key.value_text(&values));
            if set != own {
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
        Self::new(values, self.origin, "settings")
    }

    pub fn values(&self) -> &PresetValues {
        &self.values
    }

    pub fn name(&self) -> &str {
        self.values.scenario_name.as_deref().unwrap_or(UNNAMED_PRESET)
    }

    /// `None` if the preset has no severity.
    pub fn severity(&self) -> Option<ScenarioSeverity> {
        self.values.scenario_severity
    }

    pub fn failure_modes(&self) -> &[FailureMode] {
        self.values.failure_modes.as_deref().unwrap_or_default()
    }

    pub fn has_mode(&self, mode: FailureMode) -> bool {
        self.failure_modes().contains(&mode)
    }

    /// Input strategies, used in turns; empty for the default ones.
    pub fn strategies(&self) -> Vec<InputStrategy> {
        match &self.values.stub_strategy {
            Some(strategies) => strategies.clone(),
            None => self
                .failure_modes()
                .iter()
                .filter_map(|mode| failure_modes::implied_strategy(*mode))
                .collect(),
        }
    }

    /// How aggressive inputs are, from 0 to 1.
    pub fn threat_intensity(&self) -> f64 {
        self.values
            .threat_intensity
            .map_or(DEFAULT_THREAT_INTENSITY, menace_settings::PercentShare::fraction)
    }

    /// Threat intensity and the memory that bounds oversized inputs.
    pub fn threat_settings(&self) -> ThreatIntensity {
        let memory = self.limits_and_conditions(0).0.memory_bytes.unwrap_or(DEFAULT_MEMORY_BYTES);
        ThreatIntensity::new(self.threat_intensity(), memory)
    }

    /// Keys of this preset that no backend implements yet.
    pub fn unsupported_keys(&self) -> Vec<&'static str> {
        let PresetValues { gpu_limit, os_type, container_image, vm_settings, .. } = &self.values;
        let is_elsewhere = os_type.is_some_and(|os| os != menace_settings::GuestOsType::Linux);
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

impl Serialize for PresetValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in PRESET_KEYS {
            if let Some(value) = key.value_json(self) {
                map.serialize_entry(key.name, &value)?;
            }
        }
        map.end()
    }
}

menace_model::named_enum! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PresetOrigin {
        StaticFile = "static file",
        /// Given on the command line, or in `SANDBOX_ENV_PRESETS`.
        UserProvided = "given",
        Generated = "generated",
        Canonical = "canonical",
        /// A profile without changes.
        Profile = "profile",
        /// Added because of words in a module's path.
        Keyword = "keyword",
        /// A canonical scenario that a module lacked.
        Added = "added",
    }
}

impl PresetOrigin {
    /// Is it one of the scenarios that every module must go through?
    pub(super) fn is_canonical(self) -> bool {
        matches!(self, Self::Canonical | Self::Added)
    }
}
