//! Where presets come from and how they adapt.

use std::path::PathBuf;

use menace_model::ScenarioSeverity;

use crate::group::group;
use crate::{JsonRecords, KeywordProfiles, LearningStrategy, PresetMode};

group! {
    /// Where presets come from and how they adapt.
    pub struct PresetSettings = "Presets" {
        /// Presets given directly, as a JSON list; each section runs under every one of them.
        env_presets: Option<JsonRecords> = "SANDBOX_ENV_PRESETS".preset_records();

        /// Generate presets when none are given. Off, there is a single empty one.
        generate: bool = "SANDBOX_GENERATE_PRESETS".repository().default("1");

        /// Whether generated presets are random or the fixed canonical set.
        mode: PresetMode = "SANDBOX_PRESET_MODE".repository().default("random");

        /// Treat a module that skipped a canonical scenario as an error.
        fail_on_missing_scenarios: bool = "SANDBOX_FAIL_ON_MISSING_SCENARIOS"
            .repository().default("0");

        /// The name under which results are filed, in place of the preset's own.
        scenario_name: Option<String> = "SCENARIO_NAME".repository();

        /// How hard the scenario is: decides how often its faults are injected.
        scenario_severity: Option<ScenarioSeverity> = "SCENARIO_SEVERITY".repository();

        /// JSON files with profiles of your own, laid over the built-in ones.
        profiles: Option<Vec<PathBuf>> = "SANDBOX_PRESET_PROFILES".user();

        /// The file that keeps the learnt policy for adapting presets.
        rl_path: PathBuf = "SANDBOX_PRESET_RL_PATH".path_inside()
            .default_in_data_dir("sandbox_data/preset_policy.json").planned();

        /// How that policy learns.
        rl_strategy: LearningStrategy = "SANDBOX_PRESET_RL_STRATEGY"
            .repository().default("q_learning")
            .planned();

        /// The file that keeps the adaptive agent's state; the agent is used only when it is set.
        adaptive_agent_path: Option<PathBuf> = "SANDBOX_ADAPTIVE_AGENT_PATH".user().planned();

        /// How the adaptive agent learns.
        adaptive_agent_strategy: LearningStrategy = "SANDBOX_ADAPTIVE_AGENT_STRATEGY".repository()
            .default("q_learning").planned();

        /// Log every decision that changes a preset.
        debug: bool = "PRESET_DEBUG".repository().default("0").flags(&["--preset-debug"]);

        /// A file that gets these messages, whether they are shown or not. It is rotated as the log
        /// file is.
        debug_log_file: Option<PathBuf> = "PRESET_DEBUG_LOG_FILE"
            .user().flags(&["--debug-log-file"]);

        /// Words in a module's path and the profiles that they call for, laid over the built-in
        /// words; an empty list takes a word away.
        keyword_profiles: Option<KeywordProfiles> = "keyword_profiles".repository().yaml_only();
    }
}

impl PresetSettings {
    /// The profiles by keyword: the user's over the built-in ones.
    pub fn profiles_by_keyword(&self) -> KeywordProfiles {
        self.keyword_profiles.value.clone().unwrap_or_default()
    }
}
