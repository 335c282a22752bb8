//! Forecasts and their errors.

use super::Tracker;
use crate::predict::{ExternalPredictor, PredictorPanel, record_error};
use crate::series::{last_values, mean};
use crate::stats::describe::is_usable;

impl Tracker {
    /// The predictors of the next cycle: the bundled ones, and the plugins that have sent a
    /// prediction since the last cycle.
    pub fn predictor_panel(&self) -> PredictorPanel {
        let mut panel = PredictorPanel::bundled();
        for (name, answers) in &self.history.external_predictions {
            panel.register(Box::new(ExternalPredictor::new(name, answers.clone())));
        }
        panel
    }

    /// Records a plugin's prediction of a metric. With an actual value it counts as an error of the
    /// predictor; without one it is the answer for the next cycle.
    pub fn record_external_prediction(
        &mut self,
        predictor: &str,
        metric: &str,
        predicted: f64,
        actual: Option<f64>,
    ) {
        let history = &mut self.history;
        match actual {
            Some(actual) => {
                record_error(&mut history.predictor_errors, predictor, metric, predicted - actual);
            }
            None if predicted.is_finite() => {
                let answers = history.external_predictions.entry(predictor.to_owned()).or_default();
                answers.insert(metric.to_owned(), predicted);
            }
            None => {}
        }
    }

    /// Records a forecast of ROI with its actual value.
    pub fn record_prediction(&mut self, predicted: f64, actual: f64) {
        if predicted.is_finite() && actual.is_finite() {
            self.history.predicted_roi.push(predicted);
            self.history.actual_roi.push(actual);
        }
    }

    /// Records a forecast of a metric with its actual value.
    pub fn record_metric_prediction(&mut self, metric: &str, predicted: f64, actual: f64) {
        if predicted.is_finite() && actual.is_finite() {
            let history = &mut self.history;
            history.predicted_metrics.entry(metric.to_owned()).or_default().push(predicted);
            history.actual_metrics.entry(metric.to_owned()).or_default().push(actual);
        }
    }

    /// Mean absolute error of the last `window` forecasts of ROI, or of all without a window.
    pub fn rolling_mae(&self, window: Option<usize>) -> Option<f64> {
        mean_absolute_error(&self.history.predicted_roi, &self.history.actual_roi, window)
    }

    /// Mean absolute error of the last `window` forecasts of a metric.
    pub fn rolling_mae_metric(&self, metric: &str, window: Option<usize>) -> Option<f64> {
        let predicted = self.history.predicted_metrics.get(metric)?;
        mean_absolute_error(predicted, self.history.actual_metrics.get(metric)?, window)
    }

    /// How far forecasts of ROI or of a metric can be trusted, in [0, 1]: 1 / (1 + error), where
    /// the error is relative to that of predicting the last value (Hyndman, Koehler 2006). 1 for
    /// perfect forecasts, 0.5 for those no better than predicting the last value. `None` before one
    /// could be compared with an actual value and the value before it.
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
        let before = std::iter::once(value_before_first(actual, values))
            .chain(actual.iter().map(|value| Some(*value)));
        let errors: Vec<(f64, f64)> = pairs
            .zip(before)
            .filter_map(|((said, came), before)| {
                let (error, naive) = ((said - came).abs(), (before? - came).abs());
                (is_usable(error) && is_usable(naive)).then_some((error, naive))
            })
            .collect();
        let recent = last_values(&errors, window.unwrap_or(errors.len()));
        let error = mean(&recent.iter().map(|(error, _)| *error).collect::<Vec<_>>())?;
        let naive = mean(&recent.iter().map(|(_, naive)| *naive).collect::<Vec<_>>())?;
        Some(match error + naive {
            // Nothing changed, and the forecasts said so.
            0.0 => 1.0,
            both => naive / both,
        })
    }
}

/// The value before the first compared forecast; the history must end with the actual values.
fn value_before_first(actual: &[f64], values: &[f64]) -> Option<f64> {
    let first = values.len().checked_sub(actual.len())?;
    let is_same = values
        .get(first)
        .zip(actual.first())
        .is_some_and(|(one, two)| one.to_bits() == two.to_bits());
    values.get(first.checked_sub(1)?).copied().filter(|_| is_same)
}

fn mean_absolute_error(predicted: &[f64], actual: &[f64], window: Option<usize>) -> Option<f64> {
    // Pairs are counted from the start: a file that lost the end of one list still has them.
    let pairs = predicted.iter().zip(actual);
    let errors = pairs.map(|(predicted, actual)| (predicted - actual).abs());
    let errors: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
    mean(last_values(&errors, window.unwrap_or(errors.len())))
}
