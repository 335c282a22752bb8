//! Whether synergy has converged.
//!
//! Measuring synergy belongs to the tracker. Invariant: one metric that has not converged, or that
//! has too few samples, keeps the whole from converging.

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
use super::evidence::{DecisionCheck, DecisionEvidence, DecisionVerdict, StatisticalDecision};
use super::levene::{LeveneCenter, levene_test};

/// Values from which the test for stationarity is asked; below, it has no power.
pub const MIN_STATIONARITY_SAMPLES: usize = 12;
/// Values from which it all but always tells what returns from what does not.
pub const FULL_POWER_STATIONARITY_SAMPLES: usize = 100;
/// The newest values that it is asked of: more would cost time with each cycle and tell nothing
/// new.
pub const MAX_STATIONARITY_SAMPLES: usize = 200;
/// Values from which both halves are compared.
pub const MIN_VARIANCE_SAMPLES: usize = 6;

/// What a metric has to stay close to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceTarget {
    /// Nothing: being together makes no difference any more.
    Zero,
    /// Its own mean: whatever difference it makes, that stays the same.
    OwnMean,
}

/// When a synergy metric counts as converged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SynergyConvergenceRule {
    /// How far, up or down, synergy may be from there (`SYNERGY_THRESHOLD`).
    pub threshold: f64,
    /// From where.
    pub target: ConvergenceTarget,
    /// The last cycles that are looked at (`SYNERGY_CYCLES`), at least three.
    pub cycles: usize,
    /// How sure bounds and trend must be (`SYNERGY_CONFIDENCE`).
    pub confidence: f64,
    /// The window of the moving average, of the rolling correlation and of the test for
    /// stationarity (`SYNERGY_MA_WINDOW`).
    pub window: Option<usize>,
    /// How sure the test for stationarity must be (`SYNERGY_STATIONARITY_CONFIDENCE`).
    pub stationarity_confidence: f64,
    /// How sure the test for equal variance must be (`SYNERGY_VARIANCE_CONFIDENCE`).
    pub variance_confidence: f64,
    /// How many metrics are judged together: each may be wrong only so much more seldom.
    pub compared_metrics: usize,
}

impl SynergyConvergenceRule {
    /// How likely a test of this confidence may be wrong on one of the metrics (Holm 1979: as all
    /// have to hold, the first step decides).
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

/// The decision for all metrics, and for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SynergyConvergence {
    /// Yes if every metric has converged.
    pub verdict: DecisionVerdict,
    /// The smallest confidence of all.
    pub confidence: f64,
    /// One decision per metric.
    pub metrics: BTreeMap<String, StatisticalDecision>,
}

impl SynergyConvergence {
    /// What the decisions for all metrics come to; without metrics, there is nothing to tell.
    pub fn from_decisions(metrics: BTreeMap<String, StatisticalDecision>) -> Self {
        let verdict = if metrics.is_empty()
            || metrics.values().any(|decision| decision.verdict == DecisionVerdict::TooFewSamples)
        {
            DecisionVerdict::TooFewSamples
        } else if metrics.values().all(StatisticalDecision::is_yes) {
            DecisionVerdict::Yes
        } else {
            DecisionVerdict::No
        };
        let confidences = metrics.values().map(|decision| decision.confidence);
        let confidence = confidences.min_by(f64::total_cmp).unwrap_or(0.0);
        Self { verdict, confidence, metrics }
    }

    /// The largest distance of a moving average from where it should be; none before one was asked.
    pub fn largest_average(&self) -> Option<f64> {
        let asked =
            self.metrics.values().filter_map(|decision| decision.evidence_for(DecisionCheck::Mean));
        asked.map(|evidence| evidence.statistic).max_by(f64::total_cmp)
    }
}

/// Whether one metric has come to rest over the last cycles.
///
/// Its moving average with Student's bounds stays within the threshold, of zero or of its own mean,
/// and it does not move with time (mean rolling correlation with the index below what chance
/// allows). How sure that is refine two more tests, where there are enough samples: whether it
/// returns to its mean (Dickey and Fuller), and whether both halves vary alike (Levene). They end
/// nothing by themselves, but a confidence below the one asked for does. A constant metric is
/// stationary.
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
        verdict: if is_yes { DecisionVerdict::Yes } else { DecisionVerdict::No },
        confidence: confidence.clamp(0.0, 1.0),
        needed,
        samples: past.len(),
        evidence,
    }
}

/// The moving average, the same with Student's bounds, and how sure these are.
fn check_equivalence(
    recent: &[f64],
    window: usize,
    rule: SynergyConvergenceRule,
) -> ([DecisionEvidence; 2], f64) {
    let usual = mean(recent);
    let centre = ema_series(recent, window).last().copied().unwrap_or(usual);
    let centre = match rule.target {
        ConvergenceTarget::Zero => centre,
        // What adding up costs in digits is no unrest.
        ConvergenceTarget::OwnMean if is_constant(recent) => 0.0,
        ConvergenceTarget::OwnMean => centre - usual,
    };
    // Values that follow each other tell less of their mean than as many that do not.
    let samples = recent.len();
    let inflation =
        if samples < MIN_VARIANCE_SAMPLES { 1.0 } else { autocorrelation_inflation(recent) };
    let spread = if is_constant(recent) { 0.0 } else { sample_deviation(recent) * inflation };
    let freedom = (samples - 1) as f64;
    // One-sided on each side, so that both p-value and bound say the same.
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

/// The evidence, and what it leaves of the confidence. The test has little power on few values: a
/// p-value that it does not reject with then says little, and counts more the more values there
/// are.
fn check_stationarity(
    recent: &[f64],
    window: usize,
    rule: SynergyConvergenceRule,
) -> Option<(DecisionEvidence, f64)> {
    // A shorter window than the test needs must not silence it.
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

/// The evidence, and what it leaves of the confidence: all of it where both halves vary alike, else
/// as much as the p-value is of what chance allows.
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
        // Long ago it wandered off; since then it is calm.
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
        // It wanders, but stays within a wide threshold.
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
        assert_eq!(rested.verdict, DecisionVerdict::Yes);
        assert!(rested.largest_average().is_some_and(|largest| largest > 0.0 && largest < 0.01));
        histories.insert("synergy_resilience".to_owned(), vec![0.0]);
        assert_eq!(convergence_of(&histories, rule(25)).verdict, DecisionVerdict::TooFewSamples);
        assert_eq!(
            convergence_of(&BTreeMap::new(), rule(3)).verdict,
            DecisionVerdict::TooFewSamples
        );
    }
}
