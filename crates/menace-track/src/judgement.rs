//! Go on or stop: what the histories say after a cycle, with the evidence for each answer.
//!
//! The tests are in `stats`, acting on the answers belongs to `menace-loop`. Invariant: every answer that
//! could end something has its evidence beside it, and too short a history ends nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Tracker;
use crate::metric::SYNERGY_ROI;
use crate::series::last;
use crate::stats::convergence::{
    Adaptive, Diminishing, FEWEST, Following, adaptive_synergy_threshold,
    adaptive_synergy_threshold_of, adaptive_threshold, diminishing, roi_tolerance,
};
use crate::stats::entropy::{ceiling, plateau};
use crate::stats::evidence::{Decision, Verdict};
use crate::stats::synergy::{Around, Convergence, Rest, metric_converged};

/// When gains have faded, in the words of the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// `SANDBOX_ROI_TOLERANCE`.
    pub roi_tolerance: f64,
    /// `ROI_THRESHOLD`; without it, the threshold follows from the history.
    pub roi_threshold: Option<f64>,
    /// `ROI_CYCLES`.
    pub roi_cycles: Option<usize>,
    /// `ROI_CONFIDENCE`.
    pub roi_confidence: f64,
    /// The standard deviation above which gains are too restless to say.
    pub epsilon: f64,
    /// `ENTROPY_THRESHOLD`; without it, the threshold of ROI serves.
    pub entropy_threshold: Option<f64>,
    /// `ENTROPY_PLATEAU_THRESHOLD`; without it, plateaus end nothing.
    pub entropy_plateau_threshold: Option<f64>,
    /// `ENTROPY_PLATEAU_CONSECUTIVE`.
    pub entropy_plateau_consecutive: usize,
    /// `SYNERGY_THRESHOLD`; without it, each metric's follows from how far predictions were off.
    pub synergy_threshold: Option<f64>,
    /// `SYNERGY_CYCLES`; without it, the length of the history.
    pub synergy_cycles: Option<usize>,
    /// `SYNERGY_THRESHOLD_WINDOW`, `SYNERGY_THRESHOLD_WEIGHT`.
    pub following: Following,
    /// Threshold, where it lies and cycles in it are replaced; `SYNERGY_CONFIDENCE`, `SYNERGY_MA_WINDOW`,
    /// `SYNERGY_STATIONARITY_CONFIDENCE`, `SYNERGY_VARIANCE_CONFIDENCE`.
    pub rest: Rest,
}

impl Default for Rules {
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
            following: Following::default(),
            rest: Rest::default(),
        }
    }
}

/// Where a threshold comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A setting.
    Fixed,
    /// The deviation of the history, up to twice the tolerance.
    History,
    /// The tolerance, because the history is short or calmer than that.
    Tolerance,
}

/// Whether more entropy still pays in one module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntropyJudgement {
    pub ceiling: Decision,
    /// None where no plateau is asked for.
    pub plateau: Option<Decision>,
}

impl EntropyJudgement {
    /// Either says that it does not.
    pub fn is_complete(&self) -> bool {
        self.ceiling.is_yes() || self.plateau.as_ref().is_some_and(Decision::is_yes)
    }
}

/// All answers after a cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// How reliable forecasts of ROI were; none before the first could be compared.
    pub reliability: Option<f64>,
    /// The tolerance, scaled by that.
    pub roi_tolerance: f64,
    pub roi_threshold: f64,
    pub roi_threshold_source: Source,
    /// What the deltas of the run say of it; none in summaries of older programs.
    #[serde(default)]
    pub roi_adaptive: Option<Adaptive>,
    /// Whether the gains of the whole run have faded.
    pub roi: Decision,
    /// The same of each module.
    pub modules: BTreeMap<String, Decision>,
    pub entropy: BTreeMap<String, EntropyJudgement>,
    /// Of `synergy_roi`.
    pub synergy_threshold: f64,
    /// What the errors of predictions say of the threshold of each synergy metric.
    #[serde(default)]
    pub synergy_adaptive: BTreeMap<String, Adaptive>,
    pub synergy: Convergence,
    /// Gains of the run and of each module have faded, and synergy, where there is any, has come to rest.
    pub converged: bool,
}

impl Judgement {
    /// Modules whose gains have faded.
    pub fn faded(&self) -> impl Iterator<Item = &str> {
        self.modules.iter().filter(|(_, one)| one.is_yes()).map(|(path, _)| path.as_str())
    }

    /// Modules where more entropy does not pay any more.
    pub fn complete(&self) -> impl Iterator<Item = &str> {
        self.entropy.iter().filter(|(_, one)| one.is_complete()).map(|(path, _)| path.as_str())
    }
}

