//! Models that were chosen, kept for as long as their histories stay the same.
//!
//! Choosing one is what costs; it belongs to [`Forecaster`]. Invariant: keeping models changes no forecast.

use std::collections::BTreeMap;

use crate::stats::forecast::{Forecast, Forecaster, Outlook, Resource};

/// A model per metric for each who models it.
#[derive(Debug, Clone, Default)]
pub struct Models(BTreeMap<(&'static str, String), Forecaster>);

impl Models {
    /// Where a history leads, by the model that `who` has of the metric.
    pub fn forecast(
        &mut self,
        who: &'static str,
        metric: &str,
        history: &[f64],
        resources: &[Resource],
        outlook: Outlook,
    ) -> Option<Forecast> {
        let model = self.0.entry((who, metric.to_owned())).or_default();
        model.forecast(history, resources, outlook)
    }

    /// How often models had to be chosen.
    pub fn chosen(&self) -> usize {
        self.0.values().map(Forecaster::chosen).sum()
    }

    /// How many values these were chosen from, all together: what models cost.
    pub fn values(&self) -> usize {
        self.0.values().map(Forecaster::values).sum()
    }
}
