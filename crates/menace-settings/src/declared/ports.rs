//! Where progress can be watched.

use crate::Port;
use crate::group::group;

group! {
    /// Where progress can be watched.
    pub struct Ports = "Dashboard and metrics" {
        /// The port of the dashboard. Unset, there is none.
        dashboard: Option<Port> = "AUTO_DASHBOARD_PORT".recommended("8001")
            .flags(&["--dashboard-port"]);

        /// The port of the Prometheus exporter. Unset, there is none; the dashboard's own port will
        /// do, as it answers for metrics too.
        metrics: Option<Port> = "METRICS_PORT".flags(&["--metrics-port"]);

        /// The port for the gauges of the self-tests.
        self_test_metrics: Port = "SELF_TEST_METRICS_PORT".default("8004").recommended("8004");
    }
}
