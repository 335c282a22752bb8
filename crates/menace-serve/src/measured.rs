//! `metrics.db`: gauges that others record, and the metrics of runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use menace_store::{Metrics, Run};

use crate::error::Result;
use crate::library::told;
use crate::opened::Opened;

/// Values of a gauge that are looked through for what has one: labels without end would hurt whoever
/// scrapes.
const LATEST: u32 = 1_000;

#[derive(Debug)]
pub(crate) struct Measured(Opened<Metrics>);

impl Measured {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(Opened::new(path))
    }

    /// The latest value of each of these, of those that were ever measured: one for each thing that
    /// has it, whenever that was measured.
    pub(crate) fn latest(&self, names: &[&str]) -> Result<Vec<(String, String, f64)>> {
        let found = self.ask(|metrics| {
            let mut found = Vec::new();
            for name in names {
                let mut seen = BTreeSet::new();
                for value in metrics.values(name, LATEST)?.into_iter().rev() {
                    if seen.insert(value.module.clone()) && value.value.is_finite() {
                        found.push((value.name, value.module, value.value));
                    }
                }
            }
            Ok(found)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// How a metric came to what it was at the end of a run; nothing when the run did not measure it.
    pub(crate) fn way_to(&self, metric: &str, run: &Run, limit: u32) -> Result<Vec<f64>> {
        let found = self.ask(|metrics| {
            let way = metrics.way_to(metric, &run.id, run.started_ms, limit)?;
            Ok(way.into_iter().map(|value| value.value).collect())
        })?;
        Ok(found.unwrap_or_default())
    }

    fn ask<T>(&self, question: impl FnOnce(&Metrics) -> Result<T>) -> Result<Option<T>> {
        self.0.ask(|path: &Path| Ok(Metrics::look(path)?.map(told)), question)
    }
}
