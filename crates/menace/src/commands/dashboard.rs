//! `menace dashboard`: what runs have found, in a browser, while they go on.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;

use menace_serve::{Library, Place};

use crate::args::Global;
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::output;
use crate::serving::{self, Front};

/// The documented one.
pub(super) const PORT: u16 = 8002;

/// Show what runs have found in a browser, and follow those that go on.
///
/// It only reads. Beyond this machine it asks for a token, `DASHBOARD_TOKEN`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace dashboard                                   # http://127.0.0.1:8002/
  menace dashboard --file sandbox_data/roi_history.json --port 8002
  DASHBOARD_TOKEN=… menace dashboard --host 0.0.0.0  # for others, who need the token

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
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, Flags::new())?;
        let settings = &context.settings;
        data::directory(&context)?;
        let library = match &self.file {
            None => serving::library(settings),
            Some(file) => beside(file, settings.store.database_url.value.as_str())?,
        };
        let port = self.port.or(settings.ports.dashboard.map(menace_settings::Port::get));
        let front = Front::new(settings, self.host)?;
        let server = front.dashboard(&library, settings, port.unwrap_or(PORT))?;
        output::print(&format!("The dashboard is at {}\nCtrl-C ends it.\n", server.url()))?;
        server.wait();
        Ok(())
    }
}

/// What lies in the directory of a history.
fn beside(file: &Path, url: &str) -> Result<Arc<Library>, Failure> {
    if !file.is_file() {
        return Err(Failure::Request(anyhow!(
            "there is no history `{}`: `menace run` writes one, or leave --file out",
            file.display()
        )));
    }
    menace_serve::check_history(file).map_err(Failure::request)?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let data_dir = parent.unwrap_or(Path::new(".")).to_owned();
    let place = Place { history: file.to_owned(), ..Place::below(&data_dir, url) };
    Ok(Arc::new(Library::new(place)))
}
