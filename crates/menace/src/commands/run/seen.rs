//! A run that can be looked at: servers while it goes on, a report when it is over.

use std::path::PathBuf;
use std::sync::Arc;

use menace_serve::{Library, MetricsRoutes, Server};
use menace_settings::{Port, Settings};
use menace_source::Analysis;
use menace_store::RunId;

use crate::commands::report;
use crate::exit::Failure;
use crate::serving::{self, Front};

/// Dropping it closes the ports.
#[derive(Debug)]
pub(super) struct Seen {
    library: Arc<Library>,
    _servers: Vec<Server>,
}

impl Seen {
    /// Starts what settings ask for. A port that is taken is told before anything is called.
    pub(super) fn start(settings: &Settings) -> Result<Self, Failure> {
        let library = serving::library(settings);
        let (ports, synergy) = (&settings.ports, &settings.synergy);
        let self_tests =
            Some(*ports.self_test_metrics).filter(|_| ports.self_test_metrics.is_explicit());
        let synergy_port = Some(*synergy.metrics_port).filter(|_| *synergy.export_metrics);
        let wanted = [
            (*ports.metrics, MetricsRoutes::Everything, "Metrics exporter"),
            (self_tests, MetricsRoutes::SelfTests, "Self-test metrics exporter"),
            (synergy_port, MetricsRoutes::Synergy, "Synergy metrics exporter"),
        ];
        let mut servers = Vec::new();
        if ports.dashboard.is_none() && wanted.iter().all(|(port, _, _)| port.is_none()) {
            return Ok(Self { library, _servers: servers });
        }
        let front = Front::new(settings, None)?;
        if let Some(port) = *ports.dashboard {
            let server = front.dashboard(&library, settings, port.get())?;
            tracing::info!("the dashboard is at {}", server.url());
            servers.push(server);
        }
        for (port, which, name) in wanted {
            if let Some(port) = port.map(Port::get) {
                let server = front.metrics(&library, which, port)?;
                tracing::info!(port, "{name} running at {}metrics", server.url());
                servers.push(server);
            }
        }
        Ok(Self { library, _servers: servers })
    }

    /// Writes the report to the data directory. What the run found is kept anyway: that it cannot be
    /// written is told, and no error.
    pub(super) fn report(&self, run: &RunId, analysis: &Analysis) -> Option<PathBuf> {
        let file = self.library.data_dir().join("report.html");
        let graph = report::graph(analysis);
        match report::write(&self.library, &run.0, Some(&graph), &file) {
            Ok(()) => Some(file),
            Err(Failure::Request(error) | Failure::Internal(error)) => {
                tracing::warn!("there is no report to look at: {error:#}");
                None
            }
            Err(_) => None,
        }
    }
}
