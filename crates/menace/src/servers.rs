//! Starts the dashboard and the exporters, as settings and flags request.

use std::path::Path;
use std::sync::Arc;

use menace_serve::{
    AccessPolicy, AccessToken, DashboardServer, DataLocations, DataSource, HttpServer,
    ListenAddress, MetricsEndpoint, TlsFiles,
};
use menace_settings::Settings;

use crate::exit::CommandError;

/// What all servers of a process share: access token, allowed addresses and TLS.
#[derive(Debug)]
pub(crate) struct ServerConfig {
    host: std::net::IpAddr,
    access: AccessPolicy,
    tls: Option<TlsFiles>,
}

impl ServerConfig {
    /// `host` is that of a flag; settings decide without.
    pub(crate) fn new(
        settings: &Settings,
        host: Option<std::net::IpAddr>,
    ) -> Result<Self, CommandError> {
        let ports = &settings.ports;
        let host = host.unwrap_or_else(|| ports.host.get());
        let token = ports.token.value.as_ref().map(|token| AccessToken::new(token.expose()));
        let token = token.transpose().map_err(CommandError::request)?;
        let tls = ports.ssl_cert.value.clone().zip(ports.ssl_key.value.clone());
        let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key });
        let access =
            AccessPolicy::new(host, token, tls.is_some()).map_err(CommandError::request)?;
        if !host.is_loopback() && tls.is_none() {
            tracing::warn!(
                "what {host} shows travels unencrypted, the token too; set DASHBOARD_SSL_CERT and \
                 DASHBOARD_SSL_KEY, or put it behind something that encrypts"
            );
        }
        Ok(Self { host, access, tls })
    }

    pub(crate) fn start_dashboard(
        &self,
        data_source: &Arc<DataSource>,
        settings: &Settings,
        port: u16,
    ) -> Result<HttpServer, CommandError> {
        menace_serve::warm_up(data_source);
        let dashboard = DashboardServer {
            data_source: Arc::clone(data_source),
            settings: settings.entries().collect(),
            access: self.access.clone(),
        };
        self.start(port, dashboard.routes())
    }

    pub(crate) fn start_metrics(
        &self,
        data_source: &Arc<DataSource>,
        endpoint: MetricsEndpoint,
        port: u16,
    ) -> Result<HttpServer, CommandError> {
        menace_serve::warm_up(data_source);
        self.start(port, endpoint.routes(Arc::clone(data_source), self.access.clone()))
    }

    pub(crate) fn start_synergy_exporter(
        &self,
        history: &Path,
        interval: std::time::Duration,
        port: u16,
    ) -> Result<HttpServer, CommandError> {
        let exporter = menace_serve::SynergyExporter::open(history, interval);
        let exporter = exporter.map_err(CommandError::request)?;
        self.start(port, exporter.routes(self.access.clone()))
    }

    fn start(&self, port: u16, routes: menace_serve::Router) -> Result<HttpServer, CommandError> {
        let address = ListenAddress { host: self.host, port };
        HttpServer::start(address, self.tls.as_ref(), routes).map_err(CommandError::request)
    }
}

/// The data in the data directory of these settings.
pub(crate) fn open_data_source(settings: &Settings) -> Arc<DataSource> {
    let url = settings.store.database_url.value.as_str();
    Arc::new(DataSource::new(DataLocations::from_data_dir(&settings.general.data_dir, url)))
}
