//! From tallies and facts to metrics: of cells, sections, modules, scenarios and the run.
//!
//! The definitions are in the table of `metric`, with one function each in
//! `measure/call_metrics.rs` and `measure/text_metrics.rs`; this file combines them. `roi` computes
//! scores from the metrics. Invariant: the same calls give the same metrics, whatever the order of
//! the cells.

mod call_metrics;
mod price;
#[cfg(test)]
mod tests;
pub(crate) mod text_metrics;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use menace_model::{Failure, FailureId, ScenarioSeverity, SectionId, WeaknessKind};
use serde::{Deserialize, Serialize};

use crate::metric::find_metric;
use crate::tally::LineRanges;
use crate::{CallTally, MetricValues, ModuleFacts, SectionFacts};

use call_metrics::SectionCalls;
pub use price::{CallCostModel, ResourcePrices};

/// A scenario of the cycle. Two may have the same name, with different severities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredScenario {
    pub name: String,
    pub severity: Option<ScenarioSeverity>,
    /// Whether it is the baseline: no faults, valid inputs.
    pub is_baseline: bool,
    /// Whether it has faults or bad inputs, so that resilience can be measured.
    pub is_adverse: bool,
    /// The time of a round trip inside of the sandbox, if it was measured.
    pub round_trip_ms: Option<f64>,
}

/// All calls of a section under a scenario, in one cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TalliedCell {
    pub section: SectionId,
    /// Index of the scenario in the cycle.
    pub scenario: usize,
    pub tally: CallTally,
}

/// A failure that a second call confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedFailure {
    pub id: FailureId,
    pub section: SectionId,
    /// Name of the scenario that showed it first.
    pub scenario: String,
    pub kind: WeaknessKind,
}

impl From<&Failure> for ConfirmedFailure {
    fn from(failure: &Failure) -> Self {
        Self {
            id: failure.id.clone(),
            section: failure.section.clone(),
            scenario: failure.scenario.clone(),
            kind: failure.kind,
        }
    }
}

/// Measurements of the run that are made outside of this crate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalMeasurements {
    /// Energy of the cycle, if the processor has a meter.
    pub joules: Option<f64>,
    /// Forecast of profitability; see [`crate::Tracker::project_metric`].
    pub projected_lucrativity: Option<f64>,
    /// Metrics of plugins, under names that Menace does not use itself.
    pub custom: MetricValues,
}

/// All data that the metrics of a cycle are computed from.
#[derive(Debug, Clone, Copy)]
pub struct MeasuringInput<'a> {
    pub scenarios: &'a [MeasuredScenario],
    pub modules: &'a [ModuleFacts],
    pub cells: &'a [TalliedCell],
    pub failures: &'a [ConfirmedFailure],
    pub prices: &'a ResourcePrices,
    pub budget: &'a CallCostModel,
    pub extras: &'a ExternalMeasurements,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellMetrics {
    pub section: SectionId,
    pub scenario: usize,
    pub metrics: MetricValues,
}

/// The metrics of a cycle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CycleMetrics {
    /// In the order of the input's cells.
    pub cells: Vec<CellMetrics>,
    pub sections: BTreeMap<SectionId, MetricValues>,
    /// By path of the module.
    pub modules: BTreeMap<String, MetricValues>,
    /// By name of the scenario: all severities together.
    pub scenarios: BTreeMap<String, MetricValues>,
    pub run: MetricValues,
}

