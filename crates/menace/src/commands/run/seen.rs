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
        let dashboard = ports.dashboard.map(Port::get);
        let wanted = wanted.map(|(port, which, name)| (port.map(Port::get), which, name));
        let exporters = exporters(dashboard, wanted);
        let mut servers = Vec::new();
        if dashboard.is_none() && exporters.is_empty() {
            return Ok(Self { library, _servers: servers });
        }
        let front = Front::new(settings, None)?;
        if let Some(port) = dashboard {
            let server = front.dashboard(&library, settings, port)?;
            tracing::info!("the dashboard is at {}", server.url());
            servers.push(server);
        }
        for (port, which, name) in exporters {
            let server = front.metrics(&library, which, port)?;
            tracing::info!(port, "{name} running at {}metrics", server.url());
            servers.push(server);
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

/// What each port offers. The dashboard has every gauge at `/metrics`, so an exporter that is wanted at
/// its port is there already; one that is wanted for several offers everything.
fn exporters(
    dashboard: Option<u16>,
    wanted: impl IntoIterator<Item = (Option<u16>, MetricsRoutes, &'static str)>,
) -> Vec<(u16, MetricsRoutes, &'static str)> {
    let mut exporters: Vec<(u16, MetricsRoutes, &'static str)> = Vec::new();
    for (port, which, name) in wanted {
        let Some(port) = port else { continue };
        if dashboard == Some(port) {
            tracing::info!(port, "{name}: the dashboard offers its gauges at /metrics");
        } else if let Some(taken) = exporters.iter_mut().find(|taken| taken.0 == port) {
            taken.1 = MetricsRoutes::Everything;
        } else {
            exporters.push((port, which, name));
        }
    }
    exporters
}

#[cfg(test)]
mod tests {
    use super::MetricsRoutes::{Everything, SelfTests, Synergy};
    use super::*;

    #[test]
    fn a_port_is_opened_once_whoever_wants_it() {
        let wanted = |all, tests, synergy| {
            [(all, Everything, "all"), (tests, SelfTests, "tests"), (synergy, Synergy, "synergy")]
        };
        let of = |dashboard, wanted| -> Vec<(u16, MetricsRoutes)> {
            let found = exporters(dashboard, wanted).into_iter();
            found.map(|(port, which, _)| (port, which)).collect()
        };
        let apart = of(Some(1), wanted(Some(2), Some(3), Some(4)));
        assert_eq!(apart, [(2, Everything), (3, SelfTests), (4, Synergy)]);
        assert_eq!(of(Some(1), wanted(Some(1), Some(1), None)), [], "the dashboard has them");
        assert_eq!(of(None, wanted(None, Some(3), Some(3))), [(3, Everything)]);
        assert_eq!(of(None, wanted(None, None, None)), []);
    }
}
