//! `menace presets show`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::render::presets_json::ShowJson;
use crate::render::{output, presets_table};

use super::profiles;

/// Show one profile: every key that it sets, what that means and what holds it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets show flaky_upstream
  menace presets show high_latency+resource_strain:low
  menace presets show mine --profile-file mine.json --format json")]
pub(super) struct Show {
    /// The profile, by any of its names; as for `exec --preset`, one severity of it (`name:low`) or
    /// several together (`one+other`).
    #[arg(value_name = "NAME")]
    name: String,

    /// A JSON file with profiles of your own; may be given more than once.
    #[arg(long, value_name = "FILE")]
    profile_file: Vec<PathBuf>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Show {
    pub(super) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, Flags::new())?;
        let profiles = profiles(&context.settings, &self.profile_file)?;
        let profile = &profiles.profile(&self.name, "presets show").map_err(Failure::request)?;
        match self.format {
            Format::Json => output::print_json(&ShowJson::new(profile))?,
            Format::Table => output::print(&presets_table::profile(profile))?,
        }
        Ok(())
    }
}
