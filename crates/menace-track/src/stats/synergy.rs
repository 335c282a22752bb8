//! Whether synergy has converged.
//!
//! The tracker measures synergy. Invariant: one metric that has not converged, or that has too few
//! samples, prevents the convergence of all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::adf::adf_test;
use super::convergence::{MIN_HISTORY_SAMPLES, equivalence_p_value};
use super::correlation::{
    autocorrelation_inflation, correlation_p_value, critical_correlation,
    rolling_correlation_with_index,
};
use super::describe::{drop_missing, ema_series, is_constant, mean, sample_deviation};
use super::distribution::t_quantile;
use super::evidence::{DecisionAnswer, DecisionCheck, DecisionEvidence, StatisticalDecision};
use super::levene::{LeveneCenter, levene_test};

/// The fewest values for the test for stationarity; with fewer it has no power.
pub const MIN_STATIONARITY_SAMPLES: usize = 12;
/// From this many values on the test nearly always distinguishes a stationary series from others.
pub const FULL_POWER_STATIONARITY_SAMPLES: usize = 100;
/// The most values used for the test: more would take time in each cycle and hardly change it.
pub const MAX_STATIONARITY_SAMPLES: usize = 200;
/// The fewest values for comparing the variance of both halves.
pub const MIN_VARIANCE_SAMPLES: usize = 6;

/// The value from which the distance of a metric is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceTarget {
    /// Zero: sections behave together as they do separately.
    Zero,
    /// The metric's own mean: there may be a difference, as long as it does not change.
    OwnMean,
}

/// When a synergy metric counts as converged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SynergyConvergenceRule {
    /// The allowed distance from the target (`SYNERGY_THRESHOLD`).
    pub threshold: f64,
    /// The value from which the distance is measured.
    pub target: ConvergenceTarget,
    /// How many of the last cycles are tested (`SYNERGY_CYCLES`), at least three.
    pub cycles: usize,
    /// The confidence of bounds and trend (`SYNERGY_CONFIDENCE`).
    pub confidence: f64,
    /// The window of the moving average, of the rolling correlation and of the test for
    /// stationarity (`SYNERGY_MA_WINDOW`).
    pub window: Option<usize>,
    /// The confidence of the test for stationarity (`SYNERGY_STATIONARITY_CONFIDENCE`).
    pub stationarity_confidence: f64,
    /// The confidence of the test for equal variance (`SYNERGY_VARIANCE_CONFIDENCE`).
    pub variance_confidence: f64,
    /// How many metrics are tested together; the allowed error of each test is divided by it.
    pub compared_metrics: usize,
}

impl SynergyConvergenceRule {
    /// The allowed error probability of a test for one metric, so that the given confidence holds
    /// for all metrics together (the first step of Holm 1979, which decides because all have to
    /// converge).
    fn allowed_error(&self, confidence: f64) -> f64 {
        (1.0 - confidence).clamp(0.0, 1.0) / self.compared_metrics.max(1) as f64
    }
}

impl Default for SynergyConvergenceRule {
    fn default() -> Self {
        Self {
            threshold: 0.01,
            target: ConvergenceTarget::Zero,
            cycles: MIN_HISTORY_SAMPLES,
            confidence: 0.95,
            window: None,
            stationarity_confidence: 0.95,
            variance_confidence: 0.95,
            compared_metrics: 1,
        }
    }
}

/// The decision about all metrics, and about each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SynergyConvergence {
    /// Yes if every metric has converged.
    #[serde(rename = "verdict")]
    pub answer: DecisionAnswer,
    /// The smallest confidence of all.
    pub confidence: f64,
    /// One decision per metric.
    pub metrics: BTreeMap<String, StatisticalDecision>,
}

impl SynergyConvergence {
    /// Combines the decisions about all metrics; without metrics there are too few samples.
    pub fn from_decisions(metrics: BTreeMap<String, StatisticalDecision>) -> Self {
        let answer = if metrics.is_empty()
            || metrics.values().any(|decision| decision.answer == DecisionAnswer::TooFewSamples)
        {
            DecisionAnswer::TooFewSamples
        } else if metrics.values().all(StatisticalDecision::is_yes) {
            DecisionAnswer::Yes
        } else {
            DecisionAnswer::No
        };
        let confidences = metrics.values().map(|decision| decision.confidence);
        let confidence = confidences.min_by(f64::total_cmp).unwrap_or(0.0);
        Self { answer, confidence, metrics }
    }

