//! `menace presets`: what calls can be put through.

mod generate;
mod list;
mod show;
mod validate;

use clap::{Args, Subcommand};

use crate::args::GlobalArgs;
use crate::exit::CommandError;

/// Generate, show and check presets: the limits and faults of calls.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace presets list
  menace presets generate --profiles hostile_input concurrency_spike --count 1 --out presets.json
  menace presets validate presets.json

docs/scenarios.md explains every key, failure mode and profile.")]
pub(crate) struct PresetsCommand {
    #[command(subcommand)]
    action: PresetsAction,
}

#[derive(Debug, Subcommand)]
enum PresetsAction {
    Generate(generate::GeneratePresetsCommand),
    List(list::ListPresetsCommand),
    Show(show::ShowPresetCommand),
    Validate(validate::ValidatePresetsCommand),
}

impl PresetsCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        match self.action {
            PresetsAction::Generate(command) => command.run(global),
            PresetsAction::List(command) => command.run(global),
            PresetsAction::Show(command) => command.run(global),
            PresetsAction::Validate(command) => command.run(global),
        }
    }
}
