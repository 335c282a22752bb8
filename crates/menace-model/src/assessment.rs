//! How much a finding is worth: how likely its maintainer takes it for a bug, and how bad it is.

use serde::{Deserialize, Serialize};

use crate::{FailureId, SectionExposure, SectionId};

/// The assessment of a failure. Numbers lie in [0, 1].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingAssessment {
    /// How likely a maintainer takes it for a bug of the section.
    pub confidence: f64,
    /// How bad it is if it is one.
    pub severity: f64,
    pub exposure: SectionExposure,
    /// What raised and what lowered the confidence, strongest first.
    pub reasons: Vec<String>,
    /// Number of the common weakness, where one fits.
    pub cwe: Option<u16>,
    /// The finding that is shown for the same root.
    pub duplicate_of: Option<FailureId>,
    /// Other sections through which the same root is reached.
    pub ways_in: Vec<SectionId>,
}

impl FindingAssessment {
    /// Findings below are not shown unless they are asked for. Calibrated on the judged packages of
    /// docs/benchmarks.md.
    pub const DEFAULT_MIN_CONFIDENCE: f64 = 0.4;

    /// Whether it is shown at this threshold.
    pub fn is_shown(&self, min_confidence: f64) -> bool {
        self.duplicate_of.is_none() && self.confidence >= min_confidence
    }

    /// What findings are sorted by, the highest first.
    pub fn rank(&self) -> f64 {
        self.confidence * (0.5 + 0.5 * self.severity)
    }
}
