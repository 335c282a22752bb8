//! Decides whether a module is borderline: not good enough to keep, not bad enough to drop.
//!
//! `menace-store` keeps the list of borderline modules, `menace-loop` runs their micro-pilots.
//! Invariant: a module that meets both thresholds is never on the list.

use serde::{Deserialize, Serialize};

use crate::stats::evidence::{DecisionCheck, DecisionEvidence, StatisticalDecision};

/// The thresholds below which a module is borderline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BorderlineThresholds {
    /// `BORDERLINE_RAROI_THRESHOLD`.
    pub raroi: f64,
    /// `BORDERLINE_CONFIDENCE_THRESHOLD`.
    pub confidence: f64,
}

impl BorderlineThresholds {
    /// Whether a module meets both thresholds. After a cycle, one that does not becomes
    /// borderline; after a micro-pilot, one that does is promoted, and any other is terminated. An
    /// unknown confidence meets only a threshold of zero.
    pub fn check_thresholds(&self, raroi: f64, confidence: Option<f64>) -> StatisticalDecision {
        let samples = 1;
        let evidence = |check, statistic: f64, threshold| DecisionEvidence {
            check,
            // NaN and infinite values meet no threshold.
            statistic: if statistic.is_finite() { statistic } else { f64::MIN },
            threshold,
            p_value: None,
            samples,
            holds: statistic >= threshold,
        };
        let confidence = confidence.unwrap_or(0.0);
        let pieces = vec![
            evidence(DecisionCheck::Raroi, raroi, self.raroi),
            evidence(DecisionCheck::ModuleConfidence, confidence, self.confidence),
        ];
        let confidence = if confidence.is_finite() { confidence } else { 0.0 };
        StatisticalDecision::from_evidence(pieces, confidence, samples, samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BORDERLINE_THRESHOLDS: BorderlineThresholds =
        BorderlineThresholds { raroi: 0.1, confidence: 0.5 };

    fn holds(border: BorderlineThresholds, raroi: f64, confidence: Option<f64>) -> bool {
        border.check_thresholds(raroi, confidence).is_yes()
    }

    #[test]
    fn either_threshold_puts_a_module_aside() {
        assert!(!holds(BORDERLINE_THRESHOLDS, 0.05, Some(0.9)));
        assert!(!holds(BORDERLINE_THRESHOLDS, 0.5, Some(0.4)));
        assert!(!holds(BORDERLINE_THRESHOLDS, 0.5, None));
        assert!(!holds(BORDERLINE_THRESHOLDS, f64::NAN, Some(1.0)));
        assert!(holds(BORDERLINE_THRESHOLDS, 0.1, Some(0.5)));
        assert!(holds(BorderlineThresholds { raroi: 0.0, confidence: 0.0 }, 0.0, None));
    }

    #[test]
    fn the_compared_values_are_reported() {
        let decision = BORDERLINE_THRESHOLDS.check_thresholds(0.2, Some(0.4));
        let raroi = decision.evidence_for(DecisionCheck::Raroi).unwrap();
        assert_eq!((raroi.statistic, raroi.threshold, raroi.holds), (0.2, 0.1, true));
        let sure = decision.evidence_for(DecisionCheck::ModuleConfidence).unwrap();
        assert_eq!((sure.statistic, sure.threshold, sure.holds), (0.4, 0.5, false));
    }
}
