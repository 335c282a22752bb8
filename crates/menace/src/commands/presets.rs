//! `menace presets`: what calls can be put through.

mod generate;
mod list;
mod show;
mod validate;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use serde_json::Value as Json;

use menace_model::Mock;
use menace_scenario::preset::{self, Profiles};
use menace_settings::Settings;

use crate::args::Global;
use crate::exit::Failure;

/// Make, look at and check presets: what calls are held to and troubled with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets list
  menace presets generate --profiles hostile_input concurrency_spike --count 1 --out presets.json
  menace presets validate presets.json

docs/scenarios.md explains every key, failure mode and profile.")]
pub(crate) struct Presets {
    #[command(subcommand)]
    action: Action,
}

/// Where presets are logged.
#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// Log how each preset comes about.
    #[arg(long)]
    preset_debug: bool,

    /// Write that to this file too.
    #[arg(long, value_name = "FILE")]
    debug_log_file: Option<String>,
}

impl LogArgs {
    pub(super) fn flags(&self) -> impl Iterator<Item = (String, String)> {
        let debug = self.preset_debug.then(|| ("--preset-debug".to_owned(), "1".to_owned()));
        let file = self.debug_log_file.clone().map(|file| ("--debug-log-file".to_owned(), file));
        debug.into_iter().chain(file)
    }
}

#[derive(Debug, Subcommand)]
enum Action {
    Generate(generate::Generate),
    List(list::List),
    Show(show::Show),
    Validate(validate::Validate),
}

impl Presets {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        match self.action {
            Action::Generate(command) => command.run(global),
            Action::List(command) => command.run(global),
            Action::Show(command) => command.run(global),
            Action::Validate(command) => command.run(global),
        }
    }
}

/// The built-in profiles and over them those of the user's files.
pub(super) fn profiles(settings: &Settings, files: &[PathBuf]) -> Result<Profiles, Failure> {
    let mut profiles = Profiles::built_in();
    let of_settings = settings.presets.profiles.iter().flatten();
    for file in of_settings.chain(files) {
        let text = read(file)?;
        let name = file.display().to_string();
        for replaced in profiles.add(&text, &name).map_err(Failure::request)? {
            tracing::warn!("{name}: `{replaced}` takes the place of another profile of that name");
        }
    }
    Ok(profiles)
}

/// A file that the user named.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file)
        // Some editors begin a file with a mark that is no part of it.
        .map(|text| text.trim_start_matches('\u{feff}').to_owned())
        .with_context(|| format!("cannot read `{}`", file.display()))
        .map_err(Failure::Request)
}

/// Answers that a file holds.
pub(super) fn answers(file: &Path) -> Result<Vec<Mock>, Failure> {
    let name = file.display().to_string();
    let json: Json = serde_json::from_str(&read(file)?)
        .map_err(|error| Failure::Request(anyhow::anyhow!("{name}: this is no JSON: {error}")))?;
    preset::mocks(&json, &name).map_err(Failure::request)
}

/// What others answered once; none when the usual file is not there.
pub(super) fn recordings(settings: &Settings) -> Result<Vec<Mock>, Failure> {
    let file = &settings.network.recordings;
    if file.is_explicit() || file.exists() { answers(file) } else { Ok(Vec::new()) }
}
