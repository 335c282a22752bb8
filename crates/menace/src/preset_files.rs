//! Files about presets that the user names: profiles, answers of upstreams, recordings; and where
//! presets are logged.

use std::fs;
use std::io::ErrorKind;
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

/// A file that the user named: it may be a pipe of the shell.
#[expect(clippy::disallowed_methods, reason = "no file of a checkout can name it")]
pub(crate) fn read_user_file(file: &Path) -> Result<String, CommandError> {
    fs::read_to_string(file)
        // Some editors begin a file with a mark that is no part of it.
        .map(|text| text.trim_start_matches('\u{feff}').to_owned())
        .with_context(|| format!("cannot read `{}`", file.display()))
        .map_err(CommandError::Request)
}

/// Answers that a file holds.
pub(crate) fn read_mocks(file: &Path) -> Result<Vec<MockResponse>, CommandError> {
    parse_mocks(file, &read_user_file(file)?)
}

fn parse_mocks(file: &Path, text: &str) -> Result<Vec<MockResponse>, CommandError> {
    let name = file.display().to_string();
    let json: Json = serde_json::from_str(text).map_err(|error| {
        CommandError::Request(anyhow::anyhow!("{name}: this is no JSON: {error}"))
    })?;
    preset::read_mocks(&json, &name).map_err(CommandError::request)
}

const MAX_RECORDINGS_BYTES: u64 = 64 << 20;

/// The recorded answers; empty if the default file does not exist.
pub(crate) fn read_recordings(settings: &Settings) -> Result<Vec<MockResponse>, CommandError> {
    let file = &settings.network.recordings;
    let read = if file.is_explicit() {
        menace_files::read_named_text(file, MAX_RECORDINGS_BYTES)
    } else {
        // In the data directory, which has been checked.
        let bytes = menace_files::read_file(file, MAX_RECORDINGS_BYTES);
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    match read {
        Ok(text) => parse_mocks(file, text.trim_start_matches('\u{feff}')),
        // A file in place of the data directory is an error of the command that opens it.
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                && !file.is_explicit() =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(CommandError::Request(
            anyhow::Error::new(error).context(format!("cannot read `{}`", file.display())),
        )),
    }
}
