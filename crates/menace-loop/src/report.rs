//! What a run found, as machines read it: `menace run --format json`.
//!
//! Every field is part of the interface; new ones may come, old ones keep their meaning.

use std::collections::BTreeMap;

use menace_model::{Failure, SectionId, Verdict};
use serde::{Deserialize, Deserializer, Serialize};

use crate::decided::Decided;

pub const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    pub version: u32,
    pub run_id: String,
    /// `finished`, or `cut_short` when the time was up first.
    pub status: String,
    pub seed: u64,
    pub elapsed_s: f64,
    pub cycles: usize,
    pub sections: usize,
    /// The same for the same seed, as long as there is time for all.
    pub calls: u64,
    /// Made beside those to see how time grows; how many that takes depends on the machine.
    #[serde(default)]
    pub timing_calls: u64,
    pub coverage: CoverageReport,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Of the last cycle; `null`, and no number, when nothing was called.
    #[serde(deserialize_with = "number_or_null")]
    pub roi: f64,
    pub roi_delta: Option<f64>,
    pub scenarios: Vec<ScenarioReport>,
    /// The weakest first.
    pub modules: Vec<ModuleRow>,
    /// New ones first.
    pub failures: Vec<FailureReport>,
    pub worst_scenario: Option<String>,
    pub synergy: BTreeMap<String, f64>,
    pub discrepancies: Vec<String>,
    /// Modules that cannot be imported.
    pub not_importable: Vec<NotImportable>,
    /// Sections that no call can reach.
    pub unreachable: Vec<Unreachable>,
    /// What there was no time for.
    pub not_covered: Vec<NotCovered>,
    pub warnings: Vec<String>,
    /// What the histories say after the last cycle.
    #[serde(default)]
    pub decided: Option<Decided>,
}

/// JSON has no word for what is no number but `null`.
fn number_or_null<'de, D: Deserializer<'de>>(reader: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(reader)?.unwrap_or(f64::NAN))
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoverageReport {
    /// Sections that were called.
    pub called: usize,
    pub unreachable: usize,
    /// Share of the lines of sections that some call reached.
    pub lines: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioReport {
    pub name: String,
    pub roi: f64,
    /// Against the last cycle that had this scenario.
    pub roi_delta: Option<f64>,
    pub calls: u64,
    pub metrics: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleRow {
    pub path: String,
    pub roi: f64,
    pub roi_delta: Option<f64>,
    pub raroi: f64,
    pub metrics: BTreeMap<String, f64>,
    pub risk_flags: Vec<String>,
    /// Its gains have faded: later cycles leave it out.
    pub flagged: bool,
}

impl ModuleRow {
    /// The last cycle did not call it: its numbers are those of the last one that did.
    pub fn is_left_out(&self) -> bool {
        self.flagged && self.metrics.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureReport {
    pub id: String,
    pub section: SectionId,
    pub scenario: String,
    pub kind: String,
    pub verdict: Verdict,
    pub exception: Option<String>,
    pub message: String,
    /// As Python source.
    pub input: String,
    /// `file:line`.
    pub location: String,
    pub count: u64,
    /// No earlier run has seen it.
    pub new: bool,
}

impl FailureReport {
    pub fn new(failure: &Failure, count: u64, new: bool) -> Self {
        Self {
            id: failure.id.0.clone(),
            section: failure.section.clone(),
            scenario: failure.scenario.clone(),
            kind: failure.kind.as_str().to_owned(),
            verdict: failure.verdict,
            exception: failure.exception.clone(),
            message: failure.message.clone(),
            input: crate::failure::python(&failure.call),
            location: failure.location.to_string(),
            count,
            new,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotImportable {
    pub module: String,
    pub why: String,
    /// The package that is not installed, when that is why.
    pub missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreachable {
    pub section: SectionId,
    pub why: String,
}

/// A stage that the time was up for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCovered {
    /// `normal`, another scenario, or `depth`.
    pub what: String,
    pub sections: usize,
    /// The first fifty of them; none of stages that are not about single sections.
    #[serde(default)]
    pub ids: Vec<SectionId>,
}
