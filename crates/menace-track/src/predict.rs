//! Who says what a metric will be next, and how much each is listened to.
//!
//! A [`Panel`] asks every [`Predictor`] that knows a metric and weighs the answers by how far each was
//! off on that metric before. Histories belong to the tracker, which also remembers the errors.
//! Invariant: an answer is a finite number, and a metric without a history has none.

mod bundled;
mod heard;
mod models;

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

pub use bundled::{LastValue, MetricsPrediction, SmoothedValue, SynergyPrediction};
pub use heard::Heard;
pub use models::Models;

use crate::series::{last, mean};

/// Errors of each predictor and metric that are remembered, and that decide its weight.
pub const REMEMBERED: usize = 20;
/// What is added to every error, so that a perfect past does not silence all others.
const HUMILITY: f64 = 1e-6;

/// One who predicts.
pub trait Predictor: Debug {
    /// A name that no other has.
    fn name(&self) -> &str;

    /// Whether it can be asked about a metric.
    fn knows(&self, metric: &str) -> bool;

    /// The next value of a metric after its history, oldest first; none when that is too short. Models that
    /// take time to choose are kept in `models`.
    fn predict(&self, metric: &str, history: &[f64], models: &mut Models) -> Option<f64>;
}

/// How far each predictor was off: by predictor and metric, oldest first.
pub type Errors = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// What one predictor said, and how much it counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub predictor: String,
    pub value: f64,
    /// All weights of a prediction add up to 1.
    pub weight: f64,
}

/// What all of them said together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    pub metric: String,
    /// The weighted mean of the answers.
    pub value: f64,
    pub answers: Vec<Answer>,
}

/// Everybody who can be asked.
#[derive(Debug, Default)]
pub struct Panel {
    predictors: Vec<Box<dyn Predictor>>,
}

impl Panel {
    /// The predictors that come with Menace.
    pub fn bundled() -> Self {
        let mut panel = Self::default();
        panel.register(Box::new(MetricsPrediction));
        panel.register(Box::new(SynergyPrediction));
        panel.register(Box::new(LastValue));
        panel.register(Box::new(SmoothedValue));
        panel
    }

    /// Adds one; of two with the same name, the later one is asked.
    pub fn register(&mut self, predictor: Box<dyn Predictor>) {
        self.predictors.retain(|known| known.name() != predictor.name());
        self.predictors.push(predictor);
    }

    /// The names of all, in the order in which they registered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.predictors.iter().map(|predictor| predictor.name())
    }

    /// Asks everybody who knows the metric; none when nobody has an answer.
    ///
    /// The weight of an answer is one over its predictor's mean absolute error on this metric. Who has
    /// no past on it counts as the average of those who have.
    pub fn predict(
        &self,
        metric: &str,
        history: &[f64],
        errors: &Errors,
        models: &mut Models,
    ) -> Option<Prediction> {
        let answers: Vec<(&str, f64, Option<f64>)> = self
            .predictors
            .iter()
            .filter(|predictor| predictor.knows(metric))
            .filter_map(|predictor| {
                let value = predictor.predict(metric, history, models)?;
                let past = errors.get(predictor.name()).and_then(|metrics| metrics.get(metric));
                let error = past.and_then(|errors| mean(last(errors, REMEMBERED)));
                value.is_finite().then_some((predictor.name(), value, error))
            })
            .collect();
        let known: Vec<f64> = answers.iter().filter_map(|(_, _, error)| *error).collect();
        let usual = mean(&known).unwrap_or_default();
        let weight = |error: Option<f64>| 1.0 / (error.unwrap_or(usual).max(0.0) + HUMILITY);
        let total: f64 = answers.iter().map(|(_, _, error)| weight(*error)).sum();
        if answers.is_empty() || !total.is_finite() || total <= 0.0 {
            return None;
        }
        let answers: Vec<Answer> = answers
            .into_iter()
            .map(|(name, value, error)| Answer {
                predictor: name.to_owned(),
                value,
                weight: weight(error) / total,
            })
            .collect();
        let value: f64 = answers.iter().map(|answer| answer.value * answer.weight).sum();
        let metric = metric.to_owned();
        value.is_finite().then_some(Prediction { metric, value, answers })
    }
}

