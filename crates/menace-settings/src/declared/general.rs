//! What is run, how often, and where its data goes.

use std::num::NonZeroU64;
use std::path::PathBuf;

use crate::group::group;

group! {
    /// What is run, how often, and where its data goes.
    pub struct GeneralSettings = "Runs and data" {
        /// The repository whose code is exercised. It is read in place; calls see a copy.
        repo_path: PathBuf = "SANDBOX_REPO_PATH".user().default(".").flags(&["--repo"]);

        /// The directory for everything that a run keeps: histories, presets, reports.
        data_dir: PathBuf = "SANDBOX_DATA_DIR".path_inside().default("sandbox_data")
            .flags(&["--sandbox-data-dir"]);

        /// The YAML file with settings. One that is named here must exist.
        settings_yaml: PathBuf = "SANDBOX_SETTINGS_YAML".path_inside()
            .default("sandbox_settings.yaml").flags(&["--settings-yaml"]);

        /// Start with a sandbox run the first time the program is launched.
        auto_sandbox: bool = "AUTO_SANDBOX".user().default("1").recommended("1").planned();

        /// How many cycles a run goes through at most, when `--runs` is not given.
        cycles: NonZeroU64 = "SANDBOX_CYCLES".at_most("5").default("1").recommended("5");

        /// How many times the orchestrator starts a run; `0` means until it is stopped.
        run_cycles: u64 = "RUN_CYCLES".user().default("0").recommended("0").planned();

        /// Skip the purge of what killed runs left behind, at the start of a command.
        skip_purge: bool = "MENACE_LIGHT_IMPORTS".user().default("0");
    }
}
