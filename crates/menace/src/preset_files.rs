//! Files about presets that the user names: profiles, answers of upstreams, recordings; and where
//! presets are logged.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use menace_model::MockResponse;
use menace_scenario::preset::{self, ProfileCatalog};
use menace_settings::Settings;
use serde_json::Value as Json;

use crate::exit::CommandError;

/// Where presets are logged.
#[derive(Debug, Args)]
pub(crate) struct PresetLogArgs {
    /// Log how each preset comes about.
    #[arg(long)]
    preset_debug: bool,

    /// Write that to this file too.
    #[arg(long, value_name = "FILE")]
    debug_log_file: Option<String>,
}

impl PresetLogArgs {
    pub(crate) fn flags(&self) -> impl Iterator<Item = (String, String)> {
        let debug = self.preset_debug.then(|| ("--preset-debug".to_owned(), "1".to_owned()));
        let file = self.debug_log_file.clone().map(|file| ("--debug-log-file".to_owned(), file));
        debug.into_iter().chain(file)
    }
}

/// The built-in profiles and over them those of the user's files.
pub(crate) fn read_profiles(
    settings: &Settings,
    files: &[PathBuf],
) -> Result<ProfileCatalog, CommandError> {
    let mut profiles = ProfileCatalog::built_in();
    let of_settings = settings.presets.profiles.iter().flatten();
    for file in of_settings.chain(files) {
        let text = read_user_file(file)?;
        let name = file.display().to_string();
        for replaced in profiles.add_file(&text, &name).map_err(CommandError::request)? {
            tracing::warn!("{name}: `{replaced}` takes the place of another profile of that name");
        }
    }
    Ok(profiles)
}

/// A file that the user named.
pub(crate) fn read_user_file(file: &Path) -> Result<String, CommandError> {
    fs::read_to_string(file)
        // Some editors begin a file with a mark that is no part of it.
        .map(|text| text.trim_start_matches('\u{feff}').to_owned())
        .with_context(|| format!("cannot read `{}`", file.display()))
        .map_err(CommandError::Request)
}

/// Answers that a file holds.
pub(crate) fn read_mocks(file: &Path) -> Result<Vec<MockResponse>, CommandError> {
    let name = file.display().to_string();
    let json: Json = serde_json::from_str(&read_user_file(file)?).map_err(|error| {
        CommandError::Request(anyhow::anyhow!("{name}: this is no JSON: {error}"))
    })?;
    preset::read_mocks(&json, &name).map_err(CommandError::request)
}

/// The recorded answers; empty if the default file does not exist.
pub(crate) fn read_recordings(settings: &Settings) -> Result<Vec<MockResponse>, CommandError> {
    let file = &settings.network.recordings;
    if file.is_explicit() || file.exists() { read_mocks(file) } else { Ok(Vec::new()) }
}
