//! `menace presets list`.

use std::path::PathBuf;

use clap::Args;

use menace_scenario::preset::markdown;

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::render::presets_json::ListJson;
use crate::render::{output, presets_table};

use super::profiles;

/// List every profile, and the words in a module's path that call for one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets list
  menace presets list --profile-file mine.json --format json | jq -r '.profiles[].name'")]
pub(super) struct List {
    /// A JSON file with profiles of your own; may be given more than once.
    #[arg(long, value_name = "FILE")]
    profile_file: Vec<PathBuf>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Print the tables of all keys, failure modes and profiles as Markdown.
    #[arg(long, conflicts_with_all = ["format", "profile_file"])]
    markdown: bool,
}

impl List {
    pub(super) fn run(self, global: &Global) -> Result<(), Failure> {
        if self.markdown {
            output::print(&markdown())?;
            return Ok(());
        }
        let context = Context::new(global, Flags::new())?;
        let profiles = profiles(&context.settings, &self.profile_file)?;
        let keywords = context.settings.presets.profiles_by_keyword();
        profiles.check(&keywords).map_err(Failure::request)?;
        match self.format {
            Format::Json => output::print_json(&ListJson::new(&profiles, &keywords))?,
            Format::Table => output::print(&presets_table::list(&profiles, &keywords))?,
        }
        Ok(())
    }
}
