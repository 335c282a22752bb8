//! Sections together against each alone: in peace, under trouble, and what their texts say.
//!
//! Invariant: what is compared was measured on the same calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_source::{decode, numbers};
use menace_track::{
    Lines, Metrics, ModuleFacts, Profile, Reading, Scenario, Synergy, Tally, of_cells,
    of_module_text, roi,
};

use crate::cycle::{Company, Part, Plan};

/// What only trouble tells.
const OF_TROUBLE: [&str; 2] = ["synergy_resilience", "synergy_antifragility"];

const NETWORK_LATENCY: &str = "network_latency";

#[derive(Debug, Clone, Copy)]
pub(super) struct Together<'t> {
    pub company: &'t Company,
    pub plan: &'t Plan<'t>,
    pub scenarios: &'t [Scenario],
    pub profile: &'t Profile,
    /// Of the modules, on average.
    pub severity: f64,
}

impl Together<'_> {
    /// The calls of all of them in peace.
    pub(super) fn in_peace(&self) -> Synergy {
        let parts: Vec<&Part> = self.company.parts.iter().take(1).collect();
        self.of(&parts, self.company.troubles.len())
    }

    /// What the scenarios say beyond that.
    pub(super) fn in_trouble(&self) -> Metrics {
        let parts: Vec<&Part> = self.company.parts.iter().skip(1).collect();
        let all = self.of(&parts, 0).metrics;
        OF_TROUBLE.iter().filter_map(|name| Some((*name, all.get(name)?))).collect()
    }

    /// By name: severities together.
    pub(super) fn by_scenario(&self) -> BTreeMap<String, Synergy> {
        let mut parts: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
        for part in &self.company.parts {
            parts.entry(&self.scenarios[part.scenario].name).or_default().push(part);
        }
        let of = |(name, parts): (&str, Vec<&Part>)| {
            let is_peace = parts.iter().any(|part| self.scenarios[part.scenario].is_baseline);
            let failures = if is_peace { self.company.troubles.len() } else { 0 };
            (name.to_owned(), self.of(&parts, failures))
        };
        parts.into_iter().map(of).collect()
    }

    fn of(&self, parts: &[&Part], failures: usize) -> Synergy {
        let peace = self.company.parts.first();
        let subjects: BTreeSet<usize> =
            parts.iter().flat_map(|part| part.alone.keys().copied()).collect();
        let together = parts.iter().map(|part| (part.scenario, &part.combined)).collect();
        let baseline = peace.map(|part| &part.combined);
        let combined = self.reading(together, baseline, &subjects, failures);
        let alone: Vec<Reading> = subjects
            .iter()
            .map(|subject| {
                let cells =
                    parts.iter().filter_map(|part| Some((part.scenario, part.alone.get(subject)?)));
                let baseline = peace.and_then(|part| part.alone.get(subject));
                self.reading(cells.collect(), baseline, &BTreeSet::from([*subject]), 0)
            })
            .collect();
        let modules = subjects.iter().map(|&at| self.plan.subjects[at].module.path.clone());
        Synergy::of(&combined, &alone, modules)
    }

    fn reading(
        &self,
        cells: Vec<(usize, &Tally)>,
        baseline: Option<&Tally>,
        subjects: &BTreeSet<usize>,
        failures: usize,
    ) -> Reading {
        let coverage = self.coverage(&cells, subjects);
        let cells = cells.into_iter().map(|(number, tally)| (&self.scenarios[number], tally));
        let yardstick = (self.profile.prices(), self.profile.budget());
        let cells = cells.collect();
        let metrics = of_cells(cells, baseline, coverage, self.severity, failures, yardstick);
        let roi = roi(self.profile, &metrics).map(|roi| roi.value);
        // The trip is that of the scenario, however many there are: the difference would always be 0.
        let metrics = metrics.iter().filter(|(name, _)| *name != NETWORK_LATENCY).collect();
        Reading { metrics, roi }
    }

    /// Share of the sections' lines that were reached.
    fn coverage(&self, cells: &[(usize, &Tally)], subjects: &BTreeSet<usize>) -> Option<f64> {
        let mut reached: BTreeMap<&str, Lines> = BTreeMap::new();
        for (file, lines) in cells.iter().flat_map(|(_, tally)| &tally.covered) {
            reached.entry(file).or_default().merge(lines);
        }
        let lines = subjects.iter().flat_map(|&at| {
            let subject = &self.plan.subjects[at];
            subject.hints.lines.iter().map(|line| (subject.module.path.as_str(), *line))
        });
        // Sections that share a line have it once.
        let lines: BTreeSet<(&str, u32)> = lines.collect();
        let is_hit = |(file, line): &&(&str, u32)| {
            reached.get(file).is_some_and(|reached| reached.contains(*line))
        };
        let hit = lines.iter().filter(is_hit).count();
        (!lines.is_empty()).then(|| hit as f64 / lines.len() as f64)
    }
}

/// The texts of the modules as one, against their mean; nothing where they are no Python together.
pub(super) fn of_texts(
    repository: &Path,
    modules: &[ModuleFacts],
    company: &BTreeSet<String>,
) -> Metrics {
    let own: Vec<&ModuleFacts> =
        modules.iter().filter(|module| company.contains(&module.path)).collect();
    let mut text = String::new();
    for module in &own {
        let Ok(bytes) = std::fs::read(repository.join(&module.path)) else {
            return Metrics::default();
        };
        let Ok(part) = decode::decode(&bytes) else { return Metrics::default() };
        text.push_str(&part);
        text.push('\n');
    }
    let (Some(first), Some(numbers)) = (own.first(), numbers::of_text(&text)) else {
        return Metrics::default();
    };
    let whole = ModuleFacts {
        numbers,
        findings: own.iter().flat_map(|module| module.findings.clone()).collect(),
        lints: own.iter().map(|module| module.lints).sum(),
        patch_complexity: None,
        ..(*first).clone()
    };
    let reading = |module: &ModuleFacts| Reading { metrics: of_module_text(module), roi: None };
    let alone: Vec<Reading> = own.iter().map(|module| reading(module)).collect();
    Synergy::of(&reading(&whole), &alone, []).metrics
}
