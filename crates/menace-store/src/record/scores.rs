//! The stored scores of cells, sections, modules and scenarios; `menace-track` computes them.

use std::collections::BTreeMap;

use menace_model::{ScenarioSeverity, SectionId, Verdict};
use serde::Serialize;

use super::{CellKey, StoredMetricMap};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellRecord {
    pub key: CellKey,
    pub severity: Option<ScenarioSeverity>,
    /// `None` when the run ended before its calls were counted.
    pub calls: Option<u64>,
    pub verdicts: BTreeMap<Verdict, u64>,
    pub roi: Option<f64>,
    pub metrics: StoredMetricMap,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SectionRecord {
    pub cycle: u32,
    pub section: SectionId,
    /// A text that changes when the section's signature changes.
    pub signature: Option<String>,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
    pub metrics: StoredMetricMap,
    /// Why the section could not be called.
    #[serde(rename = "unreachable")]
    pub uncallable_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModuleRecord {
    pub cycle: u32,
    pub path: String,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
    pub metrics: StoredMetricMap,
    pub flagged: bool,
    pub risk_flags: serde_json::Value,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenarioRecord {
    pub cycle: u32,
    pub scenario: String,
    pub severity: Option<ScenarioSeverity>,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
    pub metrics: StoredMetricMap,
}
