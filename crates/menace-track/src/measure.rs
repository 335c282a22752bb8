//! From tallies and facts to metrics: of cells, sections, modules, scenarios and the run.
//!
//! The definitions are in the table of `metric`, one function each in `measure/of_calls.rs` and
//! `measure/of_text.rs`; here they are put together. What they are worth is told by `roi`.
//! Invariant: the same calls give the same metrics, in whatever order the cells come.

mod of_calls;
pub(crate) mod of_text;
mod price;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use menace_model::{Failure, FailureId, SectionId, WeaknessKind};
use serde::{Deserialize, Serialize};

use crate::metric::metric;
use crate::tally::Lines;
use crate::{Metrics, ModuleFacts, SectionFacts, Tally};

use of_calls::Calls;
pub use price::{Budget, Prices};

/// How hard a scenario is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Low,
    High,
}

/// What calls were put through. Two may have one name, at different severities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    pub name: String,
    pub severity: Option<Level>,
    /// Nothing is made harder.
    pub is_baseline: bool,
    /// It is about faults or bad inputs, so that resilience can be measured.
    pub is_trouble: bool,
    /// A round trip inside of the sandbox, when it was measured.
    pub round_trip_ms: Option<f64>,
}

/// All calls of a section under a scenario, in one cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    pub section: SectionId,
    /// Which of the cycle's scenarios.
    pub scenario: usize,
    pub tally: Tally,
}

/// A failure that a second call confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    pub id: FailureId,
    pub section: SectionId,
    /// Name of the scenario that showed it first.
    pub scenario: String,
    pub kind: WeaknessKind,
}

impl From<&Failure> for Confirmed {
    fn from(failure: &Failure) -> Self {
        Self {
            id: failure.id.clone(),
            section: failure.section.clone(),
            scenario: failure.scenario.clone(),
            kind: failure.kind,
        }
    }
}

/// What others measured of the whole run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// What the processor's own meter says that the cycle took.
    pub joules: Option<f64>,
    /// Forecast of profitability; see [`crate::Tracker::projected`].
    pub projected_lucrativity: Option<f64>,
    /// Of plugins, under names that Menace itself does not use.
    pub custom: Metrics,
}

/// Everything that the metrics of a cycle are made of.
#[derive(Debug, Clone, Copy)]
pub struct Cycle<'a> {
    pub scenarios: &'a [Scenario],
    pub modules: &'a [ModuleFacts],
    pub cells: &'a [Cell],
    pub failures: &'a [Confirmed],
    pub prices: &'a Prices,
    pub budget: &'a Budget,
    pub extras: &'a Extras,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellMetrics {
    pub section: SectionId,
    pub scenario: usize,
    pub metrics: Metrics,
}

/// The metrics of a cycle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// In the order of the cells.
    pub cells: Vec<CellMetrics>,
    pub sections: BTreeMap<SectionId, Metrics>,
    /// By path.
    pub modules: BTreeMap<String, Metrics>,
    /// By name: severities together.
    pub scenarios: BTreeMap<String, Metrics>,
    pub run: Metrics,
}

/// Measures a cycle.
///
/// # Panics
///
/// When a cell is of a scenario that the cycle does not have.
pub fn measure(cycle: &Cycle<'_>) -> Measured {
    let book = Book::of(cycle);
    let cells = cycle
        .cells
        .iter()
        .map(|cell| CellMetrics {
            section: cell.section.clone(),
            scenario: cell.scenario,
            metrics: match book.sections.get(&cell.section) {
                Some((module, section)) => {
                    book.metrics(module, section, &|scenario| scenario == cell.scenario)
                }
                None => Metrics::default(),
            },
        })
        .collect();
    let mut measured = Measured { cells, ..Measured::default() };
    for module in cycle.modules {
        for section in &module.sections {
            let metrics = book.metrics(module, section, &|_| true);
            if !metrics.is_empty() {
                measured.sections.insert(section.id.clone(), metrics);
            }
        }
        let of_sections = module
            .sections
            .iter()
            .filter_map(|section| Some((measured.sections.get(&section.id)?, section.weight())));
        let mut metrics = Metrics::mean(of_sections);
        of_text::add(&mut metrics, module);
        measured.modules.insert(module.path.clone(), metrics);
    }
    let names: BTreeSet<&str> = cycle.scenarios.iter().map(|scenario| &*scenario.name).collect();
    for name in names {
        measured.scenarios.insert(name.to_owned(), book.scenario(name));
    }
    measured.run = Metrics::mean(
        cycle.modules.iter().map(|module| (&measured.modules[&module.path], module.weight())),
    );
    let Extras { joules, projected_lucrativity, custom } = cycle.extras;
    let asked: u64 = cycle.cells.iter().map(|cell| cell.tally.asked()).sum();
    let joules = joules.filter(|joules| *joules >= 0.0 && asked > 0);
    measured.run.set("energy_consumption", joules.map(|joules| joules / asked as f64));
    measured.run.set("projected_lucrativity", *projected_lucrativity);
    // A plugin adds to what is measured here; it does not get to replace it.
    for (name, value) in custom.iter().filter(|(name, _)| metric(name).is_none()) {
        measured.run.set(name, value);
    }
    measured
}

