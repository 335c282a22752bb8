//! `menace presets validate`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use menace_scenario::preset::{self, PresetOrigin};
use menace_scenario::{Problem, Problems};

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::render::presets_json::ValidateJson;
use crate::render::units::counted;
use crate::render::{output, presets_table};

use super::read;

/// Check a file of presets: what cannot be used, and what changes nothing.
///
/// Everything that is wrong is told at once, with its place, key and reason, and the exit code is 2.
/// Keys that are right but without effect are warnings, and the exit code is 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets validate presets.json
  menace presets validate presets.json --format json | jq '.warnings'")]
pub(super) struct Validate {
    /// A JSON list of presets, one preset, or a mapping of scenarios to `low` and `high`.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Validate {
    pub(super) fn run(self, global: &Global) -> Result<(), Failure> {
        Context::new(global, Flags::new())?;
        let name = self.file.display().to_string();
        match preset::read_placed(&read(&self.file)?, &name, PresetOrigin::StaticFile) {
            Ok(presets) => {
                let found = ValidateJson::new(&name, &presets);
                match self.format {
                    Format::Json => output::print_json(&found)?,
                    Format::Table => output::print(&presets_table::validated(&found, &presets))?,
                }
                Ok(())
            }
            Err(problems) => self.refuse(&name, problems),
        }
    }

    fn refuse(&self, name: &str, problems: Problems) -> Result<(), Failure> {
        if self.format == Format::Table {
            return Err(Failure::request(problems));
        }
        let errors: &[Problem] = &problems.0;
        output::print_json(&ValidateJson::refused(name, errors))?;
        Err(Failure::Request(anyhow!("{} in `{name}`", counted(errors.len(), "problem"))))
    }
}
