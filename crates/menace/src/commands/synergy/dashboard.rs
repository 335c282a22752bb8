//! `menace synergy dashboard`: what modules are worth together, in a browser.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use menace_serve::{DataLocations, DataSource};

use crate::commands::dashboard::DEFAULT_DASHBOARD_PORT;
use crate::context::CommandContext;
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;
use crate::servers::ServerConfig;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace synergy dashboard
  menace synergy dashboard --file sandbox_data/synergy_history.db --port 8002

It is the dashboard of `menace dashboard`, beginning with the page of this history.")]
pub(super) struct SynergyDashboardCommand {
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

impl SynergyDashboardCommand {
    pub(super) fn run(self, context: &CommandContext) -> Result<(), CommandError> {
        let settings = &context.settings;
        let file = match self.file {
            Some(file) => file,
            None => data_dir::checked_data_dir(context)?.join("synergy_history.db"),
        };
        menace_serve::check_synergy(&file).map_err(CommandError::request)?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let below = DataLocations::from_data_dir(
            parent.unwrap_or(Path::new(".")),
            settings.store.database_url.value.as_str(),
        );
        let data_source = Arc::new(DataSource::new(DataLocations { synergy: file, ..below }));
        let port = self.port.or(settings.ports.dashboard.map(menace_settings::PortNumber::get));
        let front = ServerConfig::new(settings, self.host)?;
        let server = front.start_dashboard(
            &data_source,
            settings,
            port.unwrap_or(DEFAULT_DASHBOARD_PORT),
        )?;
        let url = server.url();
        output::print(&format!("The synergy dashboard is at {url}synergy\nCtrl-C ends it.\n"))?;
        server.wait();
        Ok(())
    }
}
