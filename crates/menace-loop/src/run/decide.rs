//! Decisions after a cycle: continue or stop, which modules to leave out, which to run again.
//!
//! | module | contents |
//! |---|---|
//! | `rules` | settings → when ROI and synergy count as converged |
//! | `models` | the files of both models |
//! | `logs` | `threshold_log.jsonl`, `--forecast-log` |
//! | `calibration` | the model of forecast errors |
//! | `foresight` | the forecast of each module's stability |
//! | `pilot` | a micro-pilot for each borderline module |
//!
//! The statistics are in `menace-track`. Invariant: no decision follows from a cycle that was ended
//! early.

mod calibration;
mod foresight;
mod logs;
mod models;
mod pilot;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use menace_store::DecisionReport;
use menace_track::stats::cold_start::ColdStartCurves;
use menace_track::stats::evidence::DecisionAnswer;
use menace_track::stats::forecast::{ForecastOptions, MetricForecast};
use menace_track::stats::forecast_calibrator::{CalibrationError, ForecastCalibrator};
use menace_track::stats::foresight::CollapsePrediction;
use menace_track::{
    ConvergenceReport, CycleScores, MetricValues, ModuleFacts, RoiBottleneck, RoiHistory, Tracker,
    compute_risk, find_bottlenecks,
};

use super::measure::CycleMeasurement;
use super::persist::metric_map;
use super::score::CycleEvaluation;
use super::warnings::RunWarning;
use super::{RunError, RunRequest};

use calibration::{CalibrationEvidence, CalibrationState};
use foresight::{ForesightTrackers, StabilitySample};

pub use calibration::{CALIBRATION_FILE, calibrated};
pub use foresight::ColdStartFileError;
pub(super) use foresight::read_cold_start_curves;
pub(super) use models::DecisionModels;
pub(super) use pilot::{PilotResults, test_borderline_modules};

/// Bottlenecks of a module that are reported.
const MAX_BOTTLENECKS: usize = 3;

/// A scored cycle, and everything else that decisions about it depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecisionInput<'d> {
    pub request: &'d RunRequest<'d>,
    pub cold_start_curves: &'d ColdStartCurves,
    /// The time of the decision.
    pub at_ms: i64,
    pub cycle: u32,
    /// Which cycles this one compares with.
    pub comparison_key: &'d str,
    pub measurement: &'d CycleMeasurement,
    pub evaluation: &'d CycleEvaluation,
}

/// The decisions after a cycle.
#[derive(Debug)]
pub(super) struct CycleDecisions {
    convergence: ConvergenceReport,
    /// Paths of modules to flag; empty after a cycle that was cut short.
    pub converged_modules: BTreeSet<String>,
    /// Paths of modules that have reached their entropy cap; empty likewise.
    pub entropy_capped_modules: BTreeSet<String>,
    /// Further cycles of this run would not change its numbers.
    pub has_converged: bool,
    forecast: Option<MetricForecast>,
    confidence: BTreeMap<String, f64>,
    bottlenecks: BTreeMap<String, Vec<RoiBottleneck>>,
    evidence: CalibrationEvidence,
    /// The calibrated forecast of the next ROI.
    calibration: CalibrationState,
    /// Modules whose ROI is not stable.
    collapse: BTreeMap<String, CollapsePrediction>,
    models: UpdatedModels,
    pub warnings: Vec<RunWarning>,
}

/// The models after a cycle; none where it does not change them.
#[derive(Debug, Default)]
struct UpdatedModels {
    calibration: Option<ForecastCalibrator>,
    foresight: Option<ForesightTrackers>,
}