impl Tracker {
    /// Judges the run, and each of these modules.
    pub fn judge<'m>(
        &self,
        rules: &Rules,
        modules: impl IntoIterator<Item = &'m str>,
    ) -> Judgement {
        let history = self.history();
        let reliability = self.reliability(None, Some(RECENT));
        let tolerance =
            reliability.map_or(rules.roi_tolerance, |it| roi_tolerance(rules.roi_tolerance, it));
        let adaptive = adaptive_threshold(&history.roi_deltas, rules.following);
        let (threshold, source) = match rules.roi_threshold {
            Some(fixed) => (fixed, Source::Fixed),
            None if adaptive.threshold > tolerance => {
                // A level that changed once looks like unrest, and gains would hide in it.
                (adaptive.threshold.min(MOST_TOLERANCES * tolerance), Source::History)
            }
            None => (tolerance, Source::Tolerance),
        };
        let rule = Diminishing {
            threshold,
            consecutive: rules.roi_cycles.unwrap_or(FEWEST),
            epsilon: rules.epsilon,
            confidence: rules.roi_confidence,
        };
        let roi = diminishing(&history.roi_deltas, rule);
        let faded = self.diminishing(rule, modules);
        let mut entropy = BTreeMap::new();
        for path in faded.keys() {
            if let Some(patches) = history.module_patches.get(path) {
                let floor = rules.entropy_threshold.unwrap_or(threshold);
                let consecutive = rules.entropy_plateau_consecutive;
                let ratios = history.module_entropy_deltas.get(path);
                let ratios = ratios.map(Vec::as_slice).unwrap_or_default();
                let judged = EntropyJudgement {
                    ceiling: ceiling(patches, floor, consecutive),
                    plateau: rules
                        .entropy_plateau_threshold
                        .map(|limit| plateau(ratios, limit, consecutive)),
                };
                entropy.insert(path.to_owned(), judged);
            }
        }
        let (synergy_adaptive, synergy) = self.judge_synergy(rules);
        let synergy_threshold = rules
            .synergy_threshold
            .unwrap_or_else(|| self.synergy_following(SYNERGY_ROI, rules).threshold);
        let has_synergy = !synergy.metrics.is_empty();
        // Modules may cancel each other out in the run: all of them have to rest.
        let converged = roi.is_yes()
            && faded.values().all(Decision::is_yes)
            && (!has_synergy || synergy.verdict == Verdict::Yes);
        Judgement {
            reliability,
            roi_tolerance: tolerance,
            roi_threshold: threshold,
            roi_threshold_source: source,
            roi_adaptive: Some(adaptive),
            roi,
            modules: faded,
            entropy,
            synergy_threshold,
            synergy_adaptive,
            synergy,
            converged,
        }
    }

    /// The threshold of each synergy metric, and what they come to.
    ///
    /// A threshold that was set is a distance from zero. One that followed from how far predictions were
    /// off says how much a metric moves, not where it lies: it is a distance from the metric's own mean.
    fn judge_synergy(&self, rules: &Rules) -> (BTreeMap<String, Adaptive>, Convergence) {
        let history = self.history();
        let recent = last(&history.synergy_history, FEWEST);
        // What nobody measures any more keeps nothing open.
        let is_measured =
            |name: &str| recent.is_empty() || recent.iter().any(|one| one.get(name).is_some());
        let metrics = history.metrics_history.iter();
        let metrics: Vec<_> =
            metrics.filter(|(name, _)| name.starts_with("synergy_") && is_measured(name)).collect();
        let among = metrics.len();
        let mut thresholds = BTreeMap::new();
        let mut decisions = BTreeMap::new();
        for (name, values) in metrics {
            let following = self.synergy_following(name, rules);
            let cycles = rules.synergy_cycles.unwrap_or(values.len()).max(FEWEST);
            let (threshold, around) = match rules.synergy_threshold {
                Some(fixed) => (fixed, Around::Zero),
                None => (following.threshold, Around::Itself),
            };
            let rest = Rest { threshold, around, cycles, among, ..rules.rest };
            thresholds.insert(name.clone(), following);
            decisions.insert(name.clone(), metric_converged(values, rest));
        }
        (thresholds, Convergence::of(decisions))
    }

    /// How far predictions of a synergy metric were off; of one with too few of them, as in a history that
    /// somebody else has begun, how far its last values were.
    fn synergy_following(&self, metric: &str, rules: &Rules) -> Adaptive {
        fn of<'h>(from: &'h BTreeMap<String, Vec<f64>>, metric: &str) -> &'h [f64] {
            from.get(metric).map(Vec::as_slice).unwrap_or_default()
        }
        let history = self.history();
        let predicted = of(&history.predicted_metrics, metric);
        let actual = of(&history.actual_metrics, metric);
        let following = adaptive_synergy_threshold(predicted, actual, rules.following);
        if following.samples >= FEWEST {
            return following;
        }
        adaptive_synergy_threshold_of(of(&history.metrics_history, metric), rules.following)
    }
}

/// Forecasts that reliability rests on.
const RECENT: usize = 10;
/// How far a restless history may widen the tolerance: a steady gain above that has not faded.
const MOST_TOLERANCES: f64 = 2.0;

#[cfg(test)]
mod tests;
