//! What a run decided and predicted from its histories: the `decisions` of a [`RunReport`].
//!
//! [`RunReport`]: crate::RunReport

use std::collections::BTreeMap;

use menace_track::stats::evidence::StatisticalDecision;
use menace_track::stats::forecast::MetricForecast;
use menace_track::stats::foresight::CollapsePrediction;
use menace_track::stats::truth::{CalibratedPrediction, FeatureDrift};
use menace_track::{ConvergenceReport, RoiBottleneck};
use serde::{Deserialize, Serialize};

use crate::BorderlineCandidate;

/// The state after the last cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// Thresholds, and every decision with its evidence, of modules with enough history.
    #[serde(alias = "judgement")]
    pub convergence: ConvergenceReport,
    /// ROI of the next cycle; none without a history.
    pub forecast: Option<MetricForecast>,
    /// The same forecast, corrected by a model of earlier forecast errors; none before there are
    /// enough of them.
    pub calibrated: Option<CalibratedPrediction>,
    /// How far forecasts have moved from those that this model was trained on, feature by feature;
    /// empty while too few are new.
    #[serde(default)]
    pub drifts: Vec<FeatureDrift>,
    /// `pred_<metric>` for the next cycle.
    pub predictions: BTreeMap<String, f64>,
    /// How far the ROI of each workflow can be trusted, where that is known.
    pub confidence: BTreeMap<String, f64>,
    /// The metrics that lower each workflow's ROI most.
    pub bottlenecks: BTreeMap<String, Vec<RoiBottleneck>>,
    /// Workflows whose ROI is predicted to fall.
    pub collapse: BTreeMap<String, CollapsePrediction>,
    /// Workflows on the border of a decision, and the results of their micro-pilots.
    pub borderline: Vec<BorderlineCandidate>,
    /// How far each of them was from the border at the end of the run.
    #[serde(default)]
    pub borderline_evidence: BTreeMap<String, StatisticalDecision>,
}