/// Computes the metrics of a cycle.
///
/// # Panics
///
/// When a cell refers to a scenario that the cycle does not have.
pub fn measure_cycle(cycle: &MeasuringInput<'_>) -> CycleMetrics {
    let book = CycleIndex::new(cycle);
    let cells = cycle
        .cells
        .iter()
        .map(|cell| CellMetrics {
            section: cell.section.clone(),
            scenario: cell.scenario,
            metrics: match book.sections.get(&cell.section) {
                Some((module, section)) => {
                    book.section_metrics(module, section, &|scenario| scenario == cell.scenario)
                }
                None => MetricValues::default(),
            },
        })
        .collect();
    let mut measured = CycleMetrics { cells, ..CycleMetrics::default() };
    for module in cycle.modules {
        for section in &module.sections {
            let metrics = book.section_metrics(module, section, &|_| true);
            if !metrics.is_empty() {
                measured.sections.insert(section.id.clone(), metrics);
            }
        }
        let of_sections = module
            .sections
            .iter()
            .filter_map(|section| Some((measured.sections.get(&section.id)?, section.weight())));
        let mut metrics = MetricValues::weighted_mean(of_sections);
        text_metrics::add_text_metrics(&mut metrics, module);
        measured.modules.insert(module.path.clone(), metrics);
    }
    let names: BTreeSet<&str> = cycle.scenarios.iter().map(|scenario| &*scenario.name).collect();
    for name in names {
        measured.scenarios.insert(name.to_owned(), book.scenario_metrics(name));
    }
    measured.run = MetricValues::weighted_mean(
        cycle.modules.iter().map(|module| (&measured.modules[&module.path], module.weight())),
    );
    let ExternalMeasurements { joules, projected_lucrativity, custom } = cycle.extras;
    let reached_calls: u64 = cycle.cells.iter().map(|cell| cell.tally.reached_calls()).sum();
    let joules = joules.filter(|joules| *joules >= 0.0 && reached_calls > 0);
    measured.run.set("energy_consumption", joules.map(|joules| joules / reached_calls as f64));
    measured.run.set("projected_lucrativity", *projected_lucrativity);
    // A plugin adds metrics; it cannot replace those measured here.
    for (name, value) in custom.iter().filter(|(name, _)| find_metric(name).is_none()) {
        measured.run.set(name, value);
    }
    measured
}

/// The metrics of calls that belong to several sections, as in a combined run.
///
/// Resilience is measured against `baseline`; `coverage` is the share of lines reached.
pub fn measure_cells(
    cells: Vec<(&MeasuredScenario, &CallTally)>,
    baseline: Option<&CallTally>,
    coverage: Option<f64>,
    severity: f64,
    failures: usize,
    (prices, budget): (&ResourcePrices, &CallCostModel),
) -> MetricValues {
    let baseline = baseline.into_iter().collect();
    SectionCalls { cells, baseline, failures, severity, prices, budget, coverage }.metrics()
}

/// The metrics that follow from a module's source text.
pub fn measure_module_text(module: &ModuleFacts) -> MetricValues {
    let mut metrics = MetricValues::default();
    text_metrics::add_text_metrics(&mut metrics, module);
    metrics
}

/// The data of a cycle, by section and by file.
struct CycleIndex<'a> {
    cycle: &'a MeasuringInput<'a>,
    sections: HashMap<&'a SectionId, (&'a ModuleFacts, &'a SectionFacts)>,
    cells: HashMap<&'a SectionId, Vec<&'a TalliedCell>>,
    failures: HashMap<&'a SectionId, Vec<&'a ConfirmedFailure>>,
    /// Reached lines, by file and scenario.
    reached_lines: HashMap<&'a str, BTreeMap<usize, LineRanges>>,
}

impl<'a> CycleIndex<'a> {
    fn new(cycle: &'a MeasuringInput<'a>) -> Self {
        let mut book = Self {
            cycle,
            sections: HashMap::new(),
            cells: HashMap::new(),
            failures: HashMap::new(),
            reached_lines: HashMap::new(),
        };
        for module in cycle.modules {
            for section in &module.sections {
                book.sections.insert(&section.id, (module, section));
            }
        }
        for cell in cycle.cells {
            book.cells.entry(&cell.section).or_default().push(cell);
            for (file, lines) in &cell.tally.reached_lines {
                let by_scenario = book.reached_lines.entry(file).or_default();
                by_scenario.entry(cell.scenario).or_default().merge(lines);
            }
        }
        for failure in cycle.failures {
            book.failures.entry(&failure.section).or_default().push(failure);
        }
        book
    }

