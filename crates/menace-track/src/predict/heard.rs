//! Predictions that were made elsewhere, as the answers of whoever made them.
//!
//! Invariant: an answer stays within the range of its metric, as those of the bundled predictors do.

use std::collections::BTreeMap;

use super::bundled::within;
use super::{Models, Predictor};

/// What somebody said of the next cycle.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    who: String,
    /// By metric.
    answers: BTreeMap<String, f64>,
}

impl Heard {
    pub fn new(who: &str, answers: BTreeMap<String, f64>) -> Self {
        Self { who: who.to_owned(), answers }
    }
}

impl Predictor for Heard {
    fn name(&self) -> &str {
        &self.who
    }

    fn knows(&self, metric: &str) -> bool {
        self.answers.contains_key(metric)
    }

    fn predict(&self, metric: &str, _: &[f64], _: &mut Models) -> Option<f64> {
        within(metric, *self.answers.get(metric)?)
    }
}
