//! Forecasts, and how far they were off.

use super::Tracker;
use crate::predict::{Heard, Panel, remember_error};
use crate::series::{last, mean};

impl Tracker {
    /// Who can be asked about the next cycle: the bundled predictors, and those who have spoken since the
    /// last one.
    pub fn panel(&self) -> Panel {
        let mut panel = Panel::bundled();
        for (who, answers) in &self.history.heard {
            panel.register(Box::new(Heard::new(who, answers.clone())));
        }
        panel
    }

    /// Hears a prediction of a metric. One that has come true, or has not, decides how much its predictor
    /// counts; any other is its answer for the next cycle.
    pub fn hear(&mut self, who: &str, metric: &str, predicted: f64, actual: Option<f64>) {
        let history = &mut self.history;
        match actual {
            Some(actual) => {
                remember_error(&mut history.predictor_errors, who, metric, predicted - actual);
            }
            None if predicted.is_finite() => {
                let answers = history.heard.entry(who.to_owned()).or_default();
                answers.insert(metric.to_owned(), predicted);
            }
            None => {}
        }
    }

    /// A forecast of ROI and what came of it.
    pub fn record_prediction(&mut self, predicted: f64, actual: f64) {
        if predicted.is_finite() && actual.is_finite() {
            self.history.predicted_roi.push(predicted);
            self.history.actual_roi.push(actual);
        }
    }

    /// A forecast of a metric and what came of it.
    pub fn record_metric_prediction(&mut self, metric: &str, predicted: f64, actual: f64) {
        if predicted.is_finite() && actual.is_finite() {
            let history = &mut self.history;
            history.predicted_metrics.entry(metric.to_owned()).or_default().push(predicted);
            history.actual_metrics.entry(metric.to_owned()).or_default().push(actual);
        }
    }

    /// Mean absolute error of the last `window` forecasts of ROI, of all without one.
    pub fn rolling_mae(&self, window: Option<usize>) -> Option<f64> {
        error(&self.history.predicted_roi, &self.history.actual_roi, window)
    }

    /// The same of a metric.
    pub fn rolling_mae_metric(&self, metric: &str, window: Option<usize>) -> Option<f64> {
        let predicted = self.history.predicted_metrics.get(metric)?;
        error(predicted, self.history.actual_metrics.get(metric)?, window)
    }

    /// How far forecasts can be trusted, of ROI or of a metric, in [0, 1]: 1 / (1 + error), 1 for perfect
    /// ones. None before the first could be compared.
    pub fn reliability(&self, metric: Option<&str>, window: Option<usize>) -> Option<f64> {
        let error = match metric {
            Some(metric) => self.rolling_mae_metric(metric, window),
            None => self.rolling_mae(window),
        };
        error.map(|error| 1.0 / (1.0 + error))
    }
}

fn error(predicted: &[f64], actual: &[f64], window: Option<usize>) -> Option<f64> {
    // Pairs are counted from the start: a file that lost the end of one list still has them.
    let pairs = predicted.iter().zip(actual);
    let errors = pairs.map(|(predicted, actual)| (predicted - actual).abs());
    let errors: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
    mean(last(&errors, window.unwrap_or(errors.len())))
}
