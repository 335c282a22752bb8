//! Whether the gain per unit of added entropy is still above the threshold.
//!
//! `menace-source` measures entropy and complexity. Invariant: a source change that changes no
//! complexity has no ratio, and a module without samples is never flagged.

use serde::{Deserialize, Serialize};

use super::convergence::MIN_HISTORY_SAMPLES;
use super::describe::{drop_missing, is_usable, mean};
use super::evidence::{DecisionCheck, DecisionEvidence, StatisticalDecision};

/// One source change of a module.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SourceDelta {
    /// The increase of ROI.
    pub roi_delta: f64,
    /// The increase of Shannon entropy, in bits.
    pub entropy_delta: f64,
    /// The increase of complexity.
    pub complexity_delta: f64,
}

impl SourceDelta {
    /// The change in entropy per change in complexity; `None` if complexity did not change.
    pub fn entropy_ratio(&self) -> Option<f64> {
        checked_ratio(self.entropy_delta, self.complexity_delta)
    }

    /// The gain in ROI per unit of entropy changed in either direction; `None` if entropy did not
    /// change.
    pub fn roi_per_entropy(&self) -> Option<f64> {
        checked_ratio(self.roi_delta, self.entropy_delta.abs())
    }
}

fn checked_ratio(above: f64, below: f64) -> Option<f64> {
    let ratio = above / below;
    (is_usable(above) && is_usable(below) && below != 0.0 && is_usable(ratio)).then_some(ratio)
}

/// Whether the mean gain per unit of entropy over the last source changes is below `threshold`.
///
/// At least three source changes that changed entropy are needed.
pub fn check_entropy_ceiling(
    source_changes: &[SourceDelta],
    threshold: f64,
    consecutive: usize,
) -> StatisticalDecision {
    let gains: Vec<f64> = source_changes.iter().filter_map(SourceDelta::roi_per_entropy).collect();
    let needed = consecutive.max(MIN_HISTORY_SAMPLES);
    if gains.len() < needed {
        return StatisticalDecision::too_few_samples(needed, gains.len());
    }
    let statistic = mean(&gains[gains.len() - needed..]);
    decide_below(DecisionCheck::EntropyCeiling, statistic, threshold, needed, gains.len())
}

/// Whether the last `count` entropy ratios all have an absolute value below `threshold`.
pub fn check_entropy_plateau(ratios: &[f64], threshold: f64, count: usize) -> StatisticalDecision {
    let ratios = drop_missing(ratios);
    let needed = count.max(1);
    if ratios.len() < needed {
        return StatisticalDecision::too_few_samples(needed, ratios.len());
    }
    let recent = &ratios[ratios.len() - needed..];
    let statistic = recent.iter().fold(0.0_f64, |most, ratio| most.max(ratio.abs()));
    decide_below(DecisionCheck::EntropyPlateau, statistic, threshold, needed, ratios.len())
}

fn decide_below(
    check: DecisionCheck,
    statistic: f64,
    threshold: f64,
    needed: usize,
    samples: usize,
) -> StatisticalDecision {
    let holds = statistic < threshold;
    let evidence = DecisionEvidence::new(check, statistic, threshold, needed, holds);
    StatisticalDecision::from_evidence(vec![evidence], f64::from(u8::from(holds)), needed, samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::evidence::DecisionAnswer;

    fn source_change(roi_delta: f64, entropy_delta: f64) -> SourceDelta {
        SourceDelta { roi_delta, entropy_delta, complexity_delta: 2.0 }
    }

    #[test]
    fn a_module_whose_entropy_no_longer_pays_hits_the_ceiling() {
        let source_changes = [
            source_change(0.9, 0.1),
            source_change(0.001, 0.5),
            source_change(0.002, 0.4),
            source_change(0.001, 0.6),
        ];
        assert!(check_entropy_ceiling(&source_changes, 0.02, 3).is_yes());
        assert!(!check_entropy_ceiling(&source_changes, 0.02, 4).is_yes());
        assert_eq!(
            check_entropy_ceiling(&source_changes[..2], 0.02, 3).answer,
            DecisionAnswer::TooFewSamples
        );
    }

    #[test]
    fn a_change_of_nothing_has_no_ratio() {
        assert_eq!(source_change(0.1, 0.0).roi_per_entropy(), None);
        assert_eq!(
            SourceDelta { complexity_delta: 0.0, ..source_change(0.1, 0.2) }.entropy_ratio(),
            None
        );
        assert_eq!(source_change(0.1, 0.2).entropy_ratio(), Some(0.1));
    }

    #[test]
    fn one_large_ratio_breaks_the_plateau() {
        assert!(check_entropy_plateau(&[0.5, 0.01, -0.02, 0.01], 0.05, 3).is_yes());
        assert!(!check_entropy_plateau(&[0.01, -0.2, 0.01], 0.05, 3).is_yes());
        assert_eq!(check_entropy_plateau(&[], 0.05, 3).answer, DecisionAnswer::TooFewSamples);
    }
}
