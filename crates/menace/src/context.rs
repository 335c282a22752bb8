//! The context of every command: the settings in effect, with the logs set up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use menace_scenario::preset::{self, PresetOrigin};
use menace_settings::{Settings, SettingsSources};

use crate::args::GlobalArgs;
use crate::data_dir;
use crate::exit::CommandError;
use crate::logs;

/// Flags as the settings know them: name as typed, value as text.
pub(crate) type FlagValues = BTreeMap<String, String>;

#[derive(Debug)]
pub(crate) struct CommandContext {
    pub settings: Settings,
    /// `PATH`, for finding the user's tools.
    pub search_path: Option<String>,
    /// `HOME`, where version managers keep their files.
    pub home: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, else `~/.cache`; the module `cache` manages Menace's directory in there.
    pub cache_home: Option<PathBuf>,
}

impl CommandContext {
    /// Resolves the settings, sets up the logs, and prints warnings about the settings.
    pub(crate) fn new(global: &GlobalArgs, mut flags: FlagValues) -> Result<Self, CommandError> {
        let GlobalArgs { log_level, verbose, log_file, settings_yaml, sandbox_data_dir } = global;
        let mut set = |name: &str, value: Option<&String>| {
            if let Some(value) = value {
                flags.insert(name.to_owned(), value.clone());
            }
        };
        set("--log-level", log_level.as_ref());
        set("--verbose", verbose.then(|| "1".to_owned()).as_ref());
        set("--log-file", log_file.as_ref());
        set("--settings-yaml", settings_yaml.as_ref());
        set("--sandbox-data-dir", sandbox_data_dir.as_ref());

        let cwd = std::env::current_dir().context("cannot tell the working directory")?;
        let sources = SettingsSources::load(flags, &cwd).map_err(CommandError::request)?;
        let settings = Settings::resolve(&sources).map_err(CommandError::request)?;
        if let Some(presets) = &settings.presets.env_presets.value {
            // Checked here, so that an error is reported at once and not when a run uses the
            // presets.
            let text = presets.0.to_string();
            preset::read_presets(&text, "SANDBOX_ENV_PRESETS", PresetOrigin::UserProvided)
                .map_err(CommandError::request)?;
        }
        logs::start(&settings).map_err(CommandError::request)?;
        data_dir::check_data_dir_entries(&settings)?;
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let search_path = sources.environment.get("PATH").cloned();
        let (home, cache_home) = (sources.home(), sources.cache_home());
        Ok(Self { settings, search_path, home, cache_home })
    }
}
