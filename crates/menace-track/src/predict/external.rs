//! A predictor whose answers a plugin has sent.
//!
//! Invariant: an answer stays within the range of its metric, as those of the bundled predictors
//! do.

use std::collections::BTreeMap;

use super::bundled::clamp_to_range;
use super::{ForecastModelCache, MetricPredictor};

/// One plugin's predictions for the next cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalPredictor {
    name: String,
    /// By metric.
    answers: BTreeMap<String, f64>,
}

impl ExternalPredictor {
    pub fn new(name: &str, answers: BTreeMap<String, f64>) -> Self {
        Self { name: name.to_owned(), answers }
    }
}

impl MetricPredictor for ExternalPredictor {
    fn name(&self) -> &str {
        &self.name
    }

    fn supports(&self, metric: &str) -> bool {
        self.answers.contains_key(metric)
    }

    fn predict(&self, metric: &str, _: &[f64], _: &mut ForecastModelCache) -> Option<f64> {
        clamp_to_range(metric, *self.answers.get(metric)?)
    }
}