    /// The largest distance of a moving average from its target; `None` if none was checked.
    pub fn largest_average(&self) -> Option<f64> {
        let asked =
            self.metrics.values().filter_map(|decision| decision.evidence_for(DecisionCheck::Mean));
        asked.map(|evidence| evidence.statistic).max_by(f64::total_cmp)
    }
}

/// Whether one metric has converged over the last cycles.
///
/// Its moving average with Student's bounds stays within the threshold of its target, and it has no
/// trend (the mean rolling correlation with the index is below what chance allows). With enough
/// samples two more tests refine the confidence: whether it is stationary (Dickey and Fuller), and
/// whether both halves have equal variances (Levene). They decide nothing by themselves, but a
/// confidence below the required one does. A constant metric is stationary.
pub fn check_metric_convergence(past: &[f64], rule: SynergyConvergenceRule) -> StatisticalDecision {
    let past = drop_missing(past);
    let needed = rule.cycles.max(MIN_HISTORY_SAMPLES);
    if past.len() < needed {
        return StatisticalDecision::too_few_samples(needed, past.len());
    }
    let recent = &past[past.len() - needed..];
    let window = rule.window.unwrap_or(needed).clamp(MIN_HISTORY_SAMPLES, needed);
    let ([average, bounds], mut confidence) = check_equivalence(recent, window, rule);
    let mut evidence = vec![average, bounds, check_trend(recent, window, rule)];
    let mut is_yes = evidence.iter().all(|piece| piece.holds);
    let refined = [check_stationarity(recent, window, rule), check_equal_variance(recent, rule)];
    for (piece, share) in refined.into_iter().flatten() {
        confidence *= share;
        evidence.push(piece);
    }
    is_yes &= confidence >= rule.confidence;
    StatisticalDecision {
        answer: if is_yes { DecisionAnswer::Yes } else { DecisionAnswer::No },
        confidence: confidence.clamp(0.0, 1.0),
        needed,
        samples: past.len(),
        evidence,
    }
}

/// Checks the moving average, alone and with Student's bounds; returns the evidence and the
/// confidence.
fn check_equivalence(
    recent: &[f64],
    window: usize,
    rule: SynergyConvergenceRule,
) -> ([DecisionEvidence; 2], f64) {
    let usual = mean(recent);
    let centre = ema_series(recent, window).last().copied().unwrap_or(usual);
    let centre = match rule.target {
        ConvergenceTarget::Zero => centre,
        // For a constant series the difference is only a rounding error.
        ConvergenceTarget::OwnMean if is_constant(recent) => 0.0,
        ConvergenceTarget::OwnMean => centre - usual,
    };
    // Values that depend on their neighbours count as fewer independent ones.
    let samples = recent.len();
    let inflation =
        if samples < MIN_VARIANCE_SAMPLES { 1.0 } else { autocorrelation_inflation(recent) };
    let spread = if is_constant(recent) { 0.0 } else { sample_deviation(recent) * inflation };
    let freedom = (samples - 1) as f64;
    // One-sided on each side, so that p-value and bound agree.
    let reach = t_quantile(rule.confidence.clamp(0.5, 1.0 - 1e-12), freedom);
    let statistic = centre.abs() + reach * spread / (samples as f64).sqrt();
    let p_value = equivalence_p_value(centre, spread, samples, rule.threshold);
    let evidence = |check, statistic: f64| {
        let holds = statistic <= rule.threshold;
        DecisionEvidence::new(check, statistic, rule.threshold, samples, holds)
    };
    let average = evidence(DecisionCheck::Mean, centre.abs());
    let bounds = evidence(DecisionCheck::Equivalence, statistic).with_p_value(p_value);
    ([average, bounds], 1.0 - p_value)
}

fn check_trend(recent: &[f64], window: usize, rule: SynergyConvergenceRule) -> DecisionEvidence {
    let statistic = mean(&rolling_correlation_with_index(recent, window)).abs();
    let threshold = critical_correlation(window, 1.0 - rule.allowed_error(rule.confidence));
    let (samples, holds) = (recent.len(), statistic <= threshold);
    DecisionEvidence::new(DecisionCheck::Trend, statistic, threshold, samples, holds)
        .with_p_value(correlation_p_value(statistic, window))
}

