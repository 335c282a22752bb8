//! The predictors that come with Menace.
//!
//! Two that model a metric, one for plain metrics and one for synergy, and two humble ones that are hard
//! to beat on short histories. Invariant: a value never leaves the range that its metric has.

use super::{Models, Predictor};
use crate::metric::{Range, metric};
use crate::series::last;
use crate::stats::arima::Grid;
use crate::stats::describe::usable;
use crate::stats::forecast::Outlook;
use crate::stats::smoothing::Smoothed;

/// Values that a model looks at: older ones say little and cost time.
const RECENT: usize = 60;
/// The orders that are tried: there are dozens of metrics to be predicted after each cycle.
const GRID: Grid = Grid { p: 1, d: 1, q: 1 };

const SYNERGY: &str = "synergy_";
const METRICS_PREDICTION: &str = "metrics_prediction";
const SYNERGY_PREDICTION: &str = "synergy_prediction";

/// Models every metric that is no synergy: by ARIMA, or by a line where the history is short.
#[derive(Debug, Clone, Copy)]
pub struct MetricsPrediction;

/// The same of `synergy_roi` and every `synergy_<metric>`.
#[derive(Debug, Clone, Copy)]
pub struct SynergyPrediction;

/// Says that everything stays as it is.
#[derive(Debug, Clone, Copy)]
pub struct LastValue;

/// Says that a metric returns to its smoothed level.
#[derive(Debug, Clone, Copy)]
pub struct SmoothedValue;

impl Predictor for MetricsPrediction {
    fn name(&self) -> &'static str {
        METRICS_PREDICTION
    }

    fn knows(&self, metric: &str) -> bool {
        !metric.starts_with(SYNERGY)
    }

    fn predict(&self, metric: &str, history: &[f64], models: &mut Models) -> Option<f64> {
        within(metric, modelled(METRICS_PREDICTION, metric, history, models)?)
    }
}

impl Predictor for SynergyPrediction {
    fn name(&self) -> &'static str {
        SYNERGY_PREDICTION
    }

    fn knows(&self, metric: &str) -> bool {
        metric.starts_with(SYNERGY)
    }

    fn predict(&self, metric: &str, history: &[f64], models: &mut Models) -> Option<f64> {
        within(metric, modelled(SYNERGY_PREDICTION, metric, history, models)?)
    }
}

impl Predictor for LastValue {
    fn name(&self) -> &'static str {
        "last_value"
    }

    fn knows(&self, _: &str) -> bool {
        true
    }

    fn predict(&self, metric: &str, history: &[f64], _: &mut Models) -> Option<f64> {
        within(metric, *history.iter().rev().find(|value| usable(**value))?)
    }
}

impl Predictor for SmoothedValue {
    fn name(&self) -> &'static str {
        "smoothed_value"
    }

    fn knows(&self, _: &str) -> bool {
        true
    }

    fn predict(&self, metric: &str, history: &[f64], _: &mut Models) -> Option<f64> {
        within(metric, Smoothed::best(last(history, RECENT))?.level)
    }
}

fn modelled(who: &'static str, metric: &str, history: &[f64], models: &mut Models) -> Option<f64> {
    let outlook = Outlook { grid: GRID, ..Outlook::default() };
    let made = models.forecast(who, metric, last(history, RECENT), &[], outlook)?;
    Some(made.points.first()?.mean)
}

/// A line goes on for ever; a share does not.
pub(super) fn within(name: &str, value: f64) -> Option<f64> {
    let value = match metric(name).map(|metric| metric.range) {
        Some(Range::Share) => value.clamp(0.0, 1.0),
        Some(Range::Signed) => value.clamp(-1.0, 1.0),
        Some(Range::Positive) => value.max(0.0),
        Some(Range::Any) | None => value,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(predictor: &dyn Predictor, metric: &str, history: &[f64]) -> Option<f64> {
        predictor.predict(metric, history, &mut Models::default())
    }

    #[test]
    fn a_share_stays_a_share_however_steep_its_line() {
        let rising = [0.7, 0.8, 0.9, 1.0];
        assert_eq!(say(&MetricsPrediction, "resilience", &rising), Some(1.0));
        let synergy = say(&SynergyPrediction, "synergy_resilience", &rising).unwrap();
        assert!((synergy - 1.1).abs() < 1e-9);
        let falling = [3.0, 2.0, 1.0, 0.0];
        assert_eq!(say(&MetricsPrediction, "network_latency", &falling), Some(0.0));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(say(&MetricsPrediction, "resilience", &[]), None);
        assert_eq!(say(&LastValue, "resilience", &[f64::NAN]), None);
        assert_eq!(say(&SmoothedValue, "resilience", &[]), None);
    }
}
