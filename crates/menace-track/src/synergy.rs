//! `synergy_roi` and `synergy_<metric>`: a combined run minus the mean of the individual runs.
//!
//! `menace-sandbox` runs sections in a shared process.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::metric::{SYNERGY_ROI, synergy_metric_name};
use crate::series::mean;
use crate::{MetricValues, ScoredMetrics};

/// Metrics and ROI of one run, module or section.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoiReading {
    pub metrics: MetricValues,
    pub roi: Option<f64>,
}

impl From<&ScoredMetrics> for RoiReading {
    fn from(scored: &ScoredMetrics) -> Self {
        Self { metrics: scored.metrics.clone(), roi: scored.roi_value() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SynergyDelta {
    /// `synergy_roi` and every `synergy_<metric>` that both sides have.
    pub metrics: MetricValues,
    /// Paths of the modules that took part; the difference is attributed to each of them.
    pub modules: BTreeSet<String>,
}

impl SynergyDelta {
    /// The combined run minus the mean of the individual ones.
    pub fn compute(
        combined: &RoiReading,
        individual: &[RoiReading],
        modules: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut metrics = MetricValues::default();
        let individual_mean =
            MetricValues::weighted_mean(individual.iter().map(|reading| (&reading.metrics, 1.0)));
        for (name, value) in combined.metrics.iter() {
            metrics.set(
                &synergy_metric_name(name),
                individual_mean.get(name).map(|alone| value - alone),
            );
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

    fn reading(roi: f64, values: &[(&str, f64)]) -> RoiReading {
        RoiReading { metrics: values.iter().copied().collect(), roi: Some(roi) }
    }

    #[test]
    fn synergy_is_the_combined_run_minus_the_mean_of_the_individual_runs() {
        let individual = [
            reading(0.5, &[("reliability", 1.0), ("throughput", 10.0)]),
            reading(0.3, &[("reliability", 0.5)]),
        ];
        let combined = reading(0.6, &[("reliability", 0.5), ("recovery_time", 2.0)]);
        let synergy =
            SynergyDelta::compute(&combined, &individual, ["a.py".to_owned(), "a.py".to_owned()]);
        assert_close(synergy.roi().unwrap(), 0.2);
        assert_close(synergy.metrics.get("synergy_reliability").unwrap(), -0.25);
        assert_eq!(synergy.metrics.len(), 2, "only what both sides have is compared");
        assert_eq!(synergy.modules.len(), 1);
    }

    #[test]
    fn without_individual_runs_there_is_no_synergy() {
        let synergy = SynergyDelta::compute(&reading(0.6, &[("reliability", 0.5)]), &[], []);
        assert!(synergy.metrics.is_empty());
    }
}
