//! Whether synergy has come to rest.
//!
//! Measuring synergy belongs to the tracker. Invariant: one metric that has not converged, or that
//! has too few samples, keeps the whole from converging.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::adf::adf;
use super::convergence::{FEWEST, equivalence};
use super::correlation::{critical, dependence, p_value, rolling_with_index};
use super::describe::{constant, deviation, ema, mean, present};
use super::distribution::t_quantile;
use super::evidence::{Check, Decision, Evidence, Verdict};
use super::levene::{Center, levene};

/// Values from which the test for stationarity is asked; below, it has no power.
pub const STATIONARITY_FROM: usize = 12;
/// Values from which it all but always tells what returns from what does not.
pub const STATIONARITY_FULL: usize = 100;
/// The newest values that it is asked of: more would cost time with each cycle and tell nothing new.
pub const STATIONARITY_MOST: usize = 200;
/// Values from which both halves are compared.
pub const VARIANCE_FROM: usize = 6;

/// What a metric has to stay close to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Around {
    /// Nothing: being together makes no difference any more.
    Zero,
    /// Its own mean: whatever difference it makes, that stays the same.
    Itself,
}

/// When a synergy metric counts as converged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// How far, up or down, synergy may be from there (`SYNERGY_THRESHOLD`).
    pub threshold: f64,
    /// From where.
    pub around: Around,
    /// The last cycles that are looked at (`SYNERGY_CYCLES`), at least three.
    pub cycles: usize,
    /// How sure bounds and trend must be (`SYNERGY_CONFIDENCE`).
    pub confidence: f64,
    /// The window of the moving average, of the rolling correlation and of the test for stationarity
    /// (`SYNERGY_MA_WINDOW`).
    pub window: Option<usize>,
    /// How sure the test for stationarity must be (`SYNERGY_STATIONARITY_CONFIDENCE`).
    pub stationarity_confidence: f64,
    /// How sure the test for equal variance must be (`SYNERGY_VARIANCE_CONFIDENCE`).
    pub variance_confidence: f64,
    /// How many metrics are judged together: each may be wrong only so much more seldom.
    pub among: usize,
}

impl Rest {
    /// How likely a test of this confidence may be wrong on one of the metrics (Holm 1979: as all have to
    /// hold, the first step decides).
    fn chance(&self, confidence: f64) -> f64 {
        (1.0 - confidence).clamp(0.0, 1.0) / self.among.max(1) as f64
    }
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            threshold: 0.01,
            around: Around::Zero,
            cycles: FEWEST,
            confidence: 0.95,
            window: None,
            stationarity_confidence: 0.95,
            variance_confidence: 0.95,
            among: 1,
        }
    }
}

/// The decision for all metrics, and for each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Yes if every metric has converged.
    pub verdict: Verdict,
    /// The smallest confidence of all.
    pub confidence: f64,
    /// One decision per metric.
    pub metrics: BTreeMap<String, Decision>,
}

impl Convergence {
    /// What the decisions for all metrics come to; without metrics, there is nothing to tell.
    pub fn of(metrics: BTreeMap<String, Decision>) -> Self {
        let verdict = if metrics.is_empty()
            || metrics.values().any(|decision| decision.verdict == Verdict::TooFewSamples)
        {
            Verdict::TooFewSamples
        } else if metrics.values().all(Decision::is_yes) {
            Verdict::Yes
        } else {
            Verdict::No
        };
        let confidences = metrics.values().map(|decision| decision.confidence);
        let confidence = confidences.min_by(f64::total_cmp).unwrap_or(0.0);
        Self { verdict, confidence, metrics }
    }

    /// The largest distance of a moving average from where it should be; none before one was asked.
    pub fn largest_average(&self) -> Option<f64> {
        let asked = self.metrics.values().filter_map(|decision| decision.about(Check::Mean));
        asked.map(|evidence| evidence.statistic).max_by(f64::total_cmp)
    }
}

