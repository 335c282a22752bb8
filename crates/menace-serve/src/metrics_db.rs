//! Reads `metrics.db`: gauges that other programs record, and the metrics of runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_store::{MetricMap, MetricsDatabase, RunRecord};

use crate::data_source::log_notice;
use crate::error::ServeResult;
use crate::prometheus::MetricDeclaration;
use crate::reopen_on_replace::ReopenOnReplace;

/// How many values of a gauge are searched for labels: an unbounded number of labels would overload
/// Prometheus.
const MAX_VALUES_PER_GAUGE: u32 = 1_000;

/// Metrics that every cycle measures, one or the other.
const CYCLE_MARKER_METRICS: [&str; 2] = ["reliability", "security_score"];

/// The times between which a run stored its metrics.
fn measuring_window(run: &RunRecord) -> (i64, i64) {
    (run.started_ms, run.finished_ms.unwrap_or(i64::MAX))
}

#[derive(Debug)]
pub(crate) struct MetricsDbReader(ReopenOnReplace<MetricsDatabase>);

impl MetricsDbReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(ReopenOnReplace::new(path))
    }

    /// The latest value of each metric that was ever measured. A metric with labels has one value
    /// for each of them, whenever it was measured.
    pub(crate) fn latest_values(
        &self,
        wanted: &[&MetricDeclaration],
    ) -> ServeResult<Vec<(String, String, f64)>> {
        let found = self.query(|metrics| {
            let mut found = Vec::new();
            for gauge in wanted {
                let limit = if gauge.labels.is_empty() { 1 } else { MAX_VALUES_PER_GAUGE };
                let values = metrics.latest_values(gauge.name, limit)?;
                let values = values.into_iter();
                found.extend(values.filter_map(|one| Some((one.name, one.module, one.value?))));
            }
            Ok(found)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The values of a metric up to the end of a run; empty if the run did not measure it.
    pub(crate) fn values_until(
        &self,
        metric: &str,
        run: &RunRecord,
        limit: u32,
    ) -> ServeResult<Vec<Option<f64>>> {
        let found = self.query(|metrics| {
            let way = metrics.history_up_to_run(metric, &run.id, measuring_window(run), limit)?;
            Ok(way.into_iter().map(|value| value.value).collect())
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The number of cycles in the metric histories after the last cycle of a run.
    pub(crate) fn cycles_after(&self, run: &RunRecord) -> ServeResult<u64> {
        let found = self.query(|metrics| {
            let mut most = 0;
            for metric in CYCLE_MARKER_METRICS {
                most =
                    most.max(metrics.count_cycles_after(metric, &run.id, measuring_window(run))?);
            }
            Ok(most)
        })?;
        Ok(found.unwrap_or_default())
    }

    /// The synergy under each scenario in the last cycle of a run.
    pub(crate) fn scenario_synergy(
        &self,
        run: &RunRecord,
    ) -> ServeResult<BTreeMap<String, MetricMap>> {
        let found = self.query(|metrics| {
            let mut found: BTreeMap<String, MetricMap> = BTreeMap::new();
            let names = menace_track::METRICS.iter().map(|metric| metric.name);
            for name in std::iter::once("roi").chain(names) {
                let name = format!("synergy_{name}");
                // The latest comes last and stays.
                for one in metrics.values_in_run(&name, &run.id, measuring_window(run))? {
                    if let Some(value) = one.value.filter(|_| !one.scenario.is_empty()) {
                        found.entry(one.scenario).or_default().insert(one.name, value);
                    }
                }
            }
            Ok(found)
        })?;
        Ok(found.unwrap_or_default())
    }

    fn query<T>(
        &self,
        run_query: impl FnOnce(&MetricsDatabase) -> ServeResult<T>,
    ) -> ServeResult<Option<T>> {
        self.0.query(
            |path: &Path| Ok(MetricsDatabase::open_read_only(path)?.map(log_notice)),
            run_query,
        )
    }
}
