//! The metrics that are computed from calls, as defined in the table.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{InputIntent, ScenarioSeverity};

use crate::tally::{CallCosts, InputClassCounts, QuantileSketch};
use crate::{CallTally, MetricValues};

use super::price::{TypicalCallUsage, energy_cost};
use super::{CallCostModel, MeasuredScenario, ResourcePrices};

/// Calls of one section under one or more scenarios.
pub(super) struct SectionCalls<'a> {
    pub(super) cells: Vec<(&'a MeasuredScenario, &'a CallTally)>,
    /// The section's calls under the baseline, whether or not they are among `cells`.
    pub(super) baseline: Vec<&'a CallTally>,
    /// Number of distinct confirmed failures.
    pub(super) failures: usize,
    pub(super) severity: f64,
    pub(super) prices: &'a ResourcePrices,
    pub(super) budget: &'a CallCostModel,
    pub(super) coverage: Option<f64>,
}

impl SectionCalls<'_> {
    pub(super) fn metrics(&self) -> MetricValues {
        let mut metrics = MetricValues::default();
        metrics.set("adaptability", self.coverage);
        if self.reached_calls() == 0 {
            // Failures can come from calls that are not counted here: exploring, or constructing a
            // receiver.
            if self.failures > 0 {
                metrics.set("risk_index", self.risk_index());
            }
            return metrics;
        }
        metrics.set("reliability", self.reliability());
        metrics.set("resilience", self.resilience(|scenario| scenario.is_adverse));
        metrics.set("antifragility", self.antifragility());
        metrics.set("safety_rating", self.safety_rating());
        metrics.set("risk_index", self.risk_index());
        metrics.set("flexibility", self.flexibility());
        metrics.set("recovery_time", self.recovery_time());
        metrics.set("network_latency", self.network_latency());
        self.add_cost_metrics(&mut metrics);
        metrics
    }

    fn reached_calls(&self) -> u64 {
        self.cells.iter().map(|(_, tally)| tally.reached_calls()).sum()
    }

    fn reliability(&self) -> Option<f64> {
        let baseline = self.cells.iter().filter(|(scenario, _)| scenario.is_baseline);
        let valid = baseline.filter_map(|(_, tally)| tally.inputs.get(&InputIntent::Valid));
        let (returned, asked) = valid.fold((0, 0), |sum, count| {
            (sum.0 + count.returned, sum.1 + count.reached_calls.saturating_sub(count.declined))
        });
        share(returned, asked)
    }

    fn resilience(&self, is_wanted: impl Fn(&MeasuredScenario) -> bool) -> Option<f64> {
        let adverse = self.cells.iter().filter(|(scenario, _)| is_wanted(scenario));
        let adverse = answered_share(adverse.map(|(_, tally)| *tally))?;
        let baseline = answered_share(self.baseline.iter().copied())?;
        Some(if baseline > 0.0 { (adverse / baseline).min(1.0) } else { 0.0 })
    }

    fn antifragility(&self) -> Option<f64> {
        let at = |level: ScenarioSeverity| -> BTreeSet<&str> {
            let cells = self.cells.iter().filter(|(scenario, tally)| {
                scenario.is_adverse && scenario.severity == Some(level) && tally.reached_calls() > 0
            });
            cells.map(|(scenario, _)| &*scenario.name).collect()
        };
        let (low, high) = (at(ScenarioSeverity::Low), at(ScenarioSeverity::High));
        let of = |level| {
            self.resilience(|scenario| {
                let name = &*scenario.name;
                scenario.is_adverse
                    && scenario.severity == Some(level)
                    && low.contains(name)
                    && high.contains(name)
            })
        };
        Some(of(ScenarioSeverity::High)? - of(ScenarioSeverity::Low)?)
    }

    fn safety_rating(&self) -> Option<f64> {
        let harm: u64 = self.cells.iter().map(|(_, tally)| tally.harm_permille).sum();
        Some(1.0 - share(harm, self.reached_calls().saturating_mul(1000))?)
    }

    fn risk_index(&self) -> f64 {
        let bad: u64 = self
            .cells
            .iter()
            .map(|(scenario, tally)| {
                tally.attributed + if scenario.is_baseline { tally.unattributed_crashes } else { 0 }
            })
            .sum();
        let seen = share(bad, self.reached_calls()).unwrap_or_default();
        let confirmed = 1.0 - 0.5_f64.powi(i32::try_from(self.failures).unwrap_or(i32::MAX));
        seen.max(confirmed) * self.severity.clamp(0.0, 1.0)
    }

    fn flexibility(&self) -> Option<f64> {
        let mut kinds: BTreeMap<InputIntent, InputClassCounts> = BTreeMap::new();
        for (intent, count) in self.cells.iter().flat_map(|(_, tally)| &tally.inputs) {
            let kind = kinds.entry(*intent).or_default();
            kind.reached_calls += count.reached_calls;
            kind.answered += count.answered;
        }
        let shares: Vec<f64> =
            kinds.values().filter_map(|kind| share(kind.answered, kind.reached_calls)).collect();
        crate::series::mean(&shares)
    }

    fn recovery_time(&self) -> Option<f64> {
        let mut all = QuantileSketch::default();
        for (_, tally) in &self.cells {
            all.merge(&tally.recovery);
        }
        Some(all.median()? as f64 * 1e-9)
    }

    fn network_latency(&self) -> Option<f64> {
        // Only for a single scenario: across scenarios a section would show their conditions, not
        // its own.
        match self.cells.as_slice() {
            [(scenario, _)] => scenario.round_trip_ms.filter(|trip| *trip >= 0.0),
            _ => None,
        }
    }

    fn add_cost_metrics(&self, metrics: &mut MetricValues) {
        let has_calls = |tally: &&CallTally| tally.reached_calls() > 0;
        let baseline = self.cells.iter().filter(|(scenario, _)| scenario.is_baseline);
        let mut tallies: Vec<&CallTally> =
            baseline.map(|(_, tally)| *tally).filter(has_calls).collect();
        if tallies.is_empty() {
            tallies = self.cells.iter().map(|(_, tally)| *tally).collect();
        }
        let mut costs = CallCosts::default();
        // Traced calls are slower, and are used only where there are no others.
        let has_plain = tallies.iter().any(|tally| tally.untraced.cpu_ns.count() > 0);
        for tally in &tallies {
            costs.merge(if has_plain { &tally.untraced } else { &tally.traced });
        }
        let asked: u64 = tallies.iter().map(|tally| tally.reached_calls()).sum();
        let cpu_ns = tallies.iter().fold(0_u64, |sum, tally| sum.saturating_add(tally.cpu_ns));
        let joules = cpu_ns as f64 * 1e-9 * self.budget.watts_per_core / asked.max(1) as f64;
        let revenue = answered_share(tallies.iter().copied())
            .map(|share| share * self.prices.successful_call);
        metrics.set("energy_consumption", joules);
        metrics.set("revenue", revenue);
        let Some(typical) = TypicalCallUsage::from_costs(&costs) else {
            // No call was answered, so nothing was gained, whatever it cost.
            metrics.set("efficiency", 0.0);
            metrics.set("throughput", 0.0);
            metrics.set("profitability", -energy_cost(joules, self.prices));
            return;
        };
        let cost = typical.cost(self.prices);
        metrics.set("efficiency", 1.0 / (1.0 + cost / self.budget.per_call));
        metrics.set("throughput", (typical.wall_s > 0.0).then(|| 1.0 / typical.wall_s));
        let spent = cost + energy_cost(joules, self.prices);
        metrics.set("profitability", revenue.map(|revenue| revenue - spent));
    }
}

fn answered_share<'a>(tallies: impl Iterator<Item = &'a CallTally>) -> Option<f64> {
    let (answered, asked) = tallies
        .fold((0, 0), |sum, tally| (sum.0 + tally.answered_calls(), sum.1 + tally.reached_calls()));
    share(answered, asked)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}
