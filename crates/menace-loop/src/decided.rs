//! What a run concludes from its histories, as machines read it: part of `menace run --format json`.

use std::collections::BTreeMap;

use menace_store::Candidate;
use menace_track::stats::evidence::Decision;
use menace_track::stats::forecast::Forecast;
use menace_track::stats::foresight::Collapse;
use menace_track::stats::truth::{Calibrated, FeatureDrift};
use menace_track::{Bottleneck, Judgement};
use serde::{Deserialize, Serialize};

/// After the last cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// Thresholds, and every decision with its evidence; of modules, those that have a long enough past.
    pub judgement: Judgement,
    /// ROI of the next cycle; none without a history.
    pub forecast: Option<Forecast>,
    /// The same by a model of how far forecasts were off; none before there are enough of them.
    pub calibrated: Option<Calibrated>,
    /// How far forecasts have moved from those that this model was trained on, feature by feature; empty while
    /// too few are new.
    #[serde(default)]
    pub drifts: Vec<FeatureDrift>,
    /// `pred_<metric>` for the next cycle.
    pub predictions: BTreeMap<String, f64>,
    /// How far the returns of each workflow can be trusted, where that is known.
    pub confidence: BTreeMap<String, f64>,
    /// What holds each workflow back most.
    pub bottlenecks: BTreeMap<String, Vec<Bottleneck>>,
    /// Workflows that do not hold their ROI.
    pub collapse: BTreeMap<String, Collapse>,
    /// Workflows on the border, and what became of them.
    pub borderline: Vec<Candidate>,
    /// How far each of them was from the border when the run looked last.
    #[serde(default)]
    pub borderline_evidence: BTreeMap<String, Decision>,
}
