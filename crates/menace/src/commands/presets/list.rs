//! `menace presets list`.

use std::path::PathBuf;

use clap::Args;

use menace_scenario::preset::render_markdown;

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::preset_files::read_profiles;
use crate::render::presets_json::ProfileListJson;
use crate::render::{output, presets_table};

/// List every profile, and the words in a module's path that call for one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets list
  menace presets list --profile-file mine.json --format json | jq -r '.profiles[].name'")]
pub(super) struct ListPresetsCommand {
    /// A JSON file with profiles of your own; may be given more than once.
    #[arg(long, value_name = "FILE")]
    profile_file: Vec<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,

    /// Print the tables of all keys, failure modes and profiles as Markdown.
    #[arg(long, conflicts_with_all = ["format", "profile_file"])]
    markdown: bool,
}

impl ListPresetsCommand {
    pub(super) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        if self.markdown {
            output::print(&render_markdown())?;
            return Ok(());
        }
        let context = CommandContext::new(global, FlagValues::new())?;
        let profiles = read_profiles(&context.settings, &self.profile_file)?;
        let keywords = context.settings.presets.profiles_by_keyword();
        profiles.check_keywords(&keywords).map_err(CommandError::request)?;
        match self.format {
            OutputFormat::Json => output::print_json(&ProfileListJson::new(&profiles, &keywords))?,
            OutputFormat::Table => {
                output::print(&presets_table::render_profile_list(&profiles, &keywords))?;
            }
        }
        Ok(())
    }
}