/// Whether one metric has come to rest over the last cycles.
///
/// Its moving average with Student's bounds stays within the threshold, of zero or of its own mean, and it
/// does not move with time (mean rolling correlation with the index below what chance allows). How sure
/// that is refine two more tests, where there are enough samples: whether it returns to its mean (Dickey
/// and Fuller), and whether both halves vary alike (Levene). They end nothing by themselves, but a
/// confidence below the one asked for does. A constant metric is stationary.
pub fn metric_converged(history: &[f64], rule: Rest) -> Decision {
    let history = present(history);
    let needed = rule.cycles.max(FEWEST);
    if history.len() < needed {
        return Decision::too_few(needed, history.len());
    }
    let recent = &history[history.len() - needed..];
    let window = rule.window.unwrap_or(needed).clamp(FEWEST, needed);
    let ([average, bounds], mut confidence) = bounds(recent, window, rule);
    let mut evidence = vec![average, bounds, trend(recent, window, rule)];
    let mut is_yes = evidence.iter().all(|piece| piece.holds);
    let refined = [stationarity(recent, window, rule), equal_variance(recent, rule)];
    for (piece, share) in refined.into_iter().flatten() {
        confidence *= share;
        evidence.push(piece);
    }
    is_yes &= confidence >= rule.confidence;
    Decision {
        verdict: if is_yes { Verdict::Yes } else { Verdict::No },
        confidence: confidence.clamp(0.0, 1.0),
        needed,
        samples: history.len(),
        evidence,
    }
}

/// The moving average, the same with Student's bounds, and how sure these are.
fn bounds(recent: &[f64], window: usize, rule: Rest) -> ([Evidence; 2], f64) {
    let usual = mean(recent);
    let centre = ema(recent, window).last().copied().unwrap_or(usual);
    let centre = match rule.around {
        Around::Zero => centre,
        // What adding up costs in digits is no unrest.
        Around::Itself if constant(recent) => 0.0,
        Around::Itself => centre - usual,
    };
    // Values that follow each other tell less of their mean than as many that do not.
    let samples = recent.len();
    let follows = if samples < VARIANCE_FROM { 1.0 } else { dependence(recent) };
    let spread = if constant(recent) { 0.0 } else { deviation(recent) * follows };
    let freedom = (samples - 1) as f64;
    // One-sided on each side, so that both p-value and bound say the same.
    let reach = t_quantile(rule.confidence.clamp(0.5, 1.0 - 1e-12), freedom);
    let statistic = centre.abs() + reach * spread / (samples as f64).sqrt();
    let p_value = equivalence(centre, spread, samples, rule.threshold);
    let evidence = |check, statistic, p_value| Evidence {
        check,
        statistic,
        threshold: rule.threshold,
        p_value,
        samples,
        holds: statistic <= rule.threshold,
    };
    let average = evidence(Check::Mean, centre.abs(), None);
    ([average, evidence(Check::Equivalence, statistic, Some(p_value))], 1.0 - p_value)
}

fn trend(recent: &[f64], window: usize, rule: Rest) -> Evidence {
    let statistic = mean(&rolling_with_index(recent, window)).abs();
    let threshold = critical(window, 1.0 - rule.chance(rule.confidence));
    Evidence {
        check: Check::Trend,
        statistic,
        threshold,
        p_value: Some(p_value(statistic, window)),
        samples: recent.len(),
        holds: statistic <= threshold,
    }
}

/// The evidence, and what it leaves of the confidence. The test has little power on few values: a p-value
/// that it does not reject with then says little, and counts more the more values there are.
fn stationarity(recent: &[f64], window: usize, rule: Rest) -> Option<(Evidence, f64)> {
    // A shorter window than the test needs must not silence it.
    let window = window.clamp(STATIONARITY_FROM, STATIONARITY_MOST);
    let recent = &recent[recent.len().saturating_sub(window)..];
    if recent.len() < STATIONARITY_FROM || constant(recent) {
        return None;
    }
    let test = adf(recent)?;
    let threshold = 1.0 - rule.stationarity_confidence;
    let piece = Evidence {
        check: Check::Stationarity,
        statistic: test.statistic,
        threshold,
        p_value: Some(test.p_value),
        samples: test.samples,
        holds: test.p_value <= threshold,
    };
    let length = (recent.len() - STATIONARITY_FROM) as f64;
    let power = (length / (STATIONARITY_FULL - STATIONARITY_FROM) as f64).min(1.0).powi(2);
    let doubt = (test.p_value - threshold).max(0.0) / rule.stationarity_confidence.max(1e-12);
    Some((piece, 1.0 - power * doubt.min(1.0)))
}

