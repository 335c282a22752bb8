//! Together against each on their own: `synergy_roi` and `synergy_<metric>`.
//!
//! Running sections together is the sandbox's business.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::metric::{SYNERGY_ROI, synergy_metric};
use crate::series::mean;
use crate::{Metrics, Scored};

/// Metrics and ROI of one thing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub metrics: Metrics,
    pub roi: Option<f64>,
}

impl From<&Scored> for Reading {
    fn from(scored: &Scored) -> Self {
        Self { metrics: scored.metrics.clone(), roi: scored.value() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Synergy {
    /// `synergy_roi` and every `synergy_<metric>` that both sides have.
    pub metrics: Metrics,
    /// Paths of the modules that took part: the difference is attributed to each.
    pub modules: BTreeSet<String>,
}

impl Synergy {
    /// The combined run minus the mean of the individual ones.
    pub fn of(
        combined: &Reading,
        individual: &[Reading],
        modules: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut metrics = Metrics::default();
        let alone = Metrics::mean(individual.iter().map(|reading| (&reading.metrics, 1.0)));
        for (name, value) in combined.metrics.iter() {
            metrics.set(&synergy_metric(name), alone.get(name).map(|alone| value - alone));
        }
        let rois: Vec<f64> = individual.iter().filter_map(|reading| reading.roi).collect();
        let difference = combined.roi.zip(mean(&rois)).map(|(combined, alone)| combined - alone);
        metrics.set(SYNERGY_ROI, difference);
        Self { metrics, modules: modules.into_iter().collect() }
    }

    pub fn roi(&self) -> Option<f64> {
        self.metrics.get(SYNERGY_ROI)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::assert_close;

    fn reading(roi: f64, values: &[(&str, f64)]) -> Reading {
        Reading { metrics: values.iter().copied().collect(), roi: Some(roi) }
    }

    #[test]
    fn synergy_is_together_minus_the_mean_alone() {
        let alone = [
            reading(0.5, &[("reliability", 1.0), ("throughput", 10.0)]),
            reading(0.3, &[("reliability", 0.5)]),
        ];
        let together = reading(0.6, &[("reliability", 0.5), ("recovery_time", 2.0)]);
        let synergy = Synergy::of(&together, &alone, ["a.py".to_owned(), "a.py".to_owned()]);
        assert_close(synergy.roi().unwrap(), 0.2);
        assert_close(synergy.metrics.get("synergy_reliability").unwrap(), -0.25);
        assert_eq!(synergy.metrics.len(), 2, "only what both sides have is compared");
        assert_eq!(synergy.modules.len(), 1);
    }

    #[test]
    fn without_anybody_alone_there_is_no_synergy() {
        let synergy = Synergy::of(&reading(0.6, &[("reliability", 0.5)]), &[], []);
        assert!(synergy.metrics.is_empty());
    }
}
