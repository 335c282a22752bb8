//! A cache of forecast models, which are kept until their history changes.
//!
//! [`CachingForecaster`] chooses models, which is the expensive part. Invariant: the cache changes
//! no forecast.

use std::collections::BTreeMap;

use crate::stats::forecast::{CachingForecaster, ForecastOptions, MetricForecast, ResourceSeries};

/// One model per predictor and metric.
#[derive(Debug, Clone, Default)]
pub struct ForecastModelCache(BTreeMap<(&'static str, String), CachingForecaster>);

impl ForecastModelCache {
    /// Forecasts a history with the model that `owner` has for the metric.
    pub fn forecast(
        &mut self,
        owner: &'static str,
        metric: &str,
        history: &[f64],
        resources: &[ResourceSeries],
        outlook: ForecastOptions,
    ) -> Option<MetricForecast> {
        let model = self.0.entry((owner, metric.to_owned())).or_default();
        model.forecast(history, resources, outlook)
    }

    /// How often a model was chosen.
    pub fn models_chosen(&self) -> usize {
        self.0.values().map(CachingForecaster::models_chosen).sum()
    }

    /// How many values models were chosen from in all, as a measure of cost.
    pub fn values_modelled(&self) -> usize {
        self.0.values().map(CachingForecaster::values_modelled).sum()
    }
}
