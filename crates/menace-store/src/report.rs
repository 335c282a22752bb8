//! The report of a run: stored as its summary, printed by `menace run --format json`, read by the
//! dashboard.
//!
//! Every field is part of the interface: fields may be added, and existing ones keep their meaning.

use std::collections::BTreeMap;

use menace_model::{Failure, SectionId, Verdict, WeaknessKind};
use serde::{Deserialize, Serialize};

use crate::{DecisionReport, RunStatus};

pub const REPORT_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    pub version: u32,
    pub run_id: String,
    pub status: RunStatus,
    pub seed: u64,
    pub elapsed_s: f64,
    pub cycles: usize,
    pub sections: usize,
    /// Equal for equal seeds, unless the time limit ended the run.
    pub calls: u64,
    /// Additional calls that measure how time grows with the size of the input; their number
    /// depends on the machine.
    #[serde(default)]
    pub timing_calls: u64,
    pub coverage: CoverageReport,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// ROI of the last cycle; `None` when nothing was called.
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
    pub scenarios: Vec<ScenarioReport>,
    /// Weakest modules first.
    pub modules: Vec<ModuleScoreReport>,
    /// New failures first.
    pub failures: Vec<FailureReport>,
    pub worst_scenario: Option<String>,
    pub synergy: BTreeMap<String, f64>,
    pub discrepancies: Vec<String>,
    /// Modules that cannot be parsed or imported, or whose functions import a missing package.
    pub not_importable: Vec<ImportFailureReport>,
    /// Sections that no call can reach.
    #[serde(rename = "unreachable")]
    pub uncallable_sections: Vec<UncallableSectionReport>,
    /// Stages that the time limit ended early.
    #[serde(rename = "not_covered")]
    pub skipped_stages: Vec<SkippedStageReport>,
    pub warnings: Vec<String>,
    /// Decisions and predictions after the last cycle.
    #[serde(alias = "decided", default)]
    pub decisions: Option<DecisionReport>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoverageReport {
    /// Sections that were called.
    pub called: usize,
    #[serde(rename = "unreachable")]
    pub uncallable: usize,
    /// Share of the lines of sections that were reached.
    pub lines: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioReport {
    pub name: String,
    pub roi: f64,
    /// The difference to the last cycle with this scenario.
    pub roi_delta: Option<f64>,
    pub calls: u64,
    pub metrics: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleScoreReport {
    pub path: String,
    pub roi: f64,
    pub roi_delta: Option<f64>,
    pub raroi: f64,
    pub metrics: BTreeMap<String, f64>,
    pub risk_flags: Vec<String>,
    /// Whether its ROI has converged, so that later cycles leave it out.
    pub flagged: bool,
}

impl ModuleScoreReport {
    /// Whether the last cycle left it out: its numbers are from the last cycle that did not.
    pub fn is_left_out(&self) -> bool {
        self.flagged && self.metrics.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailureReport {
    pub id: String,
    pub section: SectionId,
    pub scenario: String,
    pub kind: WeaknessKind,
    pub verdict: Verdict,
    pub exception: Option<String>,
    pub message: String,
    /// The input as Python source.
    pub input: String,
    /// `file:line`.
    pub location: String,
    pub count: u64,
    /// See [`crate::RunWriter::is_new`].
    pub new: bool,
}

impl FailureReport {
    pub fn new(failure: &Failure, count: u64, new: bool) -> Self {
        Self {
            id: failure.id.0.clone(),
            section: failure.section.clone(),
            scenario: failure.scenario.clone(),
            kind: failure.kind,
            verdict: failure.verdict,
            exception: failure.exception.clone(),
            message: failure.message.clone(),
            input: failure.call.to_python(),
            location: failure.location.to_string(),
            count,
            new,
        }
    }
}

/// A module that cannot be imported, or whose functions import a missing package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFailureReport {
    pub module: String,
    #[serde(alias = "why")]
    pub reason: String,
    /// The package that is not installed, if that is the reason.
    pub missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UncallableSectionReport {
    pub section: SectionId,
    #[serde(alias = "why")]
    pub reason: String,
}

/// A stage of a run that the time limit can end. In JSON it is one word, or a scenario's label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum SkippedStage {
    Imports,
    /// `normal`, or another scenario with its severity.
    Scenario(String),
    SharedRun,
    Depth,
    Confirmation,
    Cycles,
}

impl SkippedStage {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Imports => "imports",
            Self::Scenario(label) => label,
            Self::SharedRun => "shared_run",
            Self::Depth => "depth",
            Self::Confirmation => "confirmation",
            Self::Cycles => "cycles",
        }
    }

    /// What is counted in this stage.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Cycles => "cycle",
            Self::Confirmation => "candidate",
            _ => "section",
        }
    }
}

impl From<SkippedStage> for String {
    fn from(stage: SkippedStage) -> Self {
        stage.as_str().to_owned()
    }
}

impl From<String> for SkippedStage {
    fn from(word: String) -> Self {
        match word.as_str() {
            "imports" => Self::Imports,
            // Reports of older versions have `together`.
            "shared_run" | "together" => Self::SharedRun,
            "depth" => Self::Depth,
            "confirmation" => Self::Confirmation,
            "cycles" => Self::Cycles,
            _ => Self::Scenario(word),
        }
    }
}

/// A stage that the time limit ended early, or that did not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedStageReport {
    #[serde(alias = "what")]
    pub kind: SkippedStage,
    /// How many of [`SkippedStage::unit`] were skipped.
    #[serde(rename = "sections")]
    pub count: usize,
    /// The first fifty sections; empty for stages that do not concern single sections.
    #[serde(default)]
    pub ids: Vec<SectionId>,
}
