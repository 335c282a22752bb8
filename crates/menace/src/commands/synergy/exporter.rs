//! `menace synergy exporter`: the latest synergy values for Prometheus.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;
use menace_settings::parse_duration;

use crate::context::CommandContext;
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;
use crate::servers::ServerConfig;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace synergy exporter --history-file sandbox_data/synergy_history.db
  menace synergy exporter --history-file sandbox_data/synergy_history.db --port 8003 --interval 5")]
pub(super) struct SynergyExporterCommand {
    /// The history [default: `synergy_history.db` in the data directory].
    #[arg(long, value_name = "FILE")]
    history_file: Option<PathBuf>,

    /// The port; 0 for one that is free [default: `SYNERGY_METRICS_PORT`, which is 8003].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// The address to listen on [default: `DASHBOARD_HOST`, which is 127.0.0.1].
    #[arg(long, value_name = "ADDRESS")]
    host: Option<IpAddr>,

    /// How often the history is looked at, at most: seconds, or a time such as `1m`.
    #[arg(long, value_name = "TIME", default_value = "5", value_parser = parse_interval)]
    interval: std::time::Duration,
}

fn parse_interval(text: &str) -> Result<std::time::Duration, String> {
    parse_duration(text).map_err(|_| "expected a time such as `5` or `1m`".to_owned())
}

impl SynergyExporterCommand {
    pub(super) fn run(self, context: &CommandContext) -> Result<(), CommandError> {
        let settings = &context.settings;
        let history = match self.history_file {
            Some(file) => file,
            None => data_dir::checked_data_dir(context)?.join("synergy_history.db"),
        };
        let port = self.port.unwrap_or(settings.synergy.metrics_port.get());
        let server = ServerConfig::new(settings, self.host)?.start_synergy_exporter(
            &history,
            self.interval,
            port,
        )?;
        let port = server.address().port();
        tracing::info!(port, "Synergy metrics exporter running");
        output::print(&format!("Synergy metrics exporter running at {}metrics\n", server.url()))?;
        server.wait();
        Ok(())
    }
}
