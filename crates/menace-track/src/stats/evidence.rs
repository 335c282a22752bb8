//! The evidence of a decision: values, tests and thresholds.
//!
//! Logs, files and pages show it as it is. Invariant: a decision without enough samples says so and
//! is never a yes.

use serde::{Deserialize, Serialize};

/// One question that was put to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionCheck {
    /// Is the mean within the threshold?
    Mean,
    /// Is the standard deviation below its limit?
    Deviation,
    /// Does Student's t put the mean within the threshold with the confidence asked for?
    Equivalence,
    /// Does the value move with time?
    Trend,
    /// Does the series return to its mean (Dickey and Fuller)?
    Stationarity,
    /// Do both halves vary alike (Levene)?
    EqualVariance,
    /// Is the gain per unit of entropy above its floor?
    EntropyCeiling,
    /// Have the entropy ratios been low for long enough?
    EntropyPlateau,
    /// Does a workflow's risk-adjusted return reach the border?
    Raroi,
    /// Can its returns be trusted as far as the border asks for?
    WorkflowConfidence,
    /// Do values fill the bins of those before them (population stability index)?
    PopulationStability,
    /// Is their distribution as close to that of those before (Kolmogorov and Smirnov)?
    Distance,
}

/// The answer to one question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DecisionEvidence {
    /// The question.
    pub check: DecisionCheck,
    /// What was computed.
    pub statistic: f64,
    /// What it was compared with.
    pub threshold: f64,
    /// The probability of such a statistic by chance, where the test has one.
    pub p_value: Option<f64>,
    /// Values that went in.
    pub samples: usize,
    /// Whether the answer speaks for the decision.
    pub holds: bool,
}

impl DecisionEvidence {
    /// Of a check without a p-value.
    pub fn new(check: DecisionCheck, value: f64, limit: f64, samples: usize, holds: bool) -> Self {
        Self { check, statistic: value, threshold: limit, p_value: None, samples, holds }
    }

    pub(crate) fn with_p_value(self, p_value: f64) -> Self {
        Self { p_value: Some(p_value), ..self }
    }
}

/// How a decision came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionVerdict {
    /// All evidence speaks for it.
    Yes,
    /// Some of it does not.
    No,
    /// There is not enough to tell.
    TooFewSamples,
}

/// A decision and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatisticalDecision {
    /// How it came out.
    pub verdict: DecisionVerdict,
    /// How sure it is, in [0, 1]; zero without enough samples.
    pub confidence: f64,
    /// Samples that are needed at least.
    pub needed: usize,
    /// Samples that there were.
    pub samples: usize,
    /// What it rests on.
    pub evidence: Vec<DecisionEvidence>,
}

impl StatisticalDecision {
    /// Not enough to tell.
    pub fn too_few_samples(needed: usize, samples: usize) -> Self {
        Self {
            verdict: DecisionVerdict::TooFewSamples,
            confidence: 0.0,
            needed,
            samples,
            evidence: Vec::new(),
        }
    }

    /// Yes if all the evidence holds.
    pub fn from_evidence(
        evidence: Vec<DecisionEvidence>,
        confidence: f64,
        needed: usize,
        samples: usize,
    ) -> Self {
        let all = !evidence.is_empty() && evidence.iter().all(|piece| piece.holds);
        let verdict = if all { DecisionVerdict::Yes } else { DecisionVerdict::No };
        Self { verdict, confidence: confidence.clamp(0.0, 1.0), needed, samples, evidence }
    }

    /// Whether the answer is yes.
    pub fn is_yes(&self) -> bool {
        self.verdict == DecisionVerdict::Yes
    }

    /// The answer to one question, if it was put.
    pub fn evidence_for(&self, check: DecisionCheck) -> Option<&DecisionEvidence> {
        self.evidence.iter().find(|piece| piece.check == check)
    }
}
