//! The records of a run: what the store writes and returns.
//!
//! Infinite values and NaN are stored as NULL and read as `None`.

mod call;
mod failure;
mod run;
mod scores;

use std::collections::BTreeMap;

pub(crate) use call::truncate_message;
pub use call::{CallRecord, CellKey, OutsideCellScenario};
pub use failure::{FailureRecord, OccurrenceTime, RunOccurrences};
pub use run::{RunEndRecord, RunId, RunRecord, RunStartRecord, RunStatus};
pub use scores::{CellRecord, ModuleRecord, ScenarioRecord, SectionRecord};

/// Metrics by name.
pub type MetricMap = BTreeMap<String, f64>;

/// `None` for metrics that were stored without a value.
pub type StoredMetricMap = BTreeMap<String, Option<f64>>;
