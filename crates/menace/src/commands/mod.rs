//! One file per verb.

pub(crate) mod analyze;
pub(crate) mod doctor;
pub(crate) mod env;
pub(crate) mod exec;
pub(crate) mod inputs;
pub(crate) mod presets;
pub(crate) mod settings;

use crate::args::{Arguments, Command};
use crate::exit::Failure;

pub(crate) fn dispatch(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { global, command } = arguments;
    match command {
        Command::Analyze(command) => command.run(&global),
        Command::Exec(command) => command.run(&global),
        Command::Inputs(command) => command.run(&global),
        Command::Presets(command) => command.run(&global),
        Command::Doctor(command) => command.run(&global),
        Command::Settings(command) => command.run(&global),
        Command::Env(command) => command.run(),
    }
}
