//! `menace settings`: what is in effect, and why.

use clap::Args;
use serde::Serialize;

use menace_settings::{SettingEntry, SettingsWarning, reference_markdown};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::CommandContext;
use crate::exit::CommandError;
use crate::render::{output, settings_table};
use crate::setting_flags::SettingFlags;

/// Show every setting with its effective value and where it came from.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace settings                         all settings in effect
  menace settings --set                   only those that are set
  TIMEOUT=5 menace settings --format json the same for machines
  menace settings --markdown              the reference page")]
pub(crate) struct SettingsCommand {
    /// Only settings whose value is not the default.
    #[arg(long)]
    set: bool,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,

    /// Print the reference of all settings as Markdown.
    #[arg(long, conflicts_with_all = ["format", "set"])]
    markdown: bool,

    #[command(flatten)]
    flags: SettingFlags,
}

#[derive(Debug, Serialize)]
struct SettingsJson<'a> {
    version: u32,
    settings: Vec<SettingEntry>,
    warnings: &'a [SettingsWarning],
}

impl SettingsCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        if self.markdown {
            return Ok(output::print(&reference_markdown())?);
        }
        let context = CommandContext::new(global, self.flags.0)?;
        let wanted = |entry: &SettingEntry| !self.set || entry.origin.is_explicit();
        let settings: Vec<SettingEntry> = context.settings.entries().filter(wanted).collect();
        match self.format {
            OutputFormat::Table => output::print(&settings_table::render(&settings))?,
            OutputFormat::Json => output::print_json(&SettingsJson {
                version: 1,
                settings,
                warnings: &context.settings.warnings,
            })?,
        }
        Ok(())
    }
}
