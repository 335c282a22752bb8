//! `menace presets validate`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use menace_model::format_count;
use menace_scenario::preset::{self, PresetOrigin};
use menace_scenario::{ConfigError, ConfigProblem};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::preset_files::read_user_file;
use crate::render::presets_json::PresetCheckJson;
use crate::render::{output, presets_table};

/// Check a file of presets: what cannot be used, and what changes nothing.
///
/// Everything that is wrong is reported at once, with its place, key and reason, and the exit code
/// is 2. Keys that are right but without effect are warnings, and the exit code is 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets validate presets.json
  menace presets validate presets.json --format json | jq '.warnings'")]
pub(super) struct ValidatePresetsCommand {
    /// A JSON list of presets, one preset, or a mapping of scenarios to `low` and `high`.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl ValidatePresetsCommand {
    pub(super) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        CommandContext::new(global, FlagValues::new())?;
        let name = self.file.display().to_string();
        match preset::read_located_presets(
            &read_user_file(&self.file)?,
            &name,
            PresetOrigin::StaticFile,
        ) {
            Ok(presets) => {
                let found = PresetCheckJson::new(&name, &presets);
                match self.format {
                    OutputFormat::Json => output::print_json(&found)?,
                    OutputFormat::Table => {
                        output::print(&presets_table::render_check(&found, &presets))?;
                    }
                }
                Ok(())
            }
            Err(problems) => self.report_problems(&name, problems),
        }
    }

    fn report_problems(&self, name: &str, problems: ConfigError) -> Result<(), CommandError> {
        if self.format == OutputFormat::Table {
            return Err(CommandError::request(problems));
        }
        let errors: &[ConfigProblem] = &problems.0;
        output::print_json(&PresetCheckJson::from_errors(name, errors))?;
        Err(CommandError::Request(anyhow!("{} in `{name}`", format_count(errors.len(), "problem"))))
    }
}