/// The evidence, and a factor for the confidence. The test has little power on few values, so a
/// p-value that does not reject lowers the confidence less the fewer values there are.
fn check_stationarity(
    recent: &[f64],
    window: usize,
    rule: SynergyConvergenceRule,
) -> Option<(DecisionEvidence, f64)> {
    // A window shorter than the test needs is extended, so that the test is made.
    let window = window.clamp(MIN_STATIONARITY_SAMPLES, MAX_STATIONARITY_SAMPLES);
    let recent = &recent[recent.len().saturating_sub(window)..];
    if recent.len() < MIN_STATIONARITY_SAMPLES || is_constant(recent) {
        return None;
    }
    let test = adf_test(recent)?;
    let threshold = 1.0 - rule.stationarity_confidence;
    let (check, holds) = (DecisionCheck::Stationarity, test.p_value <= threshold);
    let piece = DecisionEvidence::new(check, test.statistic, threshold, test.samples, holds);
    let length = (recent.len() - MIN_STATIONARITY_SAMPLES) as f64;
    let power = (length / (FULL_POWER_STATIONARITY_SAMPLES - MIN_STATIONARITY_SAMPLES) as f64)
        .min(1.0)
        .powi(2);
    let doubt = (test.p_value - threshold).max(0.0) / rule.stationarity_confidence.max(1e-12);
    Some((piece.with_p_value(test.p_value), 1.0 - power * doubt.min(1.0)))
}

