//! Forecasts, and how far they were off.

use super::Tracker;
use crate::predict::{Heard, Panel, remember_error};
use crate::series::{last, mean};
use crate::stats::describe::usable;

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

    /// How far forecasts can be trusted, of ROI or of a metric, in [0, 1]: 1 / (1 + error), where the error
    /// is in units of that of the last value (Hyndman, Koehler 2006). 1 for perfect ones, a half for those
    /// no better than saying that all stays as it is. None before one could be compared with what came and
    /// with what was before.
    pub fn reliability(&self, metric: Option<&str>, window: Option<usize>) -> Option<f64> {
        let history = &self.history;
        let (predicted, actual, values) = match metric {
            Some(metric) => (
                history.predicted_metrics.get(metric)?,
                history.actual_metrics.get(metric)?,
                history.metrics_history.get(metric).map(Vec::as_slice).unwrap_or_default(),
            ),
            None => (&history.predicted_roi, &history.actual_roi, history.roi_history.as_slice()),
        };
        let pairs = predicted.iter().zip(actual);
        let before = std::iter::once(before_first(actual, values))
            .chain(actual.iter().map(|value| Some(*value)));
        let errors: Vec<(f64, f64)> = pairs
            .zip(before)
            .filter_map(|((said, came), before)| {
                let (error, naive) = ((said - came).abs(), (before? - came).abs());
                (usable(error) && usable(naive)).then_some((error, naive))
            })
            .collect();
        let recent = last(&errors, window.unwrap_or(errors.len()));
        let error = mean(&recent.iter().map(|(error, _)| *error).collect::<Vec<_>>())?;
        let naive = mean(&recent.iter().map(|(_, naive)| *naive).collect::<Vec<_>>())?;
        Some(match error + naive {
            // Nothing moved, and that was said.
            0.0 => 1.0,
            both => naive / both,
        })
    }
}

/// What was measured before the first forecast could be compared: its history ends with what came.
fn before_first(actual: &[f64], values: &[f64]) -> Option<f64> {
    let first = values.len().checked_sub(actual.len())?;
    let is_same = values
        .get(first)
        .zip(actual.first())
        .is_some_and(|(one, two)| one.to_bits() == two.to_bits());
    values.get(first.checked_sub(1)?).copied().filter(|_| is_same)
}

fn error(predicted: &[f64], actual: &[f64], window: Option<usize>) -> Option<f64> {
    // Pairs are counted from the start: a file that lost the end of one list still has them.
    let pairs = predicted.iter().zip(actual);
    let errors = pairs.map(|(predicted, actual)| (predicted - actual).abs());
    let errors: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
    mean(last(&errors, window.unwrap_or(errors.len())))
}