/// The metrics of calls that belong to no section alone, as those of a combined run.
///
/// `baseline` is what resilience is measured against, `coverage` the share of lines that were reached.
pub fn of_cells(
    cells: Vec<(&Scenario, &Tally)>,
    baseline: Option<&Tally>,
    coverage: Option<f64>,
    severity: f64,
    failures: usize,
    (prices, budget): (&Prices, &Budget),
) -> Metrics {
    let baseline = baseline.into_iter().collect();
    Calls { cells, baseline, failures, severity, prices, budget, coverage }.metrics()
}

/// The metrics that the text of a module tells.
pub fn of_module_text(module: &ModuleFacts) -> Metrics {
    let mut metrics = Metrics::default();
    of_text::add(&mut metrics, module);
    metrics
}

/// The cycle, by section.
struct Book<'a> {
    cycle: &'a Cycle<'a>,
    sections: HashMap<&'a SectionId, (&'a ModuleFacts, &'a SectionFacts)>,
    cells: HashMap<&'a SectionId, Vec<&'a Cell>>,
    failures: HashMap<&'a SectionId, Vec<&'a Confirmed>>,
    /// Lines that were reached, by file and scenario.
    covered: HashMap<&'a str, BTreeMap<usize, Lines>>,
}

impl<'a> Book<'a> {
    fn of(cycle: &'a Cycle<'a>) -> Self {
        let mut book = Self {
            cycle,
            sections: HashMap::new(),
            cells: HashMap::new(),
            failures: HashMap::new(),
            covered: HashMap::new(),
        };
        for module in cycle.modules {
            for section in &module.sections {
                book.sections.insert(&section.id, (module, section));
            }
        }
        for cell in cycle.cells {
            book.cells.entry(&cell.section).or_default().push(cell);
            for (file, lines) in &cell.tally.covered {
                let by_scenario = book.covered.entry(file).or_default();
                by_scenario.entry(cell.scenario).or_default().merge(lines);
            }
        }
        for failure in cycle.failures {
            book.failures.entry(&failure.section).or_default().push(failure);
        }
        book
    }

    /// Of a section, from its calls under the scenarios that are wanted.
    fn metrics(
        &self,
        module: &ModuleFacts,
        section: &SectionFacts,
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> Metrics {
        let scenario = |cell: &Cell| &self.cycle.scenarios[cell.scenario];
        let all = self.cells.get(&section.id).map(Vec::as_slice).unwrap_or_default();
        let wanted: Vec<&Cell> =
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
        Calls {
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

    /// Share of the section's lines that were reached, by whichever section's calls.
    fn coverage(
        &self,
        module: &ModuleFacts,
        section: &SectionFacts,
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> Option<f64> {
        let lines = section.lines.as_ref().filter(|lines| !lines.is_empty())?;
        // Under a scenario alone, only some calls were looked at.
        let mut all = self.cycle.scenarios.iter().enumerate();
        all.find(|(number, scenario)| scenario.is_baseline && is_wanted(*number))?;
        let by_scenario = self.covered.get(module.path.as_str())?;
        let wanted = by_scenario.iter().filter(|(scenario, _)| is_wanted(**scenario));
        let reached: Vec<&Lines> = wanted.map(|(_, lines)| lines).collect();
        let count =
            lines.iter().filter(|line| reached.iter().any(|set| set.contains(**line))).count();
        (!reached.is_empty()).then(|| count as f64 / lines.len() as f64)
    }

    fn scenario(&self, name: &str) -> Metrics {
        let is_wanted = |scenario: usize| self.cycle.scenarios[scenario].name == name;
        let modules: Vec<(Metrics, f64)> = self
            .cycle
            .modules
            .iter()
            .map(|module| {
                let sections: Vec<(Metrics, f64)> = module
                    .sections
                    .iter()
                    .map(|section| (self.metrics(module, section, &is_wanted), section.weight()))
                    .collect();
                let mut metrics = Metrics::mean(pairs(&sections));
                if !metrics.is_empty() {
                    of_text::add(&mut metrics, module);
                }
                (metrics, module.weight())
            })
            .collect();
        let mut metrics = Metrics::mean(pairs(&modules));
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

fn pairs(weighted: &[(Metrics, f64)]) -> impl Iterator<Item = (&Metrics, f64)> {
    weighted.iter().map(|(metrics, weight)| (metrics, *weight))
}
