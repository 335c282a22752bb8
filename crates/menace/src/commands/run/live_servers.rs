//! Dashboard and exporters during a run, and the HTML report after it.

use std::path::PathBuf;
use std::sync::Arc;

use menace_serve::{DataSource, HttpServer, MetricsEndpoint};
use menace_settings::{PortNumber, Settings};
use menace_source::Analysis;
use menace_store::RunId;

use crate::exit::CommandError;
use crate::report_page;
use crate::servers::{self, ServerConfig};

/// Dropping it closes the ports.
#[derive(Debug)]
pub(super) struct LiveServers {
    pub(super) data_source: Arc<DataSource>,
    _servers: Vec<HttpServer>,
}

impl LiveServers {
    /// Starts the servers that the settings request. A port in use is an error before the first
    /// call.
    pub(super) fn start(settings: &Settings) -> Result<Self, CommandError> {
        let data_source = servers::open_data_source(settings);
        let ports = &settings.ports;
        let synergy = &settings.synergy;
        let self_tests =
            Some(*ports.self_test_metrics).filter(|_| ports.self_test_metrics.is_explicit());
        let synergy_port = Some(*synergy.metrics_port).filter(|_| *synergy.export_metrics);
        let wanted = [
            (*ports.metrics, MetricsEndpoint::Everything, "Metrics exporter"),
            (self_tests, MetricsEndpoint::SelfTests, "Self-test metrics exporter"),
            (synergy_port, MetricsEndpoint::Synergy, "Synergy metrics exporter"),
        ];
        let dashboard = ports.dashboard.map(PortNumber::get);
        let wanted = wanted.map(|(port, which, name)| (port.map(PortNumber::get), which, name));
        let exporters = merge_exporters(dashboard, wanted);
        let mut servers = Vec::new();
        if dashboard.is_none() && exporters.is_empty() {
            return Ok(Self { data_source, _servers: servers });
        }
        let front = ServerConfig::new(settings, None)?;
        if let Some(port) = dashboard {
            let server = front.start_dashboard(&data_source, settings, port)?;
            tracing::info!("the dashboard is at {}", server.url());
            servers.push(server);
        }
        for (port, which, name) in exporters {
            let server = front.start_metrics(&data_source, which, port)?;
            tracing::info!(port, "{name} running at {}metrics", server.url());
            servers.push(server);
        }
        Ok(Self { data_source, _servers: servers })
    }
}

/// Writes the report to the data directory. A report that cannot be written is only a warning:
/// the results are in the store.
pub(super) fn write_report_page(
    data_source: &DataSource,
    run: &RunId,
    analysis: &Analysis,
) -> Option<PathBuf> {
    let file = data_source.data_dir().join("report.html");
    match report_page::write(data_source, &run.0, Some(analysis), &file) {
        Ok(()) => Some(file),
        Err(CommandError::Request(error) | CommandError::Internal(error)) => {
            tracing::warn!("cannot write the report: {error:#}");
            None
        }
        Err(_) => None,
    }
}

/// One exporter per port. The dashboard serves all gauges at `/metrics`, so its port needs no
/// exporter; a port that several exporters share serves all gauges.
fn merge_exporters(
    dashboard: Option<u16>,
    wanted: impl IntoIterator<Item = (Option<u16>, MetricsEndpoint, &'static str)>,
) -> Vec<(u16, MetricsEndpoint, &'static str)> {
    let mut exporters: Vec<(u16, MetricsEndpoint, &'static str)> = Vec::new();
    for (port, which, name) in wanted {
        let Some(port) = port else { continue };
        if dashboard == Some(port) {
            tracing::info!(port, "{name}: the dashboard serves its gauges at /metrics");
        } else if let Some(taken) = exporters.iter_mut().find(|taken| taken.0 == port) {
            taken.1 = MetricsEndpoint::Everything;
        } else {
            exporters.push((port, which, name));
        }
    }
    exporters
}

#[cfg(test)]
mod tests {
    use super::MetricsEndpoint::{Everything, SelfTests, Synergy};
    use super::*;

    #[test]
    fn a_port_that_is_set_twice_is_opened_once() {
        let wanted = |all, tests, synergy| {
            [(all, Everything, "all"), (tests, SelfTests, "tests"), (synergy, Synergy, "synergy")]
        };
        let of = |dashboard, wanted| -> Vec<(u16, MetricsEndpoint)> {
            let found = merge_exporters(dashboard, wanted).into_iter();
            found.map(|(port, which, _)| (port, which)).collect()
        };
        let apart = of(Some(1), wanted(Some(2), Some(3), Some(4)));
        assert_eq!(apart, [(2, Everything), (3, SelfTests), (4, Synergy)]);
        assert_eq!(of(Some(1), wanted(Some(1), Some(1), None)), [], "the dashboard has them");
        assert_eq!(of(None, wanted(None, Some(3), Some(3))), [(3, Everything)]);
        assert_eq!(of(None, wanted(None, None, None)), []);
    }
}
