//! Metrics for Prometheus, read from the stored data at each scrape.
//!
//! There is a writer of our own, as nothing is counted here: a scrape turns rows into text. A
//! library of counters would want to own the numbers, and to name them its way.
//! Invariant: a name is declared in one table or it is not exposed.

mod collect;
mod declarations;
mod text;

pub(crate) use collect::{collect_all, collect_self_tests, collect_synergy};
pub use declarations::{METRIC_DECLARATIONS, MetricDeclaration, MetricNameOrigin, PrometheusKind};
pub use text::{CONTENT_TYPE, MetricsExposition};
