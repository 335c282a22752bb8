//! One file per verb.

pub(crate) mod analyze;
pub(crate) mod dashboard;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod export_tests;
pub(crate) mod failures;
pub(crate) mod inputs;
pub(crate) mod presets;
pub(crate) mod rank;
pub(crate) mod report;
pub(crate) mod repro;
pub(crate) mod roi;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod synergy;
pub(crate) mod trust;

use crate::args::{CommandLineArgs, MenaceCommand};
use crate::exit::CommandError;

pub(crate) fn dispatch(arguments: CommandLineArgs) -> Result<(), CommandError> {
    let CommandLineArgs { global, command } = arguments;
    match command {
        MenaceCommand::Run(command) => command.run(&global),
        MenaceCommand::Report(command) => command.run(&global),
        MenaceCommand::Dashboard(command) => command.run(&global),
        MenaceCommand::Failures(command) => command.run(&global),
        MenaceCommand::Show(command) => command.run(&global),
        MenaceCommand::Repro(command) => command.run(&global),
        MenaceCommand::Shrink(command) => command.run(&global),
        MenaceCommand::ExportTests(command) => command.run(&global),
        MenaceCommand::Explain(command) => command.run(&global),
        MenaceCommand::Rank(command) => command.run(&global),
        MenaceCommand::Roi(command) => command.run(&global),
        MenaceCommand::Synergy(command) => command.run(&global),
        MenaceCommand::Analyze(command) => command.run(&global),
        MenaceCommand::Exec(command) => command.run(&global),
        MenaceCommand::Inputs(command) => command.run(&global),
        MenaceCommand::Presets(command) => command.run(&global),
        MenaceCommand::Doctor(command) => command.run(&global),
        MenaceCommand::Settings(command) => command.run(&global),
        MenaceCommand::Env(command) => command.run(),
        MenaceCommand::Trust(command) => command.run(&global),
    }
}
