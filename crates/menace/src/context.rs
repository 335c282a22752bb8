//! What every command starts from: the settings in effect, with the logs set up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use menace_scenario::preset::{self, PresetOrigin};
use menace_settings::{Settings, Sources};

use crate::args::Global;
use crate::exit::Failure;
use crate::logs;

/// Flags as the settings know them: name as typed, value as text.
pub(crate) type Flags = BTreeMap<String, String>;

#[derive(Debug)]
pub(crate) struct Context {
    pub settings: Settings,
    /// `PATH`, for finding the user's tools.
    pub search_path: Option<String>,
    /// `HOME`, where version managers keep their files.
    pub home: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, else `~/.cache`; what Menace keeps there is the business of `cache`.
    pub cache_home: Option<PathBuf>,
}

impl Context {
    /// Resolves the settings, starts the logs, and tells what is odd about the settings.
    pub(crate) fn new(global: &Global, mut flags: Flags) -> Result<Self, Failure> {
        let Global { log_level, verbose, log_file, settings_yaml, sandbox_data_dir } = global;
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
        let sources = Sources::load(flags, &cwd).map_err(Failure::request)?;
        let settings = Settings::resolve(&sources).map_err(Failure::request)?;
        if let Some(presets) = &settings.presets.env_presets.value {
            // Here, so that a mistake is told at once and not when a run gets to them.
            let text = presets.0.to_string();
            preset::read(&text, "SANDBOX_ENV_PRESETS", PresetOrigin::Given)
                .map_err(Failure::request)?;
        }
        logs::start(&settings).map_err(Failure::request)?;
        for warning in &settings.warnings {
            tracing::warn!("{warning}");
        }
        let search_path = sources.environment.get("PATH").cloned();
        let (home, cache_home) = (sources.home(), sources.cache_home());
        Ok(Self { settings, search_path, home, cache_home })
    }
}
