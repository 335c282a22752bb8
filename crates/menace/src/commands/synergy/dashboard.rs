//! `menace synergy dashboard`: what modules are worth together, in a browser.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use menace_serve::{Library, Place};

use crate::commands::dashboard::PORT;
use crate::context::Context;
use crate::data;
use crate::exit::Failure;
use crate::render::output;
use crate::serving::Front;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace synergy dashboard
  menace synergy dashboard --file sandbox_data/synergy_history.db --port 8002

It is the dashboard of `menace dashboard`, beginning with the page of this history.")]
pub(super) struct Dashboard {
    /// The history; the rest is looked for beside it [default: `synergy_history.db` in the data
    /// directory].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The port; 0 for one that is free [default: `AUTO_DASHBOARD_PORT`, else 8002].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// The address to listen on [default: `DASHBOARD_HOST`, which is 127.0.0.1].
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,
}

impl Dashboard {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let settings = &context.settings;
        let file = match self.file {
            Some(file) => file,
            None => data::directory(context)?.join("synergy_history.db"),
        };
        menace_serve::check_synergy(&file).map_err(Failure::request)?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let below = Place::below(
            parent.unwrap_or(Path::new(".")),
            settings.store.database_url.value.as_str(),
        );
        let library = Arc::new(Library::new(Place { synergy: file, ..below }));
        let port = self.port.or(settings.ports.dashboard.map(menace_settings::Port::get));
        let front = Front::new(settings, self.host)?;
        let server = front.dashboard(&library, settings, port.unwrap_or(PORT))?;
        let url = server.url();
        output::print(&format!("The synergy dashboard is at {url}synergy\nCtrl-C ends it.\n"))?;
        server.wait();
        Ok(())
    }
}
