//! The predictors that come with Menace.
//!
//! Two of them model a metric, one for plain metrics and one for synergy; two are simple baselines
//! that are hard to beat on short histories. Invariant: a value never leaves the range of its
//! metric.

use super::{ForecastModelCache, MetricPredictor};
use crate::metric::{MetricRange, find_metric};
use crate::series::last_values;
use crate::stats::arima::ArimaOrderGrid;
use crate::stats::describe::is_usable;
use crate::stats::forecast::ForecastOptions;
use crate::stats::smoothing::ExponentialSmoothing;

/// The newest values that a model uses: older ones add cost, and little information.
const MAX_MODEL_VALUES: usize = 60;
/// The orders that are tried: few, since dozens of metrics are predicted after each cycle.
const PREDICTOR_ORDER_GRID: ArimaOrderGrid = ArimaOrderGrid { p: 1, d: 1, q: 1 };

const SYNERGY_PREFIX: &str = "synergy_";

/// The predictors that come with Menace.
#[derive(Debug, Clone, Copy)]
pub enum BundledPredictor {
    /// Models every metric except synergy: by ARIMA, or by a line while the history is short.
    ModelledMetrics,
    /// Models `synergy_roi` and every `synergy_<metric>` in the same way.
    ModelledSynergy,
    /// Predicts the last value.
    LastValue,
    /// Predicts the exponentially smoothed level.
    SmoothedValue,
}

impl BundledPredictor {
    fn model_name(self) -> &'static str {
        match self {
            Self::ModelledMetrics => "metrics_prediction",
            Self::ModelledSynergy => "synergy_prediction",
            Self::LastValue => "last_value",
            Self::SmoothedValue => "smoothed_value",
        }
    }
}

impl MetricPredictor for BundledPredictor {
    fn name(&self) -> &str {
        self.model_name()
    }

    fn supports(&self, metric: &str) -> bool {
        match self {
            Self::ModelledMetrics => !metric.starts_with(SYNERGY_PREFIX),
            Self::ModelledSynergy => metric.starts_with(SYNERGY_PREFIX),
            Self::LastValue | Self::SmoothedValue => true,
        }
    }

    fn predict(&self, metric: &str, values: &[f64], cache: &mut ForecastModelCache) -> Option<f64> {
        let recent = last_values(values, MAX_MODEL_VALUES);
        let value = match self {
            Self::ModelledMetrics | Self::ModelledSynergy => {
                let outlook = ForecastOptions { grid: PREDICTOR_ORDER_GRID, ..Default::default() };
                let made = cache.forecast(self.model_name(), metric, recent, &[], outlook)?;
                made.points.first()?.mean
            }
            Self::LastValue => *values.iter().rev().find(|value| is_usable(**value))?,
            Self::SmoothedValue => ExponentialSmoothing::fit(recent)?.level,
        };
        clamp_to_range(metric, value)
    }
}

/// Clamps an extrapolated value to the range of its metric.
pub(super) fn clamp_to_range(name: &str, value: f64) -> Option<f64> {
    let value = match find_metric(name).map(|metric| metric.range) {
        Some(MetricRange::Share) => value.clamp(0.0, 1.0),
        Some(MetricRange::Signed) => value.clamp(-1.0, 1.0),
        Some(MetricRange::Positive) => value.max(0.0),
        Some(MetricRange::Any) | None => value,
    };
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predict_next(predictor: &dyn MetricPredictor, metric: &str, history: &[f64]) -> Option<f64> {
        predictor.predict(metric, history, &mut ForecastModelCache::default())
    }

    #[test]
    fn a_share_stays_a_share_however_steep_its_line() {
        let rising = [0.7, 0.8, 0.9, 1.0];
        assert_eq!(
            predict_next(&BundledPredictor::ModelledMetrics, "resilience", &rising),
            Some(1.0)
        );
        let synergy =
            predict_next(&BundledPredictor::ModelledSynergy, "synergy_resilience", &rising)
                .unwrap();
        assert!((synergy - 1.1).abs() < 1e-9);
        let falling = [3.0, 2.0, 1.0, 0.0];
        assert_eq!(
            predict_next(&BundledPredictor::ModelledMetrics, "network_latency", &falling),
            Some(0.0)
        );
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(predict_next(&BundledPredictor::ModelledMetrics, "resilience", &[]), None);
        assert_eq!(predict_next(&BundledPredictor::LastValue, "resilience", &[f64::NAN]), None);
        assert_eq!(predict_next(&BundledPredictor::SmoothedValue, "resilience", &[]), None);
    }
}
