//! Workflows that are neither good enough to keep nor bad enough to drop.
//!
//! The file that holds them belongs to `menace-store`, trying them in small to `menace-loop`.
//! Invariant: a workflow that meets both thresholds is never put aside.

use serde::{Deserialize, Serialize};

/// Where the border lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Border {
    /// `BORDERLINE_RAROI_THRESHOLD`.
    pub raroi: f64,
    /// `BORDERLINE_CONFIDENCE_THRESHOLD`.
    pub confidence: f64,
}

/// What a micro-pilot ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PilotVerdict {
    /// It held what was asked for.
    Promoted,
    /// It did not.
    Terminated,
}

impl Border {
    /// Whether a workflow is to be put aside. One whose confidence is not known yet has none, where any is
    /// asked for.
    pub fn holds(&self, raroi: f64, confidence: Option<f64>) -> bool {
        raroi < self.raroi || confidence.unwrap_or(0.0) < self.confidence
    }

    /// What becomes of a workflow, by what a micro-pilot measured.
    pub fn judge(&self, raroi: f64, confidence: f64) -> PilotVerdict {
        if raroi >= self.raroi && confidence >= self.confidence {
            PilotVerdict::Promoted
        } else {
            PilotVerdict::Terminated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BORDER: Border = Border { raroi: 0.1, confidence: 0.5 };

    #[test]
    fn either_threshold_puts_a_workflow_aside() {
        assert!(BORDER.holds(0.05, Some(0.9)));
        assert!(BORDER.holds(0.5, Some(0.4)));
        assert!(BORDER.holds(0.5, None));
        assert!(!BORDER.holds(0.1, Some(0.5)));
        assert!(!Border { raroi: 0.0, confidence: 0.0 }.holds(0.0, None));
    }

    #[test]
    fn a_pilot_promotes_what_holds_both_and_ends_the_rest() {
        assert_eq!(BORDER.judge(0.2, 0.6), PilotVerdict::Promoted);
        assert_eq!(BORDER.judge(0.0, 0.6), PilotVerdict::Terminated);
        assert_eq!(BORDER.judge(0.2, 0.4), PilotVerdict::Terminated);
        assert_eq!(BORDER.judge(f64::NAN, 1.0), PilotVerdict::Terminated);
    }
}
