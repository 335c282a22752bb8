//! Predicts the next value of a metric from several predictors.
//!
//! A [`PredictorPanel`] queries every [`MetricPredictor`] that supports a metric. The weight of an
//! answer follows from the predictor's earlier errors on that metric; the tracker stores histories
//! and errors. Invariant: an answer is a finite number, and a metric without a history has none.

mod bundled;
mod external;
mod models;

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

pub use bundled::BundledPredictor;
pub use external::ExternalPredictor;
pub use models::ForecastModelCache;

use crate::series::{last_values, mean};

/// How many errors per predictor and metric are kept, and determine its weight.
pub const MAX_ERRORS_PER_PREDICTOR: usize = 20;
/// Added to every error, so that a predictor without errors does not get all the weight.
const ERROR_OFFSET: f64 = 1e-6;

/// Predicts the next value of metrics.
pub trait MetricPredictor: Debug {
    /// A unique name.
    fn name(&self) -> &str;

    /// Whether it predicts this metric.
    fn supports(&self, metric: &str) -> bool;

    /// The next value of a metric, given its history, oldest first; `None` when that is too short.
    /// Models that take time to choose are kept in `cache`.
    fn predict(&self, metric: &str, history: &[f64], cache: &mut ForecastModelCache)
    -> Option<f64>;
}

/// The errors of each predictor, by predictor and metric, oldest first.
pub type PredictorErrors = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// The answer of one predictor, and its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictorAnswer {
    pub predictor: String,
    pub value: f64,
    /// The weights of all answers add up to 1.
    pub weight: f64,
}

/// The combined answer of all predictors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PanelPrediction {
    pub metric: String,
    /// The weighted mean of the answers.
    pub value: f64,
    pub answers: Vec<PredictorAnswer>,
}

/// All registered predictors.
#[derive(Debug, Default)]
pub struct PredictorPanel {
    predictors: Vec<Box<dyn MetricPredictor>>,
}

impl PredictorPanel {
    /// The predictors that come with Menace.
    pub fn bundled() -> Self {
        let mut panel = Self::default();
        for predictor in [
            BundledPredictor::ModelledMetrics,
            BundledPredictor::ModelledSynergy,
            BundledPredictor::LastValue,
            BundledPredictor::SmoothedValue,
        ] {
            panel.register(Box::new(predictor));
        }
        panel
    }

    /// Adds a predictor, replacing one of the same name.
    pub fn register(&mut self, predictor: Box<dyn MetricPredictor>) {
        self.predictors.retain(|known| known.name() != predictor.name());
        self.predictors.push(predictor);
    }

    /// The names of all predictors, in the order in which they were registered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.predictors.iter().map(|predictor| predictor.name())
    }

    /// The weighted mean of the answers of all predictors that support the metric; `None` without
    /// one.
    ///
    /// The weight of an answer is one over its predictor's mean absolute error on this metric. A
    /// predictor without recorded errors on it has the average error of the others.
    pub fn predict(
        &self,
        metric: &str,
        history: &[f64],
        errors: &PredictorErrors,
        models: &mut ForecastModelCache,
    ) -> Option<PanelPrediction> {
        let answers: Vec<(&str, f64, Option<f64>)> = self
            .predictors
            .iter()
            .filter(|predictor| predictor.supports(metric))
            .filter_map(|predictor| {
                let value = predictor.predict(metric, history, models)?;
                let past = errors.get(predictor.name()).and_then(|metrics| metrics.get(metric));
                let error =
                    past.and_then(|errors| mean(last_values(errors, MAX_ERRORS_PER_PREDICTOR)));
                value.is_finite().then_some((predictor.name(), value, error))
            })
            .collect();
        let known: Vec<f64> = answers.iter().filter_map(|(_, _, error)| *error).collect();
        let usual = mean(&known).unwrap_or_default();
        let weight = |error: Option<f64>| 1.0 / (error.unwrap_or(usual).max(0.0) + ERROR_OFFSET);
        let total: f64 = answers.iter().map(|(_, _, error)| weight(*error)).sum();
        if answers.is_empty() || !total.is_finite() || total <= 0.0 {
            return None;
        }
        let answers: Vec<PredictorAnswer> = answers
            .into_iter()
            .map(|(name, value, error)| PredictorAnswer {
                predictor: name.to_owned(),
                value,
                weight: weight(error) / total,
            })
            .collect();
        let value: f64 = answers.iter().map(|answer| answer.value * answer.weight).sum();
        let metric = metric.to_owned();
        value.is_finite().then_some(PanelPrediction { metric, value, answers })
    }
}

