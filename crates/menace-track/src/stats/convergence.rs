//! Decides when gains have converged, and computes thresholds that follow the data.
//!
//! `menace-loop` decides which modules to skip. Invariant: too short a history ends nothing, and
//! its thresholds are zero.

use serde::{Deserialize, Serialize};

use super::describe::{ExponentialAverage, drop_missing, is_usable, mean, sample_deviation};
use super::distribution::t_cdf;
use super::evidence::{DecisionCheck, DecisionEvidence, StatisticalDecision};

/// The fewest values from which a threshold is computed.
pub const MIN_HISTORY_SAMPLES: usize = 3;

/// When a module's returns count as diminished.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DiminishingReturnsRule {
    /// The absolute mean gain below which gains count as nothing (`ROI_THRESHOLD`).
    pub threshold: f64,
    /// How many of the last cycles are tested (`ROI_CYCLES`).
    pub consecutive: usize,
    /// The standard deviation above which gains vary too much for a decision.
    pub epsilon: f64,
    /// The confidence of the test (`ROI_CONFIDENCE`).
    pub confidence: f64,
}

impl Default for DiminishingReturnsRule {
    fn default() -> Self {
        Self { threshold: 0.01, consecutive: MIN_HISTORY_SAMPLES, epsilon: 1e-3, confidence: 0.95 }
    }
}

/// Whether the last gains are close to zero.
///
/// The mean of the last `consecutive` deltas lies within the threshold, their standard deviation is
/// below epsilon, and both one-sided t tests (Schuirmann 1987) place the true mean within the
/// threshold with the required confidence. At least two deltas are needed.
pub fn check_diminishing_returns(
    deltas: &[f64],
    rule: DiminishingReturnsRule,
) -> StatisticalDecision {
    let deltas = drop_missing(deltas);
    let needed = rule.consecutive.max(2);
    if deltas.len() < needed {
        return StatisticalDecision::too_few_samples(needed, deltas.len());
    }
    let recent = &deltas[deltas.len() - needed..];
    let (centre, spread) = (mean(recent), sample_deviation(recent));
    let p_value = equivalence_p_value(centre, spread, needed, rule.threshold);
    let confidence = 1.0 - p_value;
    let evidence = |check, statistic, threshold, holds| {
        DecisionEvidence::new(check, statistic, threshold, needed, holds)
    };
    let is_confident = confidence >= rule.confidence;
    let is_small = centre.abs() <= rule.threshold;
    let pieces = vec![
        evidence(DecisionCheck::Mean, centre.abs(), rule.threshold, is_small),
        evidence(DecisionCheck::Deviation, spread, rule.epsilon, spread <= rule.epsilon),
        evidence(DecisionCheck::Equivalence, confidence, rule.confidence, is_confident)
            .with_p_value(p_value),
    ];
    StatisticalDecision::from_evidence(pieces, confidence, needed, deltas.len())
}

/// The p-value of the hypothesis that the true mean is not within ± `threshold`.
pub(crate) fn equivalence_p_value(mean: f64, spread: f64, samples: usize, threshold: f64) -> f64 {
    let room = threshold - mean.abs();
    let error = spread / (samples as f64).sqrt();
    if error <= 0.0 || samples < 2 {
        return if room >= 0.0 && samples > 0 { 0.0 } else { 1.0 };
    }
    t_cdf(-room / error, (samples - 1) as f64)
}

/// A threshold that was computed from a history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveThreshold {
    /// The threshold; zero when the history is short.
    pub threshold: f64,
    /// The exponentially weighted mean.
    pub mean: f64,
    /// The exponentially weighted standard deviation.
    pub deviation: f64,
    /// Number of values used.
    pub samples: usize,
}

/// How a threshold is computed from a history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveThresholdRule {
    /// How many of the newest values are used (`SYNERGY_THRESHOLD_WINDOW`).
    pub window: usize,
    /// How many times each value counts: above 1, newer values have more weight
    /// (`SYNERGY_THRESHOLD_WEIGHT`).
    pub weight: f64,
    /// The threshold in standard deviations.
    pub factor: f64,
}

impl Default for AdaptiveThresholdRule {
    fn default() -> Self {
        Self { window: 10, weight: 1.0, factor: 2.0 }
    }
}

/// `factor` × the exponentially weighted standard deviation of the newest values.
///
/// The share of the newest value is α = 1 − (1 − 2/(n + 1))^weight over n values: the usual one for
/// weight 1.
pub fn compute_adaptive_threshold(past: &[f64], rule: AdaptiveThresholdRule) -> AdaptiveThreshold {
    threshold_of_newest(past.iter().copied(), rule)
}

/// Reads no more than the window, however long the history is.
fn threshold_of_newest(
    values: impl DoubleEndedIterator<Item = f64>,
    rule: AdaptiveThresholdRule,
) -> AdaptiveThreshold {
    let newest = values.rev().filter(|value| is_usable(*value)).take(rule.window.max(1));
    let mut recent: Vec<f64> = newest.collect();
    recent.reverse();
    if recent.len() < MIN_HISTORY_SAMPLES {
        return AdaptiveThreshold {
            threshold: 0.0,
            mean: mean(&recent),
            deviation: 0.0,
            samples: recent.len(),
        };
    }
    let weight = if rule.weight.is_finite() { rule.weight.max(0.0) } else { 1.0 };
    let plain = 2.0 / (recent.len() as f64 + 1.0);
    let mut average = ExponentialAverage::new(1.0 - (1.0 - plain).powf(weight));
    average.extend(&recent);
    let factor = if rule.factor.is_finite() { rule.factor.max(0.0) } else { 0.0 };
    AdaptiveThreshold {
        threshold: (factor * average.deviation()).min(f64::MAX),
        mean: average.mean(),
        deviation: average.deviation(),
        samples: recent.len(),
    }
}

