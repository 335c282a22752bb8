//! Records cycles: histories of ROI and metrics, deltas, forecasts and their errors.
//!
//! `menace-store` reads and writes files; the format of `roi_history.json` is [`RoiHistory`].
//! Invariant: a history only grows, and by at most one value per key and cycle.

mod confidence;
mod forecasts;
mod history;
mod predictions;
mod source_changes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use history::RoiHistory;
pub use source_changes::ModuleShape;

use crate::metric::{SYNERGY_ROI, scenario_metric_name};
use crate::predict::ForecastModelCache;
use crate::series::{extrapolate_line, last_values};
use crate::stats::convergence::{DiminishingReturnsRule, check_diminishing_returns};
use crate::stats::evidence::StatisticalDecision;
use crate::{CycleScores, MetricValues, ScoredMetrics};

/// How many of the last values a projection uses.
const PROJECTION_CYCLES: usize = 10;

#[derive(Debug, Clone, Default)]
pub struct Tracker {
    history: RoiHistory,
    /// Models that were chosen for the series of the history, kept until these change.
    models: ForecastModelCache,
}

impl PartialEq for Tracker {
    fn eq(&self, other: &Self) -> bool {
        self.history == other.history
    }
}

/// A module in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleRank {
    pub module: String,
    /// The ROI of the last cycle.
    pub roi: f64,
    pub raroi: f64,
    /// The sum of all deltas and of the synergy attributed to the module.
    pub gain: f64,
}

impl Tracker {
    /// Continues a stored history.
    pub fn new(history: RoiHistory) -> Self {
        Self::with_models(history, ForecastModelCache::default())
    }

    /// Continues a stored history with models that were chosen before; models are chosen again for
    /// series that have changed.
    pub fn with_models(history: RoiHistory, models: ForecastModelCache) -> Self {
        Self { history, models }
    }

    pub fn history(&self) -> &RoiHistory {
        &self.history
    }

    /// Other fields of the same file.
    pub fn extra_fields_mut(&mut self) -> &mut serde_json::Map<String, serde_json::Value> {
        &mut self.history.extra_fields
    }

    /// The history, so that values of other selections can be taken out and restored.
    pub fn history_mut(&mut self) -> &mut RoiHistory {
        &mut self.history
    }

    pub fn into_parts(self) -> (RoiHistory, ForecastModelCache) {
        (self.history, self.models)
    }

    /// Adds a cycle.
    pub fn update(&mut self, report: &CycleScores) {
        let history = &mut self.history;
        let CycleScores { run, modules, sections, scenarios, synergy, scenario_synergy } = report;
        history.cycles += 1;
        history.roi_history.extend(run.roi_value());
        history.roi_deltas.extend(run.roi_delta);
        history.raroi_history.extend(run.raroi);
        append(&mut history.metrics_history, &run.metrics, str::to_owned);
        for (path, scored) in modules {
            let ScoredMetrics { raroi, roi_delta, .. } = scored;
            push_value(&mut history.module_roi, path, scored.roi_value());
            push_value(&mut history.module_raroi, path, *raroi);
            push_value(&mut history.module_deltas, path, *roi_delta);
        }
        for (id, scored) in sections {
            push_value(&mut history.section_roi, id.as_str(), scored.roi_value());
            push_value(&mut history.section_deltas, id.as_str(), scored.roi_delta);
        }
        for (name, scored) in scenarios {
            push_value(&mut history.scenario_roi, name, scored.roi_value());
            push_value(&mut history.scenario_roi_deltas, name, scored.roi_delta);
            let prefixed = |metric: &str| scenario_metric_name(name, metric);
            append(&mut history.metrics_history, &scored.metrics, prefixed);
        }
        if let Some(synergy) = synergy {
            append(&mut history.metrics_history, &synergy.metrics, str::to_owned);
            for module in &synergy.modules {
                push_value(&mut history.module_synergy, module, synergy.metrics.get(SYNERGY_ROI));
            }
            history.synergy_history.push(synergy.metrics.clone());
        }
        for (name, synergy) in scenario_synergy {
            let entries = history.scenario_synergy.entry(name.clone()).or_default();
            entries.push(synergy.metrics.clone());
            let prefixed = |metric: &str| scenario_metric_name(name, metric);
            append(&mut history.metrics_history, &synergy.metrics, prefixed);
        }
    }

    /// All modules, by RAROI, best first.
    pub fn rankings(&self) -> Vec<ModuleRank> {
        let history = &self.history;
        let sum = |histories: &BTreeMap<String, Vec<f64>>, module: &str| -> f64 {
            histories.get(module).into_iter().flatten().sum()
        };
        let latest = |histories: &BTreeMap<String, Vec<f64>>, module: &str| {
            histories.get(module).and_then(|values| values.last()).copied()
        };
        // For files of older programs, which have deltas only, the sum of deltas stands for ROI.
        let mut names: Vec<&String> =
            history.module_roi.keys().chain(history.module_deltas.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let mut ranks: Vec<ModuleRank> = names
            .into_iter()
            .map(|module| {
                let deltas = sum(&history.module_deltas, module);
                let roi = latest(&history.module_roi, module).unwrap_or(deltas);
                ModuleRank {
                    module: module.clone(),
                    roi,
                    raroi: latest(&history.module_raroi, module).unwrap_or(roi),
                    gain: deltas + sum(&history.module_synergy, module),
                }
            })
            .collect();
        ranks.sort_by(|one, two| {
            let by_value = two.raroi.total_cmp(&one.raroi);
            by_value
                .then_with(|| two.gain.total_cmp(&one.gain))
                .then_with(|| one.module.cmp(&two.module))
        });
        ranks
    }

    /// Whether the returns of each of these modules have diminished; for unknown modules there are
    /// too few samples.
    pub fn check_diminishing_returns<'m>(
        &self,
        rule: DiminishingReturnsRule,
        modules: impl IntoIterator<Item = &'m str>,
    ) -> BTreeMap<String, StatisticalDecision> {
        let deltas = |path: &str| {
            self.history.module_deltas.get(path).map(Vec::as_slice).unwrap_or_default()
        };
        let modules = modules.into_iter();
        modules
            .map(|path| (path.to_owned(), check_diminishing_returns(deltas(path), rule)))
            .collect()
    }

    /// The next value of a metric of the run, on a straight line through its last values.
    pub fn project_metric(&self, metric: &str) -> Option<f64> {
        let values = self.history.metrics_history.get(metric)?;
        extrapolate_line(last_values(values, PROJECTION_CYCLES)).filter(|value| value.is_finite())
    }
}

fn push_value(histories: &mut BTreeMap<String, Vec<f64>>, key: &str, value: Option<f64>) {
    if let Some(value) = value {
        histories.entry(key.to_owned()).or_default().push(value);
    }
}

fn append(
    histories: &mut BTreeMap<String, Vec<f64>>,
    metrics: &MetricValues,
    named: impl Fn(&str) -> String,
) {
    for (name, value) in metrics.iter() {
        histories.entry(named(name)).or_default().push(value);
    }
}