/// Records the error of each answer.
pub fn record_errors(errors: &mut PredictorErrors, prediction: &PanelPrediction, actual: f64) {
    for answer in &prediction.answers {
        record_error(errors, &answer.predictor, &prediction.metric, answer.value - actual);
    }
}

/// Records one error of a predictor.
pub(crate) fn record_error(errors: &mut PredictorErrors, owner: &str, metric: &str, error: f64) {
    if !error.is_finite() {
        return;
    }
    let metrics = errors.entry(owner.to_owned()).or_default();
    let past = metrics.entry(metric.to_owned()).or_default();
    past.push(error.abs());
    let surplus = past.len().saturating_sub(MAX_ERRORS_PER_PREDICTOR);
    past.drain(..surplus);
}

/// `pred_<metric>`, the name of a prediction in histories and reports.
pub fn predicted_metric_name(metric: &str) -> String {
    format!("pred_{metric}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::METRICS;

    #[derive(Debug)]
    struct ConstantPredictor(&'static str, f64);

    impl MetricPredictor for ConstantPredictor {
        fn name(&self) -> &str {
            self.0
        }

        fn supports(&self, metric: &str) -> bool {
            metric != "secret"
        }

        fn predict(&self, _: &str, _: &[f64], _: &mut ForecastModelCache) -> Option<f64> {
            Some(self.1)
        }
    }

    fn predict_with(
        panel: &PredictorPanel,
        metric: &str,
        history: &[f64],
        errors: &PredictorErrors,
    ) -> Option<PanelPrediction> {
        panel.predict(metric, history, errors, &mut ForecastModelCache::default())
    }

    fn panel() -> PredictorPanel {
        let mut panel = PredictorPanel::default();
        panel.register(Box::new(ConstantPredictor("low", 0.0)));
        panel.register(Box::new(ConstantPredictor("high", 1.0)));
        panel
    }

    #[test]
    fn an_accurate_predictor_has_more_weight() {
        let mut errors = PredictorErrors::new();
        let first = predict_with(&panel(), "resilience", &[], &errors).unwrap();
        assert!((first.value - 0.5).abs() < 1e-12);
        for _ in 0..3 {
            let said = predict_with(&panel(), "resilience", &[], &errors).unwrap();
            record_errors(&mut errors, &said, 0.9);
        }
        let later = predict_with(&panel(), "resilience", &[], &errors).unwrap();
        assert!((later.value - 0.9).abs() < 1e-4, "{later:?}");
        // Errors on one metric do not affect the weight on another.
        let other = predict_with(&panel(), "efficiency", &[], &errors).unwrap();
        assert!((other.value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn only_predictors_that_support_a_metric_are_asked() {
        assert_eq!(predict_with(&panel(), "secret", &[], &PredictorErrors::new()), None);
    }

    #[test]
    fn a_later_registration_replaces_an_earlier_one() {
        let mut panel = panel();
        panel.register(Box::new(ConstantPredictor("low", 0.5)));
        assert_eq!(panel.names().collect::<Vec<_>>(), ["high", "low"]);
    }

    #[test]
    fn errors_of_long_ago_are_forgotten() {
        let mut errors = PredictorErrors::new();
        for step in 0..50 {
            let said = predict_with(&panel(), "resilience", &[], &errors).unwrap();
            record_errors(&mut errors, &said, f64::from(step));
        }
        assert_eq!(errors["low"]["resilience"].len(), MAX_ERRORS_PER_PREDICTOR);
    }

    #[test]
    fn the_bundled_ones_predict_every_documented_metric_and_its_synergy() {
        let panel = PredictorPanel::bundled();
        let history = [0.5, 0.5, 0.5];
        for metric in METRICS {
            for name in [metric.name.to_owned(), crate::synergy_metric_name(metric.name)] {
                let said = predict_with(&panel, &name, &history, &PredictorErrors::new()).unwrap();
                assert!((said.value - 0.5).abs() < 1e-9, "{name}");
                let own = if name.starts_with("synergy_") {
                    "synergy_prediction"
                } else {
                    "metrics_prediction"
                };
                assert!(said.answers.iter().any(|answer| answer.predictor == own), "{name}");
            }
            assert_eq!(predict_with(&panel, metric.name, &[], &PredictorErrors::new()), None);
        }
    }
}
