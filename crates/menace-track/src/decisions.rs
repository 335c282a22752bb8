//! Decides after a cycle whether to continue, with the evidence for each decision.
//!
//! The tests are in `stats`; `menace-loop` acts on the decisions. Invariant: every decision that
//! could end something comes with its evidence, and too short a history ends nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tracker;
use crate::metric::SYNERGY_ROI;
use crate::series::last_values;
use crate::stats::convergence::{
    AdaptiveThreshold, AdaptiveThresholdRule, DiminishingReturnsRule, MIN_HISTORY_SAMPLES,
    check_diminishing_returns, compute_adaptive_threshold, compute_synergy_threshold,
    compute_unpredicted_synergy_threshold, scale_roi_tolerance,
};
use crate::stats::entropy::{check_entropy_ceiling, check_entropy_plateau};
use crate::stats::evidence::{DecisionAnswer, StatisticalDecision};
use crate::stats::synergy::{
    ConvergenceTarget, SynergyConvergence, SynergyConvergenceRule, check_metric_convergence,
};

/// The thresholds and windows for convergence, with the settings that they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvergenceRules {
    /// `SANDBOX_ROI_TOLERANCE`.
    pub roi_tolerance: f64,
    /// `ROI_THRESHOLD`; without it, the threshold follows from the history.
    pub roi_threshold: Option<f64>,
    /// `ROI_CYCLES`.
    pub roi_cycles: Option<usize>,
    /// `ROI_CONFIDENCE`.
    pub roi_confidence: f64,
    /// The standard deviation above which gains vary too much for a decision.
    pub epsilon: f64,
    /// `ENTROPY_THRESHOLD`; without it, the threshold of ROI is used.
    pub entropy_threshold: Option<f64>,
    /// `ENTROPY_PLATEAU_THRESHOLD`; without it, plateaus are not checked.
    pub entropy_plateau_threshold: Option<f64>,
    /// `ENTROPY_PLATEAU_CONSECUTIVE`.
    pub entropy_plateau_consecutive: usize,
    /// `SYNERGY_THRESHOLD`; without it, each metric's threshold follows from the errors of its
    /// predictions.
    pub synergy_threshold: Option<f64>,
    /// `SYNERGY_CYCLES`; without it, the length of the history.
    pub synergy_cycles: Option<usize>,
    /// `SYNERGY_THRESHOLD_WINDOW`, `SYNERGY_THRESHOLD_WEIGHT`.
    pub adaptive_threshold: AdaptiveThresholdRule,
    /// `SYNERGY_CONFIDENCE`, `SYNERGY_MA_WINDOW`, `SYNERGY_STATIONARITY_CONFIDENCE` and
    /// `SYNERGY_VARIANCE_CONFIDENCE`. Its threshold, target and number of cycles are replaced for
    /// each metric.
    pub synergy_convergence: SynergyConvergenceRule,
}

impl Default for ConvergenceRules {
    fn default() -> Self {
        Self {
            roi_tolerance: 0.01,
            roi_threshold: None,
            roi_cycles: None,
            roi_confidence: 0.95,
            epsilon: 5e-3,
            entropy_threshold: None,
            entropy_plateau_threshold: None,
            entropy_plateau_consecutive: 3,
            synergy_threshold: None,
            synergy_cycles: None,
            adaptive_threshold: AdaptiveThresholdRule::default(),
            synergy_convergence: SynergyConvergenceRule::default(),
        }
    }
}

/// Where a threshold comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdSource {
    /// A setting.
    Fixed,
    /// The deviation of the history, at most twice the tolerance.
    History,
    /// The tolerance, because the history is short, or deviates less than that.
    Tolerance,
}

/// Whether further cycles of a module still gain enough for the entropy that they add.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntropyDecision {
    pub ceiling: StatisticalDecision,
    /// `None` when plateaus are not checked.
    pub plateau: Option<StatisticalDecision>,
}

