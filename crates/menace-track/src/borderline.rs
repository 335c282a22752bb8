//! Workflows that are neither good enough to keep nor bad enough to drop.
//!
//! The file that holds them belongs to `menace-store`, trying them in small to `menace-loop`.
//! Invariant: a workflow that meets both thresholds is never put aside.

use serde::{Deserialize, Serialize};

use crate::stats::evidence::{Check, Decision, Evidence};

/// Where the border lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Border {
    /// `BORDERLINE_RAROI_THRESHOLD`.
    pub raroi: f64,
    /// `BORDERLINE_CONFIDENCE_THRESHOLD`.
    pub confidence: f64,
}

impl Border {
    /// Whether a workflow holds both thresholds. After a cycle, one that does not is put aside; after a
    /// micro-pilot, one that does is promoted and any other terminated. One whose confidence is not known
    /// yet has none, where any is asked for.
    pub fn judge(&self, raroi: f64, confidence: Option<f64>) -> Decision {
        let samples = 1;
        let evidence = |check, statistic: f64, threshold| Evidence {
            check,
            // What is no number holds nothing.
            statistic: if statistic.is_finite() { statistic } else { f64::MIN },
            threshold,
            p_value: None,
            samples,
            holds: statistic >= threshold,
        };
        let confidence = confidence.unwrap_or(0.0);
        let pieces = vec![
            evidence(Check::Raroi, raroi, self.raroi),
            evidence(Check::WorkflowConfidence, confidence, self.confidence),
        ];
        let confidence = if confidence.is_finite() { confidence } else { 0.0 };
        Decision::from(pieces, confidence, samples, samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BORDER: Border = Border { raroi: 0.1, confidence: 0.5 };

    fn holds(border: Border, raroi: f64, confidence: Option<f64>) -> bool {
        border.judge(raroi, confidence).is_yes()
    }

    #[test]
    fn either_threshold_puts_a_workflow_aside() {
        assert!(!holds(BORDER, 0.05, Some(0.9)));
        assert!(!holds(BORDER, 0.5, Some(0.4)));
        assert!(!holds(BORDER, 0.5, None));
        assert!(!holds(BORDER, f64::NAN, Some(1.0)));
        assert!(holds(BORDER, 0.1, Some(0.5)));
        assert!(holds(Border { raroi: 0.0, confidence: 0.0 }, 0.0, None));
    }

    #[test]
    fn what_was_compared_with_what_is_told() {
        let decision = BORDER.judge(0.2, Some(0.4));
        let raroi = decision.about(Check::Raroi).unwrap();
        assert_eq!((raroi.statistic, raroi.threshold, raroi.holds), (0.2, 0.1, true));
        let sure = decision.about(Check::WorkflowConfidence).unwrap();
        assert_eq!((sure.statistic, sure.threshold, sure.holds), (0.4, 0.5, false));
    }
}