/// The threshold for synergy, from the errors of predictions.
///
/// Positions where one of both is missing are left out.
pub fn compute_synergy_threshold(
    predicted: &[f64],
    actual: &[f64],
    rule: AdaptiveThresholdRule,
) -> AdaptiveThreshold {
    threshold_of_newest(predicted.iter().zip(actual).map(|(said, came)| said - came), rule)
}

/// The threshold for a history without predictions: each value is predicted by the one before it.
///
/// It starts at the position where predictions would start, so that such a history is not judged
/// earlier than one with predictions.
pub fn compute_unpredicted_synergy_threshold(
    values: &[f64],
    rule: AdaptiveThresholdRule,
) -> AdaptiveThreshold {
    let later = values.get(MIN_HISTORY_SAMPLES..).unwrap_or_default();
    let before = values.get(MIN_HISTORY_SAMPLES - 1..).unwrap_or_default();
    compute_synergy_threshold(before, later, rule)
}

/// The change in ROI below which a run may end, scaled by the reliability of forecasts.
///
/// `base × (1.5 − reliability)`: half of the base for perfect forecasts, one and a half of it for
/// useless ones.
pub fn scale_roi_tolerance(base: f64, reliability: f64) -> f64 {
    let reliability = if reliability.is_finite() { reliability.clamp(0.0, 1.0) } else { 0.0 };
    let base = if base.is_finite() { base.max(0.0) } else { 0.0 };
    base * (1.5 - reliability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::evidence::DecisionAnswer;

    #[test]
    fn steady_nothing_is_diminished_and_gains_are_not() {
        let rule = DiminishingReturnsRule::default();
        assert!(check_diminishing_returns(&[0.3, 1e-4, 2e-4, -1e-4], rule).is_yes());
        assert!(check_diminishing_returns(&[0.0; 3], rule).is_yes());
        let gains = check_diminishing_returns(&[0.3, 0.31, 0.29], rule);
        assert_eq!(gains.answer, DecisionAnswer::No);
        assert!(!gains.evidence_for(DecisionCheck::Mean).unwrap().holds);
    }

    #[test]
    fn restless_gains_around_zero_are_not_diminished() {
        let decision =
            check_diminishing_returns(&[0.5, -0.5, 0.001], DiminishingReturnsRule::default());
        assert!(decision.evidence_for(DecisionCheck::Mean).unwrap().holds);
        assert!(!decision.evidence_for(DecisionCheck::Deviation).unwrap().holds);
        assert!(!decision.evidence_for(DecisionCheck::Equivalence).unwrap().holds);
    }

    #[test]
    fn too_few_cycles_end_nothing() {
        for deltas in [&[][..], &[0.0], &[0.0, f64::NAN, 0.0]] {
            let decision = check_diminishing_returns(deltas, DiminishingReturnsRule::default());
            assert_eq!(decision.answer, DecisionAnswer::TooFewSamples);
            assert_eq!(decision.needed, 3);
        }
    }

    #[test]
    fn a_short_history_has_no_threshold() {
        assert_eq!(
            compute_adaptive_threshold(&[1.0, 2.0], AdaptiveThresholdRule::default()).threshold,
            0.0
        );
        assert_eq!(
            compute_synergy_threshold(&[1.0], &[], AdaptiveThresholdRule::default()).threshold,
            0.0
        );
    }

    #[test]
    fn a_history_without_predictions_is_compared_with_its_last_values() {
        let rule = AdaptiveThresholdRule::default();
        let values = [9.0, 7.0, 0.5, 0.25, 0.75, 0.5, 0.0];
        let errors = compute_adaptive_threshold(&[0.25, -0.5, 0.25, 0.5], rule);
        assert_eq!(compute_unpredicted_synergy_threshold(&values, rule), errors);
        assert!(errors.threshold > 0.0 && errors.samples == 4);
        let short = compute_unpredicted_synergy_threshold(&values[..5], rule);
        assert_eq!((short.threshold, short.samples), (0.0, 2), "too short for predictions, too");
        assert_eq!(compute_unpredicted_synergy_threshold(&[], rule).threshold, 0.0);
    }

    #[test]
    fn a_threshold_looks_at_its_window_and_no_further() {
        use std::cell::Cell;
        let looked_at = Cell::new(0);
        let values = (0..1000_u32).map(|step| {
            looked_at.set(looked_at.get() + 1);
            f64::from(step * 7 % 11)
        });
        let found = threshold_of_newest(values, AdaptiveThresholdRule::default());
        assert_eq!((found.samples, looked_at.get()), (10, 10));
    }

    #[test]
    fn a_heavier_weight_forgets_old_errors_sooner() {
        let errors = [5.0, -5.0, 5.0, 0.0, 0.0, 0.0, 0.0];
        let threshold = |weight| {
            compute_adaptive_threshold(
                &errors,
                AdaptiveThresholdRule { weight, ..AdaptiveThresholdRule::default() },
            )
            .threshold
        };
        assert!(threshold(2.0) < threshold(1.0));
        assert!(threshold(1.0) > 0.0);
    }

    #[test]
    fn reliable_forecasts_lower_the_tolerance() {
        assert!((scale_roi_tolerance(0.01, 1.0) - 0.005).abs() < 1e-15);
        assert!((scale_roi_tolerance(0.01, 0.0) - 0.015).abs() < 1e-15);
        assert!(scale_roi_tolerance(0.01, f64::NAN) > 0.01);
    }
}