impl EntropyDecision {
    /// Whether one of the two checks says that the module has reached its entropy cap.
    pub fn is_capped(&self) -> bool {
        self.ceiling.is_yes() || self.plateau.as_ref().is_some_and(StatisticalDecision::is_yes)
    }
}

/// All decisions after a cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConvergenceReport {
    /// How reliable forecasts of ROI were; `None` before the first one could be compared.
    pub reliability: Option<f64>,
    /// The tolerance, scaled by the reliability.
    pub roi_tolerance: f64,
    pub roi_threshold: f64,
    pub roi_threshold_source: ThresholdSource,
    /// The threshold that follows from the run's deltas; `None` in summaries of older programs.
    #[serde(default)]
    pub roi_adaptive: Option<AdaptiveThreshold>,
    /// Whether the gains of the whole run have converged.
    pub roi: StatisticalDecision,
    /// Whether the gains of each module have converged.
    pub modules: BTreeMap<String, StatisticalDecision>,
    pub entropy: BTreeMap<String, EntropyDecision>,
    /// The threshold of `synergy_roi`.
    pub synergy_threshold: f64,
    /// The threshold of each synergy metric that follows from the errors of its predictions.
    #[serde(default)]
    pub synergy_adaptive: BTreeMap<String, AdaptiveThreshold>,
    pub synergy: SynergyConvergence,
    /// Whether the gains of the run and of each module have converged, and synergy too, where there
    /// is any.
    pub converged: bool,
}

impl ConvergenceReport {
    /// Modules whose gains have converged.
    pub fn converged_modules(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().filter(|(_, one)| one.is_yes()).map(|(path, _)| path.as_str())
    }

    /// Modules for which further entropy does not pay any more.
    pub fn entropy_capped_modules(&self) -> impl Iterator<Item = &str> {
        self.entropy.iter().filter(|(_, one)| one.is_capped()).map(|(path, _)| path.as_str())
    }
}

