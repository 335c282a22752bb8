//! `menace env`: the `.env` file.

use clap::{Args, Subcommand};
use menace_settings::env_file;

use crate::exit::CommandError;
use crate::render::output;

/// Set up the `.env` file of the working directory.
#[derive(Debug, Args)]
pub(crate) struct EnvCommand {
    #[command(subcommand)]
    action: EnvAction,
}

#[derive(Debug, Subcommand)]
enum EnvAction {
    /// Write a `.env` with sensible defaults; one that exists is never touched.
    #[command(after_help = "Example:\n  menace env init && $EDITOR .env")]
    Init,
}

impl EnvCommand {
    /// Needs no settings: a broken one must not keep the file from being made.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let EnvAction::Init = self.action;
        let path =
            env_file::create_env_file(std::path::Path::new(".")).map_err(CommandError::request)?;
        let shown = path.strip_prefix(".").unwrap_or(&path).display();
        output::print(&format!("wrote {shown}; edit it to add your keys\n"))?;
        Ok(())
    }
}