    /// The metrics of a section, from its calls under the wanted scenarios.
    fn section_metrics(
        &self,
        module: &ModuleFacts,
        section: &SectionFacts,
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> MetricValues {
        let scenario = |cell: &TalliedCell| &self.cycle.scenarios[cell.scenario];
        let all = self.cells.get(&section.id).map(Vec::as_slice).unwrap_or_default();
        let wanted: Vec<&TalliedCell> =
            all.iter().copied().filter(|cell| is_wanted(cell.scenario)).collect();
        let names: BTreeSet<&str> = wanted.iter().map(|cell| &*scenario(cell).name).collect();
        let is_whole = wanted.len() == all.len();
        let failures: BTreeSet<&FailureId> = self
            .failures
            .get(&section.id)
            .into_iter()
            .flatten()
            .filter(|failure| is_whole || names.contains(&*failure.scenario))
            .map(|failure| &failure.id)
            .collect();
        SectionCalls {
            cells: wanted.iter().map(|cell| (scenario(cell), &cell.tally)).collect(),
            baseline: all
                .iter()
                .filter(|cell| scenario(cell).is_baseline)
                .map(|cell| &cell.tally)
                .collect(),
            failures: failures.len(),
            severity: module.severity,
            prices: self.cycle.prices,
            budget: self.cycle.budget,
            coverage: self.coverage(module, section, is_wanted),
        }
        .metrics()
    }

    /// The share of the section's lines that were reached, by calls of any section.
    fn coverage(
        &self,
        module: &ModuleFacts,
        section: &SectionFacts,
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> Option<f64> {
        let lines = section.lines.as_ref().filter(|lines| !lines.is_empty())?;
        // Under other scenarios only some calls record coverage: alone they say little.
        let mut all = self.cycle.scenarios.iter().enumerate();
        all.find(|(number, scenario)| scenario.is_baseline && is_wanted(*number))?;
        let by_scenario = self.reached_lines.get(module.path.as_str())?;
        let wanted = by_scenario.iter().filter(|(scenario, _)| is_wanted(**scenario));
        let reached: Vec<&LineRanges> = wanted.map(|(_, lines)| lines).collect();
        let count =
            lines.iter().filter(|line| reached.iter().any(|set| set.contains(**line))).count();
        (!reached.is_empty()).then(|| count as f64 / lines.len() as f64)
    }

    fn scenario_metrics(&self, name: &str) -> MetricValues {
        let is_wanted = |scenario: usize| self.cycle.scenarios[scenario].name == name;
        let modules: Vec<(MetricValues, f64)> = self
            .cycle
            .modules
            .iter()
            .map(|module| {
                let sections: Vec<(MetricValues, f64)> = module
                    .sections
                    .iter()
                    .map(|section| {
                        (self.section_metrics(module, section, &is_wanted), section.weight())
                    })
                    .collect();
                let mut metrics = MetricValues::weighted_mean(pairs(&sections));
                if !metrics.is_empty() {
                    text_metrics::add_text_metrics(&mut metrics, module);
                }
                (metrics, module.weight())
            })
            .collect();
        let mut metrics = MetricValues::weighted_mean(pairs(&modules));
        let trips: Vec<f64> = self
            .cycle
            .scenarios
            .iter()
            .filter(|scenario| scenario.name == name)
            .filter_map(|scenario| scenario.round_trip_ms)
            .collect();
        metrics.set("network_latency", crate::series::mean(&trips));
        let cells = self.cells.values().flatten().filter(|cell| is_wanted(cell.scenario));
        let spawned = cells.filter_map(|cell| cell.tally.spawned).reduce(|mut all, one| {
            all.merge(one);
            all
        });
        metrics.set("concurrency_threads", spawned.map(|all| all.threads as f64));
        metrics.set("concurrency_tasks", spawned.map(|all| all.tasks as f64));
        metrics
    }
}

fn pairs(weighted: &[(MetricValues, f64)]) -> impl Iterator<Item = (&MetricValues, f64)> {
    weighted.iter().map(|(metrics, weight)| (metrics, *weight))
}
