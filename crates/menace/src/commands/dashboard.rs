//! `menace dashboard`: what runs have found, in a browser, while they go on.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;

use menace_serve::{DataLocations, DataSource};

use crate::args::GlobalArgs;
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;
use crate::servers::{self, ServerConfig};

/// The documented one.
pub(super) const DEFAULT_DASHBOARD_PORT: u16 = 8002;

/// Show what runs have found in a browser, and follow those that go on.
///
/// It only reads. Beyond this machine it asks for a token, `DASHBOARD_TOKEN`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace dashboard                                   # http://127.0.0.1:8002/
  menace dashboard --file sandbox_data/roi_history.json --port 8002
  DASHBOARD_TOKEN=… menace dashboard --host 0.0.0.0  # for others, with the token

docs/see.md describes the pages, the addresses for programs, and how to let others in.")]
pub(crate) struct DashboardCommand {
    /// The history; the rest is looked for beside it [default: that of the data directory].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The port; 0 for one that is free [default: `AUTO_DASHBOARD_PORT`, else 8002].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// The address to listen on [default: `DASHBOARD_HOST`, which is 127.0.0.1].
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
}

impl DashboardCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let settings = &context.settings;
        data_dir::checked_data_dir(&context)?;
        let library = match &self.file {
            None => servers::open_data_source(settings),
            Some(file) => data_source_beside(file, settings.store.database_url.value.as_str())?,
        };
        let port = self.port.or(settings.ports.dashboard.map(menace_settings::PortNumber::get));
        let front = ServerConfig::new(settings, self.host)?;
        let server =
            front.start_dashboard(&library, settings, port.unwrap_or(DEFAULT_DASHBOARD_PORT))?;
        output::print(&format!("The dashboard is at {}\nCtrl-C ends it.\n", server.url()))?;
        server.wait();
        Ok(())
    }
}

/// The data in the directory of a history.
fn data_source_beside(file: &Path, url: &str) -> Result<Arc<DataSource>, CommandError> {
    if !fs::symlink_metadata(file).is_ok_and(|found| !found.is_dir()) {
        return Err(CommandError::Request(anyhow!(
            "there is no history `{}`: `menace run` writes one, or leave --file out",
            file.display()
        )));
    }
    menace_serve::check_history(file).map_err(CommandError::request)?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let data_dir = parent.unwrap_or(Path::new(".")).to_owned();
    let place =
        DataLocations { history: file.to_owned(), ..DataLocations::from_data_dir(&data_dir, url) };
    Ok(Arc::new(DataSource::new(place)))
}
