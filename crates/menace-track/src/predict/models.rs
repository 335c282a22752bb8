//! Models that were chosen, kept for as long as their histories stay the same.
//!
//! Choosing one is what costs; it belongs to [`CachingForecaster`]. Invariant: keeping models
//! changes no forecast.

use std::collections::BTreeMap;

use crate::stats::forecast::{CachingForecaster, ForecastOptions, MetricForecast, ResourceSeries};

/// One model per predictor and metric.
#[derive(Debug, Clone, Default)]
pub struct ForecastModelCache(BTreeMap<(&'static str, String), CachingForecaster>);

impl ForecastModelCache {
    /// The forecast of a history, by the model that `owner` has of the metric.
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

    /// How often models had to be chosen.
    pub fn models_chosen(&self) -> usize {
        self.0.values().map(CachingForecaster::models_chosen).sum()
    }

    /// How many values these were chosen from, all together: what models cost.
    pub fn values_modelled(&self) -> usize {
        self.0.values().map(CachingForecaster::values_modelled).sum()
    }
}
