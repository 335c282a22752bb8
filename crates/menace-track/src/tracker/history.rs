//! The shape of `roi_history.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModuleShape;
use crate::MetricValues;
use crate::predict::PredictorErrors;
use crate::stats::entropy::PatchDelta;

/// One value per cycle in each list, oldest first. What is absent in a cycle leaves no gap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoiHistory {
    /// How many cycles were remembered.
    pub cycles: u64,
    /// Of the run.
    pub roi_history: Vec<f64>,
    pub roi_deltas: Vec<f64>,
    pub raroi_history: Vec<f64>,
    /// By path.
    pub module_roi: BTreeMap<String, Vec<f64>>,
    pub module_raroi: BTreeMap<String, Vec<f64>>,
    pub module_deltas: BTreeMap<String, Vec<f64>>,
    /// What synergy is attributed to a module.
    pub module_synergy: BTreeMap<String, Vec<f64>>,
    /// By id.
    pub section_roi: BTreeMap<String, Vec<f64>>,
    pub section_deltas: BTreeMap<String, Vec<f64>>,
    /// By name.
    pub scenario_roi: BTreeMap<String, Vec<f64>>,
    pub scenario_roi_deltas: BTreeMap<String, Vec<f64>>,
    /// The run's under their names, a scenario's as `<scenario>:<metric>`, `synergy_<metric>` too.
    pub metrics_history: BTreeMap<String, Vec<f64>>,
    /// All synergy metrics of each combined phase.
    pub synergy_history: Vec<MetricValues>,
    pub scenario_synergy: BTreeMap<String, Vec<MetricValues>>,
    /// Forecasts of ROI and what came of them, in pairs.
    pub predicted_roi: Vec<f64>,
    pub actual_roi: Vec<f64>,
    /// The same of metrics.
    pub predicted_metrics: BTreeMap<String, Vec<f64>>,
    pub actual_metrics: BTreeMap<String, Vec<f64>>,
    /// `pred_<metric>` for the next cycle.
    #[serde(skip_serializing_if = "MetricValues::is_empty")]
    pub predictions: MetricValues,
    /// Predictions of plugins for the next cycle, by plugin and metric.
    #[serde(alias = "heard", skip_serializing_if = "BTreeMap::is_empty")]
    pub external_predictions: BTreeMap<String, BTreeMap<String, f64>>,
    /// How far each predictor was off on each metric, of late.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub predictor_errors: PredictorErrors,
    /// How far the forecasts of a module's ROI were off, of late.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_errors: BTreeMap<String, Vec<f64>>,
    /// What cycles used of the machine.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_history: BTreeMap<String, Vec<f64>>,
    /// How modules were when they were measured last.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_shapes: BTreeMap<String, ModuleShape>,
    /// What their source went through since.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_patches: BTreeMap<String, Vec<PatchDelta>>,
    /// Change in entropy per change in complexity, patch by patch.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub module_entropy_deltas: BTreeMap<String, Vec<f64>>,
    /// What other programs, or later versions, keep in the same file.
    #[serde(flatten)]
    pub extra_fields: Map<String, Value>,
}
