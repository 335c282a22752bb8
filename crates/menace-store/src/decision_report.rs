//! The `decisions` of a [`RunReport`]: what a run decided and predicted from its histories.
//!
//! [`RunReport`]: crate::RunReport

use std::collections::BTreeMap;

use menace_track::stats::evidence::StatisticalDecision;
use menace_track::stats::forecast::MetricForecast;
use menace_track::stats::forecast_calibrator::{CalibratedPrediction, FeatureDrift};
use menace_track::stats::foresight::CollapsePrediction;
use menace_track::{ConvergenceReport, RoiBottleneck};
use serde::{Deserialize, Serialize};

use crate::BorderlineModule;

/// Decisions and predictions after the last cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// Thresholds, and every decision with its evidence, for modules with enough history.
    #[serde(alias = "judgement")]
    pub convergence: ConvergenceReport,
    /// ROI of the next cycles; `None` without a history.
    pub forecast: Option<MetricForecast>,
    /// The forecast corrected by a model of earlier forecast errors; `None` before there are enough
    /// of them.
    pub calibrated: Option<CalibratedPrediction>,
    /// How much each feature of the forecasts has changed since that model was trained; empty while
    /// there are too few new ones.
    #[serde(default)]
    pub drifts: Vec<FeatureDrift>,
    /// `pred_<metric>` for the next cycle.
    pub predictions: BTreeMap<String, f64>,
    /// The confidence in the returns of each module, where it is known.
    pub confidence: BTreeMap<String, f64>,
    /// The metrics that lower each module's ROI most.
    pub bottlenecks: BTreeMap<String, Vec<RoiBottleneck>>,
    /// Modules whose ROI is predicted to fall.
    pub collapse: BTreeMap<String, CollapsePrediction>,
    /// Borderline modules, and the results of their micro-pilots.
    pub borderline: Vec<BorderlineModule>,
    /// For each of them, the evidence against the thresholds at the end of the run.
    #[serde(default)]
    pub borderline_evidence: BTreeMap<String, StatisticalDecision>,
}
