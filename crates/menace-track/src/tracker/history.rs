//! The shape of `roi_history.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModuleShape;
use crate::MetricValues;
use crate::predict::PredictorErrors;
use crate::stats::entropy::SourceDelta;

/// Each list has one value per cycle, oldest first. A cycle without a value leaves no gap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoiHistory {
    /// Number of recorded cycles.
    pub cycles: u64,
    /// ROI of the run.
    pub roi_history: Vec<f64>,
    pub roi_deltas: Vec<f64>,
    pub raroi_history: Vec<f64>,
    /// By path of the module.
    pub module_roi: BTreeMap<String, Vec<f64>>,
    pub module_raroi: BTreeMap<String, Vec<f64>>,
    pub module_deltas: BTreeMap<String, Vec<f64>>,
    /// The synergy that is attributed to a module.
    pub module_synergy: BTreeMap<String, Vec<f64>>,
    /// By id of the section.
    pub section_roi: BTreeMap<String, Vec<f64>>,
    pub section_deltas: BTreeMap<String, Vec<f64>>,
    /// By name of the scenario.
    pub scenario_roi: BTreeMap<String, Vec<f64>>,
    pub scenario_roi_deltas: BTreeMap<String, Vec<f64>>,
    /// The run's metrics and `synergy_<metric>` under their names, those of a scenario as
    /// `<scenario>:<metric>`.
    pub metrics_history: BTreeMap<String, Vec<f64>>,
    /// All synergy metrics of each combined phase.
    pub synergy_history: Vec<MetricValues>,
    pub scenario_synergy: BTreeMap<String, Vec<MetricValues>>,
    /// Forecasts of ROI, and the actual values at the same positions.
    pub predicted_roi: Vec<f64>,
    pub actual_roi: Vec<f64>,
    /// Forecasts of each metric, and the actual values at the same positions.
    pub predicted_metrics: BTreeMap<String, Vec<f64>>,
    pub actual_metrics: BTreeMap<String, Vec<f64>>,
    /// The predictions for the next cycle, as `pred_<metric>`.
    #[serde(skip_serializing_if = "MetricValues::is_empty")]
    pub predictions: MetricValues,
    /// Predictions of plugins for the next cycle, by plugin and metric.
    #[serde(alias = "heard", skip_serializing_if = "BTreeMap::is_empty")]
    pub external_predictions: BTreeMap<String, BTreeMap<String, f64>>,
    /// The last errors of each predictor on each metric.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub predictor_errors: PredictorErrors,
    /// The last errors of forecasts of each module's ROI.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_errors: BTreeMap<String, Vec<f64>>,
    /// The resources that cycles used, by resource: `cpu`, `memory`, `disk`, `time`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_history: BTreeMap<String, Vec<f64>>,
    /// Entropy, complexity and ROI of each module when it was last measured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_shapes: BTreeMap<String, ModuleShape>,
    /// The source changes of each module, as changes of entropy, complexity and ROI.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(rename = "module_patches")]
    pub module_source_changes: BTreeMap<String, Vec<SourceDelta>>,
    /// Change in entropy per change in complexity, one value per source change.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_entropy_deltas: BTreeMap<String, Vec<f64>>,
    /// Fields that other programs, or later versions, keep in the same file.
    #[serde(flatten)]
    pub extra_fields: Map<String, Value>,
}
