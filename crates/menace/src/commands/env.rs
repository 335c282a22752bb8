//! `menace env`: the `.env` file.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, Subcommand};
use menace_settings::trusted_files::TrustedFiles;
use menace_settings::{SettingsSources, env_file, env_template};

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
    #[command(after_help = "Example:\n  menace env init && $EDITOR .env && menace trust")]
    Init,
}

impl EnvCommand {
    /// Needs no settings: a broken one must not keep the file from being made.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let EnvAction::Init = self.action;
        let path = env_file::create_env_file(Path::new(".")).map_err(CommandError::request)?;
        let path = menace_files::resolve_named_path(&path)?;
        // Trusted, because Menace itself wrote its content.
        let home = SettingsSources::load_user(BTreeMap::new()).data_home();
        let trusted = TrustedFiles::read(home, Path::new(".")).and_then(|mut trusted| {
            trusted.add(&path, env_template().as_bytes());
            trusted.write()
        });
        if let Err(error) = trusted {
            tracing::debug!(%error, "the new file is not trusted");
        }
        output::print(
            "wrote .env; edit it to add your keys, then run `menace trust`, so that they count\n",
        )?;
        Ok(())
    }
}