/// The evidence, and what it leaves of the confidence: all of it where both halves vary alike, else as
/// much as the p-value is of what chance allows.
fn equal_variance(recent: &[f64], rule: Rest) -> Option<(Evidence, f64)> {
    if recent.len() < VARIANCE_FROM {
        return None;
    }
    let (first, second) = recent.split_at(recent.len() / 2);
    let test = levene(&[first, second], Center::Median)?;
    let threshold = rule.chance(rule.variance_confidence);
    let holds = test.p_value >= threshold;
    let piece = Evidence {
        check: Check::EqualVariance,
        statistic: test.statistic,
        threshold,
        p_value: Some(test.p_value),
        samples: test.samples,
        holds,
    };
    Some((piece, if holds { 1.0 } else { test.p_value / threshold }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calm(length: u32) -> Vec<f64> {
        (0..length).map(|step| (f64::from(step * step) * 0.37).sin() * 2e-4).collect()
    }

    fn rule(cycles: usize) -> Rest {
        Rest { cycles, ..Rest::default() }
    }

    #[test]
    fn a_calm_metric_has_converged_with_all_tests_asked() {
        let decision = metric_converged(&calm(30), rule(25));
        assert!(decision.is_yes(), "{decision:?}");
        assert_eq!(decision.evidence.len(), 5);
        assert!(decision.confidence > 0.95);
    }

    #[test]
    fn a_metric_that_still_moves_has_not_converged() {
        let moving: Vec<f64> = (0..8_u32).map(|step| f64::from(step) * 1e-4).collect();
        let decision = metric_converged(&moving, rule(8));
        assert!(!decision.about(Check::Trend).unwrap().holds);
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
        let decision = metric_converged(&wilder, rule(20));
        assert!(!decision.about(Check::EqualVariance).unwrap().holds, "{decision:?}");
        assert!(decision.confidence < 0.5 && !decision.is_yes(), "{decision:?}");
    }

    #[test]
    fn a_constant_metric_within_the_threshold_has_converged() {
        assert!(metric_converged(&[0.001; 20], rule(20)).is_yes());
        assert!(!metric_converged(&[0.5; 20], rule(20)).is_yes());
    }

    #[test]
    fn a_metric_that_stays_where_it_is_rests_around_itself() {
        let own = Rest { threshold: 0.0, around: Around::Itself, ..rule(20) };
        assert!(metric_converged(&[0.05; 20], own).is_yes());
        let risen: Vec<f64> = calm(30).iter().map(|value| value + 0.05).collect();
        let room = Rest { threshold: 1e-3, around: Around::Itself, ..rule(25) };
        assert!(metric_converged(&risen, room).is_yes());
        assert!(!metric_converged(&risen, Rest { around: Around::Zero, ..room }).is_yes());
        let moving: Vec<f64> = (0..20_u32).map(|step| f64::from(step) * 0.01).collect();
        assert!(!metric_converged(&moving, own).is_yes());
    }

    #[test]
    fn stationarity_is_asked_of_the_window_and_of_no_fewer_values_than_it_needs() {
        // Long ago it wandered off; since then it is calm.
        let mut values: Vec<f64> = (0..40_u32).map(|step| f64::from(step) * 0.1).collect();
        values.extend(calm(40));
        let asked = |window: Option<usize>| {
            let decision = metric_converged(&values, Rest { window, ..rule(80) });
            *decision.about(Check::Stationarity).unwrap()
        };
        assert!(!asked(None).holds);
        assert!(asked(Some(30)).holds && asked(Some(30)).samples < 30);
        assert!(asked(Some(3)).samples <= STATIONARITY_FROM);
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
            let wide = Rest { threshold: 1e6, variance_confidence: 1.0, ..rule(length as usize) };
            let decision = metric_converged(&walk(length), wide);
            assert!(!decision.about(Check::Stationarity).unwrap().holds, "{decision:?}");
            decision.confidence
        };
        assert!(sure(20) > 0.95 && sure(110) < 0.95);
    }

    #[test]
    fn the_test_for_stationarity_does_not_grow_with_the_history() {
        let decision = metric_converged(&calm(1000), rule(1000));
        assert!(decision.about(Check::Stationarity).unwrap().samples <= STATIONARITY_MOST);
    }

    fn of(histories: &BTreeMap<String, Vec<f64>>, rule: Rest) -> Convergence {
        let histories = histories.iter();
        Convergence::of(
            histories.map(|(name, one)| (name.clone(), metric_converged(one, rule))).collect(),
        )
    }

    #[test]
    fn one_metric_with_too_few_samples_keeps_the_whole_open() {
        let mut histories = BTreeMap::from([("synergy_roi".to_owned(), calm(30))]);
        let rested = of(&histories, rule(25));
        assert_eq!(rested.verdict, Verdict::Yes);
        assert!(rested.largest_average().is_some_and(|largest| largest > 0.0 && largest < 0.01));
        histories.insert("synergy_resilience".to_owned(), vec![0.0]);
        assert_eq!(of(&histories, rule(25)).verdict, Verdict::TooFewSamples);
        assert_eq!(of(&BTreeMap::new(), rule(3)).verdict, Verdict::TooFewSamples);
    }
}
