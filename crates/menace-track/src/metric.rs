//! The metrics: unit, range, direction and definition of each.
//!
//! `measure` computes the values, `roi` scores them. Invariant: Menace itself measures only metrics
//! of the table.

mod page;
mod table;

pub use page::render_markdown;
pub use table::METRICS;

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricDirection {
    Up,
    Down,
    /// Neither: the metric describes a state, and does not rate it.
    Neither,
}

menace_model::named_enum! {
    /// The values that a metric can have.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MetricRange {
        /// From 0 to 1.
        Share = "0 to 1",
        /// From -1 to 1.
        Signed = "-1 to 1",
        /// From 0 on.
        Positive = "0 and above",
        /// Any number.
        Any = "any",
    }
}

impl MetricRange {
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Share => (0.0..=1.0).contains(&value),
            Self::Signed => (-1.0..=1.0).contains(&value),
            Self::Positive => value >= 0.0 && value.is_finite(),
            Self::Any => value.is_finite(),
        }
    }

    /// Whether a profile can use the metric without a scale.
    pub fn is_bounded(self) -> bool {
        matches!(self, Self::Share | Self::Signed)
    }
}

menace_model::named_enum! {
    /// The smallest unit for which the metric is computed; larger ones have the mean.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MetricScope {
        Cell = "cell",
        Section = "section",
        Module = "module",
        Scenario = "scenario",
        Run = "run",
    }
}

#[derive(Debug, Clone, Copy)]
pub struct MetricDefinition {
    pub name: &'static str,
    pub unit: &'static str,
    pub range: MetricRange,
    pub direction: MetricDirection,
    pub scope: MetricScope,
    pub definition: &'static str,
}

pub const DISCREPANCY_COUNT: &str = "discrepancy_count";
pub const SYNERGY_ROI: &str = "synergy_roi";

const SYNERGY_PREFIX: &str = "synergy_";

/// The metric of this name.
pub fn find_metric(name: &str) -> Option<&'static MetricDefinition> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// `synergy_<metric>`; a name with the prefix is returned unchanged.
pub fn synergy_metric_name(name: &str) -> String {
    if name.starts_with(SYNERGY_PREFIX) {
        name.to_owned()
    } else {
        format!("{SYNERGY_PREFIX}{name}")
    }
}

/// A metric of one scenario, as histories name it: `hostile_input:security_score`.
pub fn scenario_metric_name(scenario: &str, name: &str) -> String {
    format!("{scenario}:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_metrics_have_the_same_name() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }

    #[test]
    fn every_documented_metric_is_in_the_table() {
        let documented = "security_score safety_rating adaptability flexibility antifragility \
            shannon_entropy efficiency projected_lucrativity profitability revenue \
            patch_complexity energy_consumption resilience network_latency throughput risk_index \
            recovery_time maintainability code_quality reliability discrepancy_count";
        for name in documented.split_whitespace() {
            assert!(find_metric(name).is_some(), "{name} is missing");
        }
    }

    #[test]
    fn synergy_is_not_prefixed_twice() {
        assert_eq!(synergy_metric_name("revenue"), "synergy_revenue");
        assert_eq!(synergy_metric_name("synergy_roi"), SYNERGY_ROI);
    }
}
