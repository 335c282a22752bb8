//! `menace presets show`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::preset_files::read_profiles;
use crate::render::presets_json::ProfileDetailJson;
use crate::render::{output, presets_table};

/// Show one profile: every key that it sets, what that means and what holds it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets show flaky_upstream
  menace presets show high_latency+resource_strain:low
  menace presets show mine --profile-file mine.json --format json")]
pub(super) struct ShowPresetCommand {
    /// The profile, by any of its names; as for `exec --preset`, one severity of it (`name:low`) or
    /// several together (`one+other`).
    #[arg(value_name = "NAME")]
    name: String,

    /// A JSON file with profiles of your own; may be given more than once.
    #[arg(long, value_name = "FILE")]
    profile_file: Vec<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl ShowPresetCommand {
    pub(super) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let profiles = read_profiles(&context.settings, &self.profile_file)?;
        let profile =
            &profiles.parse_profile(&self.name, "presets show").map_err(CommandError::request)?;
        match self.format {
            OutputFormat::Json => output::print_json(&ProfileDetailJson::new(profile))?,
            OutputFormat::Table => output::print(&presets_table::render_profile(profile))?,
        }
        Ok(())
    }
}
