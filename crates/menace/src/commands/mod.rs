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

use crate::args::{Arguments, Command};
use crate::exit::Failure;

pub(crate) fn dispatch(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { global, command } = arguments;
    match command {
        Command::Run(command) => command.run(&global),
        Command::Report(command) => command.run(&global),
        Command::Dashboard(command) => command.run(&global),
        Command::Failures(command) => command.run(&global),
        Command::Show(command) => command.run(&global),
        Command::Repro(command) => command.run(&global),
        Command::Shrink(command) => command.run(&global),
        Command::ExportTests(command) => command.run(&global),
        Command::Explain(command) => command.run(&global),
        Command::Rank(command) => command.run(&global),
        Command::Roi(command) => command.run(&global),
        Command::Synergy(command) => command.run(&global),
        Command::Analyze(command) => command.run(&global),
        Command::Exec(command) => command.run(&global),
        Command::Inputs(command) => command.run(&global),
        Command::Presets(command) => command.run(&global),
        Command::Doctor(command) => command.run(&global),
        Command::Settings(command) => command.run(&global),
        Command::Env(command) => command.run(),
    }
}
