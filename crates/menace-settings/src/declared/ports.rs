//! Where progress can be watched.

use std::path::PathBuf;

use crate::group::group;
use crate::{ListenHost, PortNumber, SecretText};

group! {
    /// Where progress can be watched.
    pub struct PortSettings = "Dashboard and metrics" {
        /// The port of the dashboard. Unset, there is none.
        dashboard: Option<PortNumber> = "AUTO_DASHBOARD_PORT".user().recommended("8001")
            .flags(&["--dashboard-port"]);

        /// The port of the Prometheus exporter. Unset, there is none; the dashboard's own port will
        /// do, as it answers for metrics too.
        metrics: Option<PortNumber> = "METRICS_PORT".user().flags(&["--metrics-port"]);

        /// The port for the gauges of the self-tests; there are none as long as none ran.
        self_test_metrics: PortNumber = "SELF_TEST_METRICS_PORT".user()
            .default("8004")
            .recommended("8004");

        /// The address that the dashboard and the exporters listen on. One that other machines can
        /// reach needs `DASHBOARD_TOKEN`.
        host: ListenHost = "DASHBOARD_HOST".user().default("127.0.0.1");

        /// The secret that visitors must present, of 16 characters at least.
        token: Option<SecretText> = "DASHBOARD_TOKEN".user();

        /// The certificate for HTTPS, in PEM. Needs the key as well.
        ssl_cert: Option<PathBuf> = "DASHBOARD_SSL_CERT".user();

        /// The private key of that certificate, in PEM.
        ssl_key: Option<PathBuf> = "DASHBOARD_SSL_KEY".user();
    }
}
