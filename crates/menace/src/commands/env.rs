//! `menace env`: the `.env` file.

use clap::{Args, Subcommand};
use menace_settings::env_file;

use crate::args::Global;
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::render::output;

/// Set up the `.env` file of the working directory.
#[derive(Debug, Args)]
pub(crate) struct Env {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write a `.env` with sensible defaults; one that exists is never touched.
    #[command(after_help = "Example:\n  menace env init && $EDITOR .env")]
    Init,
}

impl Env {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        Context::new(global, Flags::new())?;
        let Action::Init = self.action;
        let path = env_file::init(std::path::Path::new(".")).map_err(Failure::request)?;
        let shown = path.strip_prefix(".").unwrap_or(&path).display();
        output::print(&format!("wrote {shown}; edit it to add your keys\n"))?;
        Ok(())
    }
}
