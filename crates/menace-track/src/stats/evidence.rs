//! The evidence of a decision: values, tests and thresholds.
//!
//! Logs, files and pages show evidence as it is. Invariant: a decision without enough samples says
//! so, and is never a yes.

use serde::{Deserialize, Serialize};

/// A check that contributes to a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionCheck {
    /// Is the mean within the threshold?
    Mean,
    /// Is the standard deviation below its limit?
    Deviation,
    /// Does Student's t place the mean within the threshold with the required confidence?
    Equivalence,
    /// Does the value move with time?
    Trend,
    /// Does the series return to its mean (Dickey and Fuller)?
    Stationarity,
    /// Do both halves vary alike (Levene)?
    EqualVariance,
    /// Is the gain per unit of entropy above its floor?
    EntropyCeiling,
    /// Have the entropy ratios been low for enough source changes?
    EntropyPlateau,
    /// Does a module's RAROI reach the threshold for borderline modules?
    Raroi,
    /// Does the confidence in its returns reach that threshold?
    #[serde(rename = "workflow_confidence")]
    ModuleConfidence,
    /// Are values distributed over the bins as the reference is (population stability index)?
    PopulationStability,
    /// Is their distribution as close to that of the reference (Kolmogorov and Smirnov)?
    Distance,
}

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DecisionEvidence {
    /// The check.
    pub check: DecisionCheck,
    /// The computed statistic.
    pub statistic: f64,
    /// The threshold for the statistic.
    pub threshold: f64,
    /// The probability of such a statistic by chance, if the test has one.
    pub p_value: Option<f64>,
    /// Number of values used.
    pub samples: usize,
    /// Whether the result supports the decision.
    pub holds: bool,
}

impl DecisionEvidence {
    /// Evidence without a p-value.
    pub fn new(check: DecisionCheck, value: f64, limit: f64, samples: usize, holds: bool) -> Self {
        Self { check, statistic: value, threshold: limit, p_value: None, samples, holds }
    }

    pub(crate) fn with_p_value(self, p_value: f64) -> Self {
        Self { p_value: Some(p_value), ..self }
    }
}

/// The result of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionAnswer {
    /// All evidence supports it.
    Yes,
    /// Some evidence does not.
    No,
    /// There are too few samples for a decision.
    TooFewSamples,
}

/// A decision and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticalDecision {
    /// The result.
    #[serde(rename = "verdict")]
    pub answer: DecisionAnswer,
    /// The confidence in it, in [0, 1]; zero without enough samples.
    pub confidence: f64,
    /// The fewest samples that are needed.
    pub needed: usize,
    /// The number of samples that were available.
    pub samples: usize,
    /// The checks that the decision is based on.
    pub evidence: Vec<DecisionEvidence>,
}

impl StatisticalDecision {
    /// The decision when there are too few samples.
    pub fn too_few_samples(needed: usize, samples: usize) -> Self {
        Self {
            answer: DecisionAnswer::TooFewSamples,
            confidence: 0.0,
            needed,
            samples,
            evidence: Vec::new(),
        }
    }

    /// Yes if all the evidence supports it.
    pub fn from_evidence(
        evidence: Vec<DecisionEvidence>,
        confidence: f64,
        needed: usize,
        samples: usize,
    ) -> Self {
        let all = !evidence.is_empty() && evidence.iter().all(|piece| piece.holds);
        let answer = if all { DecisionAnswer::Yes } else { DecisionAnswer::No };
        Self { answer, confidence: confidence.clamp(0.0, 1.0), needed, samples, evidence }
    }

    /// Whether the answer is yes.
    pub fn is_yes(&self) -> bool {
        self.answer == DecisionAnswer::Yes
    }

    /// The evidence of one check, if it was made.
    pub fn evidence_for(&self, check: DecisionCheck) -> Option<&DecisionEvidence> {
        self.evidence.iter().find(|piece| piece.check == check)
    }
}
