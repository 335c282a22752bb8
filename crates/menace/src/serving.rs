//! What listens: the dashboard and the exporters, as settings and flags want them.

use std::path::Path;
use std::sync::Arc;

use menace_serve::{Access, Address, Dashboard, Library, MetricsRoutes, Place, Server, Tls, Token};
use menace_settings::Settings;

use crate::exit::Failure;

/// What all servers of a process share: who may ask, from where, over what.
#[derive(Debug)]
pub(crate) struct Front {
    host: std::net::IpAddr,
    access: Access,
    tls: Option<Tls>,
}

impl Front {
    /// `host` is that of a flag; settings decide without.
    pub(crate) fn new(
        settings: &Settings,
        host: Option<std::net::IpAddr>,
    ) -> Result<Self, Failure> {
        let ports = &settings.ports;
        let host = host.unwrap_or_else(|| ports.host.get());
        let token = ports.token.value.as_ref().map(|token| Token::new(token.expose()));
        let token = token.transpose().map_err(Failure::request)?;
        let tls = ports.ssl_cert.value.clone().zip(ports.ssl_key.value.clone());
        let tls = tls.map(|(certificate, key)| Tls { certificate, key });
        let access = Access::new(host, token, tls.is_some()).map_err(Failure::request)?;
        if !host.is_loopback() && tls.is_none() {
            tracing::warn!(
                "what {host} shows travels unencrypted, the token too; set DASHBOARD_SSL_CERT and \
                 DASHBOARD_SSL_KEY, or put it behind something that encrypts"
            );
        }
        Ok(Self { host, access, tls })
    }

    pub(crate) fn dashboard(
        &self,
        library: &Arc<Library>,
        settings: &Settings,
        port: u16,
    ) -> Result<Server, Failure> {
        menace_serve::warm(library);
        let dashboard = Dashboard {
            library: Arc::clone(library),
            settings: settings.entries().collect(),
            access: self.access.clone(),
        };
        self.start(port, dashboard.routes())
    }

    pub(crate) fn metrics(
        &self,
        library: &Arc<Library>,
        which: MetricsRoutes,
        port: u16,
    ) -> Result<Server, Failure> {
        menace_serve::warm(library);
        self.start(port, which.routes(Arc::clone(library), self.access.clone()))
    }

    pub(crate) fn synergy(
        &self,
        history: &Path,
        interval: std::time::Duration,
        port: u16,
    ) -> Result<Server, Failure> {
        let exporter = menace_serve::SynergyExporter::open(history, interval);
        let exporter = exporter.map_err(Failure::request)?;
        self.start(port, exporter.routes(self.access.clone()))
    }

    fn start(&self, port: u16, routes: menace_serve::Router) -> Result<Server, Failure> {
        let address = Address { host: self.host, port };
        Server::start(address, self.tls.as_ref(), routes).map_err(Failure::request)
    }
}

/// What is kept in the data directory of these settings.
pub(crate) fn library(settings: &Settings) -> Arc<Library> {
    let url = settings.store.database_url.value.as_str();
    Arc::new(Library::new(Place::below(&settings.general.data_dir, url)))
}
