//! Scores a measured cycle against the earlier ones and adds it to their history.
//!
//! Reads no files, since scoring is repeated under the lock when the history has changed meanwhile.
//! Invariant: a cycle that was ended early, or that is comparable with no earlier one, has no
//! deltas; one that was ended early is not added to the history.

use std::collections::BTreeMap;

use menace_track::comparison;
use menace_track::{
    CycleDiscrepancy, CycleScores, DISCREPANCY_COUNT, MetricValues, RoiProfile, TalliedCell,
    Tracker, compute_roi, find_unequal_results, find_unusual_metrics, find_unusual_modules,
    find_unusual_scenarios, score_cycle,
};

use super::RunRequest;
use super::measure::{CycleMeasurement, PLUGIN_PREFIX, mean};
use super::presets;
use super::signatures::SectionSignatures;
use super::synergy::SynergyMeasurement;
use crate::cycle::{CyclePlan, CycleResult, DepthCompletion, SharedRun};
use crate::metrics::PluginPrediction;

/// A measured cycle that is about to be added to the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct CycleEntry<'c> {
    pub profile: &'c RoiProfile,
    pub plan: &'c CyclePlan<'c>,
    pub measurement: &'c CycleMeasurement,
    pub signatures: &'c SectionSignatures<'c>,
    pub shared_run: Option<&'c SharedRun>,
    /// Which cycles this one compares with, see [`build_comparison_key`].
    pub comparison_key: &'c str,
    /// Whether the deadline ended at most the depth phase early.
    pub is_breadth_complete: bool,
}

/// ROI, synergy and discrepancies of a cycle.
#[derive(Debug)]
pub(super) struct CycleEvaluation {
    pub scores: CycleScores,
    pub discrepancies: Vec<CycleDiscrepancy>,
    /// `pred_<metric>` for the next cycle.
    pub predictions: MetricValues,
    /// Whether the deadline ended at most the depth phase early, so that the cycle is comparable
    /// with others.
    pub is_breadth_complete: bool,
}

/// Names the sections of a cycle. Cycles compare when these are equal: the same selection, and
/// either all findings of the depth phase or none.
pub(super) fn build_comparison_key(
    request: &RunRequest<'_>,
    result: &CycleResult,
    left_out: &[&str],
) -> String {
    let depth = if result.depth == DepthCompletion::Cut { "depth cut short" } else { "" };
    let sections = [request.sections_text.as_str(), depth].join(" ").trim().to_owned();
    comparison::exclude_modules(&sections, left_out)
}

