//! The metrics that calls tell, each as the table defines it.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::Intent;

use crate::tally::{Costs, InputCount, Sketch};
use crate::{Metrics, Tally};

use super::price::{Typical, of_energy};
use super::{Budget, Level, Prices, Scenario};

/// Calls of one section under one or more scenarios.
pub(super) struct Calls<'a> {
    pub(super) cells: Vec<(&'a Scenario, &'a Tally)>,
    /// All of the section's calls under the baseline, whether among the cells or not.
    pub(super) baseline: Vec<&'a Tally>,
    /// Distinct confirmed ones.
    pub(super) failures: usize,
    pub(super) severity: f64,
    pub(super) prices: &'a Prices,
    pub(super) budget: &'a Budget,
    pub(super) coverage: Option<f64>,
}

impl Calls<'_> {
    pub(super) fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::default();
        metrics.set("adaptability", self.coverage);
        if self.asked() == 0 {
            // Failures without calls that were counted: of an exploration, or of a construction.
            if self.failures > 0 {
                metrics.set("risk_index", self.risk_index());
            }
            return metrics;
        }
        metrics.set("reliability", self.reliability());
        metrics.set("resilience", self.resilience(|scenario| scenario.is_trouble));
        metrics.set("antifragility", self.antifragility());
        metrics.set("safety_rating", self.safety_rating());
        metrics.set("risk_index", self.risk_index());
        metrics.set("flexibility", self.flexibility());
        metrics.set("recovery_time", self.recovery_time());
        metrics.set("network_latency", self.network_latency());
        self.costs(&mut metrics);
        metrics
    }

    fn asked(&self) -> u64 {
        self.cells.iter().map(|(_, tally)| tally.asked()).sum()
    }

    fn reliability(&self) -> Option<f64> {
        let baseline = self.cells.iter().filter(|(scenario, _)| scenario.is_baseline);
        let valid = baseline.filter_map(|(_, tally)| tally.inputs.get(&Intent::Valid));
        let (returned, asked) = valid.fold((0, 0), |sum, count| {
            (sum.0 + count.returned, sum.1 + count.asked.saturating_sub(count.declined))
        });
        share(returned, asked)
    }

    fn resilience(&self, is_wanted: impl Fn(&Scenario) -> bool) -> Option<f64> {
        let troubled = self.cells.iter().filter(|(scenario, _)| is_wanted(scenario));
        let in_trouble = answered(troubled.map(|(_, tally)| *tally))?;
        let in_peace = answered(self.baseline.iter().copied())?;
        Some(if in_peace > 0.0 { (in_trouble / in_peace).min(1.0) } else { 0.0 })
    }

    fn antifragility(&self) -> Option<f64> {
        let at = |level: Level| -> BTreeSet<&str> {
            let cells = self.cells.iter().filter(|(scenario, tally)| {
                scenario.is_trouble && scenario.severity == Some(level) && tally.asked() > 0
            });
            cells.map(|(scenario, _)| &*scenario.name).collect()
        };
        let (low, high) = (at(Level::Low), at(Level::High));
        let of = |level| {
            self.resilience(|scenario| {
                let name = &*scenario.name;
                scenario.is_trouble
                    && scenario.severity == Some(level)
                    && low.contains(name)
                    && high.contains(name)
            })
        };
        Some(of(Level::High)? - of(Level::Low)?)
    }

    fn safety_rating(&self) -> Option<f64> {
        let harm: u64 = self.cells.iter().map(|(_, tally)| tally.harm).sum();
        Some(1.0 - share(harm, self.asked().saturating_mul(1000))?)
    }

    fn risk_index(&self) -> f64 {
        let bad: u64 = self
            .cells
            .iter()
            .map(|(scenario, tally)| {
                tally.blamed + if scenario.is_baseline { tally.hurt } else { 0 }
            })
            .sum();
        let seen = share(bad, self.asked()).unwrap_or_default();
        let confirmed = 1.0 - 0.5_f64.powi(i32::try_from(self.failures).unwrap_or(i32::MAX));
        seen.max(confirmed) * self.severity.clamp(0.0, 1.0)
    }

    fn flexibility(&self) -> Option<f64> {
        let mut kinds: BTreeMap<Intent, InputCount> = BTreeMap::new();
        for (intent, count) in self.cells.iter().flat_map(|(_, tally)| &tally.inputs) {
            let kind = kinds.entry(*intent).or_default();
            kind.asked += count.asked;
            kind.answered += count.answered;
        }
        let shares: Vec<f64> =
            kinds.values().filter_map(|kind| share(kind.answered, kind.asked)).collect();
        crate::series::mean(&shares)
    }

    fn recovery_time(&self) -> Option<f64> {
        let mut all = Sketch::default();
        for (_, tally) in &self.cells {
            all.merge(&tally.recovery);
        }
        Some(all.median()? as f64 * 1e-9)
    }

    fn network_latency(&self) -> Option<f64> {
        // A section's own value would be that of its scenarios, which says nothing about it.
        match self.cells.as_slice() {
            [(scenario, _)] => scenario.round_trip_ms.filter(|trip| *trip >= 0.0),
            _ => None,
        }
    }

    fn costs(&self, metrics: &mut Metrics) {
        let has_calls = |tally: &&Tally| tally.asked() > 0;
        let in_peace = self.cells.iter().filter(|(scenario, _)| scenario.is_baseline);
        let mut tallies: Vec<&Tally> =
            in_peace.map(|(_, tally)| *tally).filter(has_calls).collect();
        if tallies.is_empty() {
            tallies = self.cells.iter().map(|(_, tally)| *tally).collect();
        }
        let mut costs = Costs::default();
        // Traced calls are slower: they count only where there are no others.
        let has_plain = tallies.iter().any(|tally| tally.plain.cpu_ns.count() > 0);
        for tally in &tallies {
            costs.merge(if has_plain { &tally.plain } else { &tally.traced });
        }
        let asked: u64 = tallies.iter().map(|tally| tally.asked()).sum();
        let cpu_ns = tallies.iter().fold(0_u64, |sum, tally| sum.saturating_add(tally.cpu_ns));
        let joules = cpu_ns as f64 * 1e-9 * self.budget.watts_per_core / asked.max(1) as f64;
        let revenue =
            answered(tallies.iter().copied()).map(|share| share * self.prices.successful_call);
        metrics.set("energy_consumption", joules);
        metrics.set("revenue", revenue);
        let Some(typical) = Typical::of(&costs) else {
            // Nothing useful was done, at whatever price.
            metrics.set("efficiency", 0.0);
            metrics.set("throughput", 0.0);
            metrics.set("profitability", -of_energy(joules, self.prices));
            return;
        };
        let cost = typical.cost(self.prices);
        metrics.set("efficiency", 1.0 / (1.0 + cost / self.budget.per_call));
        metrics.set("throughput", (typical.wall_s > 0.0).then(|| 1.0 / typical.wall_s));
        let spent = cost + of_energy(joules, self.prices);
        metrics.set("profitability", revenue.map(|revenue| revenue - spent));
    }
}

fn answered<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Option<f64> {
    let (answered, asked) =
        tallies.fold((0, 0), |sum, tally| (sum.0 + tally.answered(), sum.1 + tally.asked()));
    share(answered, asked)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}