/// The evidence, and a factor for the confidence: 1 where both halves have equal variances, else
/// the p-value divided by the allowed error.
fn check_equal_variance(
    recent: &[f64],
    rule: SynergyConvergenceRule,
) -> Option<(DecisionEvidence, f64)> {
    if recent.len() < MIN_VARIANCE_SAMPLES {
        return None;
    }
    let (first, second) = recent.split_at(recent.len() / 2);
    let test = levene_test(&[first, second], LeveneCenter::Median)?;
    let threshold = rule.allowed_error(rule.variance_confidence);
    let holds = test.p_value >= threshold;
    let check = DecisionCheck::EqualVariance;
    let piece = DecisionEvidence::new(check, test.statistic, threshold, test.samples, holds);
    let share = if holds { 1.0 } else { test.p_value / threshold };
    Some((piece.with_p_value(test.p_value), share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calm_series(length: u32) -> Vec<f64> {
        (0..length).map(|step| (f64::from(step * step) * 0.37).sin() * 2e-4).collect()
    }

    fn rule(cycles: usize) -> SynergyConvergenceRule {
        SynergyConvergenceRule { cycles, ..SynergyConvergenceRule::default() }
    }

    #[test]
    fn a_calm_metric_has_converged_with_all_tests_asked() {
        let decision = check_metric_convergence(&calm_series(30), rule(25));
        assert!(decision.is_yes(), "{decision:?}");
        assert_eq!(decision.evidence.len(), 5);
        assert!(decision.confidence > 0.95);
    }

    #[test]
    fn a_metric_that_still_moves_has_not_converged() {
        let moving: Vec<f64> = (0..8_u32).map(|step| f64::from(step) * 1e-4).collect();
        let decision = check_metric_convergence(&moving, rule(8));
        assert!(!decision.evidence_for(DecisionCheck::Trend).unwrap().holds);
        assert!(!decision.is_yes());
    }

    #[test]
    fn a_metric_that_grows_wilder_has_not_converged() {
        let wilder: Vec<f64> = (0..20_u32)
            .map(
                |step| if step < 10 { 1e-5 } else { 5e-3 } * if step % 2 == 0 { 1.0 } else { -1.0 },
            )
            .enumerate()
            .map(|(place, value)| value * (1.0 + 0.1 * (place % 3) as f64))
            .collect();
        let decision = check_metric_convergence(&wilder, rule(20));
        assert!(
            !decision.evidence_for(DecisionCheck::EqualVariance).unwrap().holds,
            "{decision:?}"
        );
        assert!(decision.confidence < 0.5 && !decision.is_yes(), "{decision:?}");
    }

    #[test]
    fn a_constant_metric_within_the_threshold_has_converged() {
        assert!(check_metric_convergence(&[0.001; 20], rule(20)).is_yes());
        assert!(!check_metric_convergence(&[0.5; 20], rule(20)).is_yes());
    }

    #[test]
    fn a_metric_that_stays_where_it_is_rests_around_itself() {
        let own = SynergyConvergenceRule {
            threshold: 0.0,
            target: ConvergenceTarget::OwnMean,
            ..rule(20)
        };
        assert!(check_metric_convergence(&[0.05; 20], own).is_yes());
        let risen: Vec<f64> = calm_series(30).iter().map(|value| value + 0.05).collect();
        let room = SynergyConvergenceRule {
            threshold: 1e-3,
            target: ConvergenceTarget::OwnMean,
            ..rule(25)
        };
        assert!(check_metric_convergence(&risen, room).is_yes());
        assert!(
            !check_metric_convergence(
                &risen,
                SynergyConvergenceRule { target: ConvergenceTarget::Zero, ..room }
            )
            .is_yes()
        );
        let moving: Vec<f64> = (0..20_u32).map(|step| f64::from(step) * 0.01).collect();
        assert!(!check_metric_convergence(&moving, own).is_yes());
    }

    #[test]
    fn stationarity_is_asked_of_the_window_and_of_no_fewer_values_than_it_needs() {
        // It drifted long ago, and is stable since then.
        let mut values: Vec<f64> = (0..40_u32).map(|step| f64::from(step) * 0.1).collect();
        values.extend(calm_series(40));
        let asked = |window: Option<usize>| {
            let decision =
                check_metric_convergence(&values, SynergyConvergenceRule { window, ..rule(80) });
            *decision.evidence_for(DecisionCheck::Stationarity).unwrap()
        };
        assert!(!asked(None).holds);
        assert!(asked(Some(30)).holds && asked(Some(30)).samples < 30);
        assert!(asked(Some(3)).samples <= MIN_STATIONARITY_SAMPLES);
    }

    #[test]
    fn stationarity_lowers_the_confidence_the_more_the_longer_the_history_is() {
        // A random walk that stays within a wide threshold.
        let walk = |length: u32| -> Vec<f64> {
            let steps = (0..length).map(|step| (f64::from(step * step) * 0.37).sin());
            steps
                .scan(0.0, |level, step| {
                    *level += step;
                    Some(*level)
                })
                .collect()
        };
        let sure = |length: u32| {
            let wide = SynergyConvergenceRule {
                threshold: 1e6,
                variance_confidence: 1.0,
                ..rule(length as usize)
            };
            let decision = check_metric_convergence(&walk(length), wide);
            assert!(
                !decision.evidence_for(DecisionCheck::Stationarity).unwrap().holds,
                "{decision:?}"
            );
            decision.confidence
        };
        assert!(sure(20) > 0.95 && sure(110) < 0.95);
    }

    #[test]
    fn the_test_for_stationarity_does_not_grow_with_the_history() {
        let decision = check_metric_convergence(&calm_series(1000), rule(1000));
        assert!(
            decision.evidence_for(DecisionCheck::Stationarity).unwrap().samples
                <= MAX_STATIONARITY_SAMPLES
        );
    }

    fn convergence_of(
        histories: &BTreeMap<String, Vec<f64>>,
        rule: SynergyConvergenceRule,
    ) -> SynergyConvergence {
        let histories = histories.iter();
        SynergyConvergence::from_decisions(
            histories
                .map(|(name, one)| (name.clone(), check_metric_convergence(one, rule)))
                .collect(),
        )
    }

    #[test]
    fn one_metric_with_too_few_samples_keeps_the_whole_open() {
        let mut histories = BTreeMap::from([("synergy_roi".to_owned(), calm_series(30))]);
        let rested = convergence_of(&histories, rule(25));
        assert_eq!(rested.answer, DecisionAnswer::Yes);
        assert!(rested.largest_average().is_some_and(|largest| largest > 0.0 && largest < 0.01));
        histories.insert("synergy_resilience".to_owned(), vec![0.0]);
        assert_eq!(convergence_of(&histories, rule(25)).answer, DecisionAnswer::TooFewSamples);
        assert_eq!(convergence_of(&BTreeMap::new(), rule(3)).answer, DecisionAnswer::TooFewSamples);
    }
}