impl CycleEntry<'_> {
    /// Scores the cycle and adds it to the tracker's history.
    pub(super) fn append(&self, tracker: &mut Tracker) -> CycleEvaluation {
        let has_same_modules = comparison::is_same(tracker.history(), self.comparison_key);
        let has_same_sections =
            comparison::has_same_sections(tracker.history(), self.comparison_key);
        let earlier = comparison::remove_incomparable(tracker.history_mut(), self.comparison_key);
        let discrepancies = self.find_discrepancies(tracker);
        let mut scores = self.score(tracker, discrepancies.len());
        if !self.is_breadth_complete || !has_same_sections {
            clear_deltas(&mut scores);
        } else if !has_same_modules {
            // Other modules take part: figures of single modules and sections are comparable, sums
            // are not.
            for scored in scores.scenarios.values_mut().chain([&mut scores.run]) {
                scored.roi_delta = None;
            }
        }
        let fingerprints = presets::fingerprints(&self.plan.scenarios);
        presets::clear_changed_deltas(&mut scores, tracker.history(), &fingerprints);
        if self.is_breadth_complete {
            self.add_to_history(tracker, &scores, &fingerprints);
        }
        let predictions = tracker.predict_all_metrics(&tracker.predictor_panel());
        if self.is_breadth_complete {
            comparison::record_start(tracker.history_mut(), self.comparison_key, &earlier);
        }
        comparison::restore(tracker.history_mut(), earlier);
        CycleEvaluation {
            scores,
            discrepancies,
            predictions,
            is_breadth_complete: self.is_breadth_complete,
        }
    }

    fn find_discrepancies(&self, tracker: &Tracker) -> Vec<CycleDiscrepancy> {
        let history = tracker.history();
        let metrics = &self.measurement.metrics;
        let rois = metrics.modules.iter().filter_map(|(path, metrics)| {
            Some((path.clone(), compute_roi(self.profile, metrics)?.value))
        });
        let mut found = find_unequal_results(&self.measurement.cells);
        found.extend(find_unusual_metrics(&metrics.run, &history.metrics_history));
        found.extend(find_unusual_scenarios(&metrics.scenarios, &history.metrics_history));
        found.extend(find_unusual_modules(rois, &history.module_roi));
        found.extend(self.signatures.find_changes(history));
        found
    }

    fn score(&self, tracker: &Tracker, discrepancies: usize) -> CycleScores {
        let CycleMeasurement { metrics, modules, scenarios, text_synergy, .. } = self.measurement;
        let failures = self.shared_run.map_or(0, |shared| shared.failures.len());
        let mut metrics = metrics.clone();
        metrics.run.set(DISCREPANCY_COUNT, (discrepancies + failures) as f64);
        let mut scores = score_cycle(&metrics, modules, self.profile, tracker);
        let Some(shared_run) = self.shared_run else { return scores };
        let measurement = SynergyMeasurement {
            shared_run,
            plan: self.plan,
            scenarios,
            profile: self.profile,
            severity: mean(modules.iter().map(|module| module.severity)),
        };
        let mut synergy = measurement.measure_baseline();
        synergy.metrics.extend(&measurement.measure_faults());
        synergy.metrics.extend(text_synergy);
        // A projected difference: the projection of the differences so far.
        let projected = tracker.project_metric("synergy_profitability");
        synergy.metrics.set("synergy_projected_lucrativity", projected);
        scores.synergy = Some(synergy);
        scores.scenario_synergy = measurement.measure_scenarios();
        scores
    }

    fn add_to_history(
        &self,
        tracker: &mut Tracker,
        scores: &CycleScores,
        fingerprints: &BTreeMap<String, String>,
    ) {
        // Before the update: compares the predictions for this cycle with its metrics.
        tracker.compare_predictions(&tracker.predictor_panel(), scores);
        tracker.update(scores);
        presets::record(tracker.history_mut(), fingerprints);
        self.signatures.record(tracker);
        for prediction in &self.measurement.plugin_predictions {
            let PluginPrediction { plugin, metric, predicted, actual } = prediction;
            tracker.record_external_prediction(plugin, metric, *predicted, *actual);
            if let Some(actual) = actual {
                let name = format!("{PLUGIN_PREFIX}{metric}");
                tracker.record_metric_prediction(&name, *predicted, *actual);
            }
        }
        tracker.record_resources(&used_resources(&self.measurement.cells));
        tracker.record_source_changes(&self.measurement.modules, scores);
    }
}

fn clear_deltas(scores: &mut CycleScores) {
    let CycleScores { run, modules, sections, scenarios, .. } = scores;
    let parts = modules.values_mut().chain(sections.values_mut()).chain(scenarios.values_mut());
    for scored in parts.chain([run]) {
        scored.roi_delta = None;
    }
}

/// The resources that the calls of a cycle used, under the names that forecasts use.
fn used_resources(cells: &[TalliedCell]) -> BTreeMap<String, f64> {
    let costs = || cells.iter().map(|cell| cell.tally.costs());
    let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
    let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
    let cpu = sum(&mut cells.iter().map(|cell| cell.tally.cpu_ns));
    let time = sum(&mut costs().map(|costs| costs.wall_ns.sum()));
    let disk = sum(&mut costs().map(|costs| costs.io_bytes.sum()));
    let memory = costs().map(|costs| costs.memory_bytes.max()).max().unwrap_or_default();
    BTreeMap::from([
        ("cpu".to_owned(), seconds(cpu)),
        ("memory".to_owned(), memory as f64),
        ("disk".to_owned(), disk as f64),
        ("time".to_owned(), seconds(time)),
    ])
}
