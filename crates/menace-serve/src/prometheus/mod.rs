//! Metrics for Prometheus, read from the stored data at each scrape.
//!
//! The text format is written here, since nothing is counted: a scrape turns rows into text. A
//! library of counters would hold the values itself, and choose their names. Invariant: a name is
//! exposed only if it is declared in the table.

mod collect;
mod declarations;
mod text;

pub(crate) use collect::{collect_all, collect_self_tests, collect_synergy};
pub use declarations::{METRIC_DECLARATIONS, MetricDeclaration, MetricNameOrigin, PrometheusKind};
pub use text::{CONTENT_TYPE, MetricsExposition};