impl DecisionInput<'_> {
    /// Decides on a cycle. `tracker` has the cycles that it compares with, and the cycle itself
    /// unless that was cut short.
    pub(super) fn decide(
        &self,
        tracker: &mut Tracker,
        models: &DecisionModels,
    ) -> Result<CycleDecisions, CalibrationError> {
        let CycleEvaluation { scores, predictions, is_breadth_complete, .. } = self.evaluation;
        let rules = rules::convergence_rules(self.request.settings);
        let convergence =
            tracker.decide_convergence(&rules, scores.modules.keys().map(String::as_str));
        let forecast = tracker.forecast_roi(ForecastOptions::default());
        let confidence = scores.modules.keys();
        let confidence =
            confidence.filter_map(|path| Some((path.clone(), tracker.module_confidence(path)?)));
        let flagged = |modules: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
            modules.filter(|_| *is_breadth_complete).map(str::to_owned).collect()
        };
        let converged_modules = flagged(&mut convergence.converged_modules());
        let entropy_capped_modules = flagged(&mut convergence.entropy_capped_modules());
        let history = tracker.history();
        let evidence = CalibrationEvidence::collect(history, forecast.as_ref(), predictions);
        let mut calibration = CalibrationState::default();
        let mut collapse = BTreeMap::new();
        let mut updated = UpdatedModels::default();
        if *is_breadth_complete {
            (updated.calibration, calibration) =
                self.calibrate(models.calibration.loaded().cloned(), &evidence)?;
            let mut foresight = models.foresight.loaded().cloned().unwrap_or_default();
            collapse = self.record_foresight(&mut foresight);
            updated.foresight = Some(foresight);
        }
        let mut warnings: Vec<RunWarning> = foresight::collapse_warnings(&collapse).collect();
        warnings.extend(converged_warning(&converged_modules));
        Ok(CycleDecisions {
            converged_modules,
            entropy_capped_modules,
            has_converged: *is_breadth_complete && convergence.converged,
            confidence: confidence.collect(),
            bottlenecks: module_bottlenecks(scores, &self.measurement.modules, history),
            evidence,
            calibration,
            collapse,
            models: updated,
            warnings,
            convergence,
            forecast,
        })
    }

    fn calibrate(
        &self,
        stored: Option<ForecastCalibrator>,
        evidence: &CalibrationEvidence,
    ) -> Result<(Option<ForecastCalibrator>, CalibrationState), CalibrationError> {
        calibration::calibrate(stored, evidence, self.comparison_key, &logs::timestamp(self.at_ms))
    }

    /// Adds the cycle to the forecasts of stability.
    fn record_foresight(
        &self,
        trackers: &mut ForesightTrackers,
    ) -> BTreeMap<String, CollapsePrediction> {
        let modules = self.evaluation.scores.modules.iter();
        let rois = modules.filter_map(|(path, one)| Some((path.clone(), one.roi_value()?)));
        let sample = StabilitySample {
            rois: rois.collect(),
            stress: self.measurement.stress,
            // The ROI of a module does not depend on which other modules are left out.
            sections_text: &self.request.sections_text,
        };
        foresight::record(trackers, &sample, self.cold_start_curves)
    }

    /// Writes models and logs; a cycle that was cut short changes none of them.
    pub(super) fn persist(
        &self,
        decisions: &CycleDecisions,
        models: &DecisionModels,
    ) -> Result<Vec<RunWarning>, RunError> {
        if !self.evaluation.is_breadth_complete {
            return Ok(Vec::new());
        }
        let UpdatedModels { calibration, foresight } = &decisions.models;
        let calibration_warning = models.calibration.replace(calibration.clone(), |stored| {
            Ok(self.calibrate(stored, &decisions.evidence)?.0)
        })?;
        let foresight_warning = models.foresight.replace(foresight.clone(), |stored| {
            let mut trackers = stored.unwrap_or_default();
            self.record_foresight(&mut trackers);
            Ok(Some(trackers))
        })?;
        logs::append(self, decisions)?;
        Ok(calibration_warning.into_iter().chain(foresight_warning).collect())
    }
}

impl CycleDecisions {
    /// The decisions as the report has them.
    pub(super) fn into_report(self, predictions: &MetricValues) -> DecisionReport {
        let mut convergence = self.convergence;
        convergence.modules.retain(|_, decision| decision.answer != DecisionAnswer::TooFewSamples);
        DecisionReport {
            convergence,
            forecast: self.forecast,
            calibrated: self.calibration.next,
            drifts: self.calibration.drifts,
            predictions: metric_map(predictions),
            confidence: self.confidence,
            bottlenecks: self.bottlenecks,
            collapse: self.collapse,
            borderline: Vec::new(),
            borderline_evidence: BTreeMap::new(),
        }
    }
}

fn module_bottlenecks(
    scores: &CycleScores,
    modules: &[ModuleFacts],
    history: &RoiHistory,
) -> BTreeMap<String, Vec<RoiBottleneck>> {
    let severities: BTreeMap<&str, f64> =
        modules.iter().map(|module| (module.path.as_str(), module.severity)).collect();
    let mut bottlenecks = BTreeMap::new();
    for (path, scored) in &scores.modules {
        let Some(roi) = &scored.roi else { continue };
        let deltas = history.module_deltas.get(path).map(Vec::as_slice).unwrap_or_default();
        let risk = compute_risk(&scored.metrics, severities.get(path.as_str()).copied(), deltas);
        let mut found = find_bottlenecks(roi, &risk);
        found.truncate(MAX_BOTTLENECKS);
        bottlenecks.insert(path.clone(), found);
    }
    bottlenecks
}

fn converged_warning(modules: &BTreeSet<String>) -> Option<RunWarning> {
    if modules.is_empty() {
        return None;
    }
    tracing::debug!("converged modules: {modules:?}");
    Some(RunWarning::ModulesConverged(modules.iter().cloned().collect()))
}