/// Remembers how far every answer was from what came.
pub fn remember(errors: &mut Errors, prediction: &Prediction, actual: f64) {
    for answer in &prediction.answers {
        remember_error(errors, &answer.predictor, &prediction.metric, answer.value - actual);
    }
}

/// The same of one predictor.
pub(crate) fn remember_error(errors: &mut Errors, predictor: &str, metric: &str, error: f64) {
    if !error.is_finite() {
        return;
    }
    let metrics = errors.entry(predictor.to_owned()).or_default();
    let past = metrics.entry(metric.to_owned()).or_default();
    past.push(error.abs());
    let surplus = past.len().saturating_sub(REMEMBERED);
    past.drain(..surplus);
}

/// `pred_<metric>`, as predictions are called in histories and reports.
pub fn predicted_metric(metric: &str) -> String {
    format!("pred_{metric}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::METRICS;

    #[derive(Debug)]
    struct Always(&'static str, f64);

    impl Predictor for Always {
        fn name(&self) -> &str {
            self.0
        }

        fn knows(&self, metric: &str) -> bool {
            metric != "secret"
        }

        fn predict(&self, _: &str, _: &[f64], _: &mut Models) -> Option<f64> {
            Some(self.1)
        }
    }

    fn ask(panel: &Panel, metric: &str, history: &[f64], errors: &Errors) -> Option<Prediction> {
        panel.predict(metric, history, errors, &mut Models::default())
    }

    fn panel() -> Panel {
        let mut panel = Panel::default();
        panel.register(Box::new(Always("low", 0.0)));
        panel.register(Box::new(Always("high", 1.0)));
        panel
    }

    #[test]
    fn who_was_right_before_counts_more() {
        let mut errors = Errors::new();
        let first = ask(&panel(), "resilience", &[], &errors).unwrap();
        assert!((first.value - 0.5).abs() < 1e-12);
        for _ in 0..3 {
            let said = ask(&panel(), "resilience", &[], &errors).unwrap();
            remember(&mut errors, &said, 0.9);
        }
        let later = ask(&panel(), "resilience", &[], &errors).unwrap();
        assert!((later.value - 0.9).abs() < 1e-4, "{later:?}");
        // The past on one metric says nothing of another.
        let other = ask(&panel(), "efficiency", &[], &errors).unwrap();
        assert!((other.value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn only_those_who_know_a_metric_are_asked() {
        assert_eq!(ask(&panel(), "secret", &[], &Errors::new()), None);
    }

    #[test]
    fn a_later_registration_replaces_an_earlier_one() {
        let mut panel = panel();
        panel.register(Box::new(Always("low", 0.5)));
        assert_eq!(panel.names().collect::<Vec<_>>(), ["high", "low"]);
    }

    #[test]
    fn errors_of_long_ago_are_forgotten() {
        let mut errors = Errors::new();
        for step in 0..50 {
            let said = ask(&panel(), "resilience", &[], &errors).unwrap();
            remember(&mut errors, &said, f64::from(step));
        }
        assert_eq!(errors["low"]["resilience"].len(), REMEMBERED);
    }

    #[test]
    fn the_bundled_ones_predict_every_documented_metric_and_its_synergy() {
        let panel = Panel::bundled();
        let history = [0.5, 0.5, 0.5];
        for metric in METRICS {
            for name in [metric.name.to_owned(), crate::synergy_metric(metric.name)] {
                let said = ask(&panel, &name, &history, &Errors::new()).unwrap();
                assert!((said.value - 0.5).abs() < 1e-9, "{name}");
                let own = if name.starts_with("synergy_") {
                    "synergy_prediction"
                } else {
                    "metrics_prediction"
                };
                assert!(said.answers.iter().any(|answer| answer.predictor == own), "{name}");
            }
            assert_eq!(ask(&panel, metric.name, &[], &Errors::new()), None);
        }
    }
}