impl Tracker {
    /// Decides about the run, and about each of these modules.
    pub fn decide_convergence<'m>(
        &self,
        rules: &ConvergenceRules,
        modules: impl IntoIterator<Item = &'m str>,
    ) -> ConvergenceReport {
        let history = self.history();
        let reliability = self.reliability(None, Some(RELIABILITY_FORECASTS));
        let tolerance = reliability
            .map_or(rules.roi_tolerance, |it| scale_roi_tolerance(rules.roi_tolerance, it));
        let adaptive = compute_adaptive_threshold(&history.roi_deltas, rules.adaptive_threshold);
        let (threshold, source) = match rules.roi_threshold {
            Some(fixed) => (fixed, ThresholdSource::Fixed),
            None if adaptive.threshold > tolerance => {
                // Capped: a level that changed once looks like noise, and would hide gains.
                (adaptive.threshold.min(MAX_TOLERANCE_FACTOR * tolerance), ThresholdSource::History)
            }
            None => (tolerance, ThresholdSource::Tolerance),
        };
        let rule = DiminishingReturnsRule {
            threshold,
            consecutive: rules.roi_cycles.unwrap_or(MIN_HISTORY_SAMPLES),
            epsilon: rules.epsilon,
            confidence: rules.roi_confidence,
        };
        let roi = check_diminishing_returns(&history.roi_deltas, rule);
        let module_decisions = self.check_diminishing_returns(rule, modules);
        let mut entropy = BTreeMap::new();
        for path in module_decisions.keys() {
            if let Some(source_changes) = history.module_source_changes.get(path) {
                let floor = rules.entropy_threshold.unwrap_or(threshold);
                let consecutive = rules.entropy_plateau_consecutive;
                let ratios = history.module_entropy_deltas.get(path);
                let ratios = ratios.map(Vec::as_slice).unwrap_or_default();
                let judged = EntropyDecision {
                    ceiling: check_entropy_ceiling(source_changes, floor, consecutive),
                    plateau: rules
                        .entropy_plateau_threshold
                        .map(|limit| check_entropy_plateau(ratios, limit, consecutive)),
                };
                entropy.insert(path.to_owned(), judged);
            }
        }
        let (synergy_adaptive, synergy) = self.decide_synergy_convergence(rules);
        let synergy_threshold = rules
            .synergy_threshold
            .unwrap_or_else(|| self.adaptive_synergy_threshold(SYNERGY_ROI, rules).threshold);
        let has_synergy = !synergy.metrics.is_empty();
        // The gains of modules may cancel each other out in the run, so each has to converge.
        let converged = roi.is_yes()
            && module_decisions.values().all(StatisticalDecision::is_yes)
            && (!has_synergy || synergy.answer == DecisionAnswer::Yes);
        ConvergenceReport {
            reliability,
            roi_tolerance: tolerance,
            roi_threshold: threshold,
            roi_threshold_source: source,
            roi_adaptive: Some(adaptive),
            roi,
            modules: module_decisions,
            entropy,
            synergy_threshold,
            synergy_adaptive,
            synergy,
            converged,
        }
    }

    /// The adaptive threshold of each synergy metric, and the decision about all of them.
    ///
    /// A threshold from the settings is a distance from zero. An adaptive threshold follows from
    /// the errors of predictions, which show how much a metric varies, not where it lies: it is a
    /// distance from the metric's own mean.
    fn decide_synergy_convergence(
        &self,
        rules: &ConvergenceRules,
    ) -> (BTreeMap<String, AdaptiveThreshold>, SynergyConvergence) {
        let history = self.history();
        let recent = last_values(&history.synergy_history, MIN_HISTORY_SAMPLES);
        // A metric that is no longer measured does not delay the decision.
        let is_measured =
            |name: &str| recent.is_empty() || recent.iter().any(|one| one.get(name).is_some());
        let metrics = history.metrics_history.iter();
        let metrics: Vec<_> =
            metrics.filter(|(name, _)| name.starts_with("synergy_") && is_measured(name)).collect();
        let among = metrics.len();
        let mut thresholds = BTreeMap::new();
        let mut decisions = BTreeMap::new();
        for (name, values) in metrics {
            let following = self.adaptive_synergy_threshold(name, rules);
            let cycles = rules.synergy_cycles.unwrap_or(values.len()).max(MIN_HISTORY_SAMPLES);
            let (threshold, around) = match rules.synergy_threshold {
                Some(fixed) => (fixed, ConvergenceTarget::Zero),
                None => (following.threshold, ConvergenceTarget::OwnMean),
            };
            let rest = SynergyConvergenceRule {
                threshold,
                target: around,
                cycles,
                compared_metrics: among,
                ..rules.synergy_convergence
            };
            thresholds.insert(name.clone(), following);
            decisions.insert(name.clone(), check_metric_convergence(values, rest));
        }
        (thresholds, SynergyConvergence::from_decisions(decisions))
    }

    /// The threshold from the errors of a synergy metric's predictions. With too few predictions
    /// the last value serves as the prediction of the next.
    fn adaptive_synergy_threshold(
        &self,
        metric: &str,
        rules: &ConvergenceRules,
    ) -> AdaptiveThreshold {
        fn series_of<'h>(from: &'h BTreeMap<String, Vec<f64>>, metric: &str) -> &'h [f64] {
            from.get(metric).map(Vec::as_slice).unwrap_or_default()
        }
        let history = self.history();
        let predicted = series_of(&history.predicted_metrics, metric);
        let actual = series_of(&history.actual_metrics, metric);
        let following = compute_synergy_threshold(predicted, actual, rules.adaptive_threshold);
        if following.samples >= MIN_HISTORY_SAMPLES {
            return following;
        }
        compute_unpredicted_synergy_threshold(
            series_of(&history.metrics_history, metric),
            rules.adaptive_threshold,
        )
    }
}

/// How many forecasts the reliability is computed from.
const RELIABILITY_FORECASTS: usize = 10;
/// How far a noisy history may widen the tolerance: a steady gain above that has not converged.
const MAX_TOLERANCE_FACTOR: f64 = 2.0;

#[cfg(test)]
mod tests;
