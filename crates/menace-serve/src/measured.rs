//! `metrics.db`: gauges that others record, and the metrics of runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_store::{Metrics, Numbers, Run};

use crate::error::Result;
use crate::library::told;
use crate::opened::Opened;
use crate::prometheus::Declared;

/// Values of a gauge that are looked through for what has one: labels without end would hurt whoever
/// scrapes.
const LATEST: u32 = 1_000;

/// Metrics that every cycle measures, one or the other.
const COUNTED: [&str; 2] = ["reliability", "security_score"];

/// When a run measured, at the earliest and at the latest.
fn moments(run: &Run) -> (i64, i64) {
    (run.started_ms, run.finished_ms.unwrap_or(i64::MAX))
}

#[derive(Debug)]
pub(crate) struct Measured(Opened<Metrics>);

impl Measured {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(Opened::new(path))
    }

    /// The latest value of each of these, of those that were ever measured. Where there are labels, one for
    /// each thing that has it, whenever that was measured.
    pub(crate) fn latest(&self, wanted: &[&Declared]) -> Result<Vec<(String, String, f64)>> {
        let found = self.ask(|metrics| {
            let mut found = Vec::new();
            for gauge in wanted {
                let limit = if gauge.labels.is_empty() { 1 } else { LATEST };
                let values = metrics.latest(gauge.name, limit)?;
                let values = values.into_iter().filter(|one| one.value.is_finite());
                found.extend(values.map(|one| (one.name, one.module, one.value)));
            }
            Ok(found)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// How a metric came to what it was at the end of a run; nothing when the run did not measure it.
    pub(crate) fn way_to(&self, metric: &str, run: &Run, limit: u32) -> Result<Vec<f64>> {
        let found = self.ask(|metrics| {
            let way = metrics.way_to(metric, &run.id, moments(run), limit)?;
            Ok(way.into_iter().map(|value| value.value).collect())
        })?;
        Ok(found.unwrap_or_default())
    }

    /// How many cycles of the histories came after the last one of a run.
    pub(crate) fn cycles_after(&self, run: &Run) -> Result<u64> {
        let found = self.ask(|metrics| {
            let mut most = 0;
            for metric in COUNTED {
                most = most.max(metrics.cycles_after(metric, &run.id, moments(run))?);
            }
            Ok(most)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// What sections were worth together under each scenario in the last cycle of a run.
    pub(crate) fn scenario_synergy(&self, run: &Run) -> Result<BTreeMap<String, Numbers>> {
        let found = self.ask(|metrics| {
            let mut found: BTreeMap<String, Numbers> = BTreeMap::new();
            let names = menace_track::METRICS.iter().map(|metric| metric.name);
            for name in std::iter::once("roi").chain(names) {
                let name = format!("synergy_{name}");
                // The latest comes last and stays.
                for one in metrics.in_run(&name, &run.id, moments(run))? {
                    if !one.scenario.is_empty() && one.value.is_finite() {
                        found.entry(one.scenario).or_default().insert(one.name, one.value);
                    }
                }
            }
            Ok(found)
        })?;
        Ok(found.unwrap_or_default())
    }

    fn ask<T>(&self, question: impl FnOnce(&Metrics) -> Result<T>) -> Result<Option<T>> {
        self.0.ask(|path: &Path| Ok(Metrics::look(path)?.map(told)), question)
    }
}
