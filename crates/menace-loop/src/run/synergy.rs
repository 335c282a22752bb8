//! Synergy: sections in one process compared with isolated runs, and their sources as one text.
//!
//! Invariant: both sides of a comparison are measured on the same calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_source::{code_metrics, decode};
use menace_track::{
    CallTally, LineRanges, MeasuredScenario, MetricValues, ModuleFacts, RoiProfile, RoiReading,
    SynergyDelta, compute_roi, measure_cells, measure_module_text,
};

use super::history::read_module;
use crate::cycle::{CyclePlan, SharedRun, SharedRunPart};

/// Metrics that only scenarios with faults measure.
const FAULT_METRICS: [&str; 2] = ["synergy_resilience", "synergy_antifragility"];

const NETWORK_LATENCY: &str = "network_latency";

#[derive(Debug, Clone, Copy)]
pub(super) struct SynergyMeasurement<'t> {
    pub shared_run: &'t SharedRun,
    pub plan: &'t CyclePlan<'t>,
    pub scenarios: &'t [MeasuredScenario],
    pub profile: &'t RoiProfile,
    /// Mean over the modules.
    pub severity: f64,
}

impl SynergyMeasurement<'_> {
    /// Synergy under the baseline.
    pub(super) fn measure_baseline(&self) -> SynergyDelta {
        let parts: Vec<&SharedRunPart> = self.shared_run.parts.iter().take(1).collect();
        self.measure(&parts, self.shared_run.failures.len())
    }

    /// The metrics that the other scenarios add.
    pub(super) fn measure_faults(&self) -> MetricValues {
        let parts: Vec<&SharedRunPart> = self.shared_run.parts.iter().skip(1).collect();
        let all = self.measure(&parts, 0).metrics;
        FAULT_METRICS.iter().filter_map(|name| Some((*name, all.get(name)?))).collect()
    }

    /// By name of the scenario, all severities together.
    pub(super) fn measure_scenarios(&self) -> BTreeMap<String, SynergyDelta> {
        let mut parts: BTreeMap<&str, Vec<&SharedRunPart>> = BTreeMap::new();
        for part in &self.shared_run.parts {
            parts.entry(&self.scenarios[part.scenario].name).or_default().push(part);
        }
        let measure = |(name, parts): (&str, Vec<&SharedRunPart>)| {
            let is_baseline = parts.iter().any(|part| self.scenarios[part.scenario].is_baseline);
            let failures = if is_baseline { self.shared_run.failures.len() } else { 0 };
            (name.to_owned(), self.measure(&parts, failures))
        };
        parts.into_iter().map(measure).collect()
    }

    fn measure(&self, parts: &[&SharedRunPart], failures: usize) -> SynergyDelta {
        let baseline_part = self.shared_run.parts.first();
        let sections: BTreeSet<usize> =
            parts.iter().flat_map(|part| part.isolated.keys().copied()).collect();
        let cells = parts.iter().map(|part| (part.scenario, &part.combined)).collect();
        let baseline = baseline_part.map(|part| &part.combined);
        let combined = self.reading(cells, baseline, &sections, failures);
        let isolated: Vec<RoiReading> = sections
            .iter()
            .map(|section| {
                let cells = parts
                    .iter()
                    .filter_map(|part| Some((part.scenario, part.isolated.get(section)?)));
                let baseline = baseline_part.and_then(|part| part.isolated.get(section));
                self.reading(cells.collect(), baseline, &BTreeSet::from([*section]), 0)
            })
            .collect();
        let modules = sections.iter().map(|&at| self.plan.sections[at].module.path.clone());
        SynergyDelta::compute(&combined, &isolated, modules)
    }

    fn reading(
        &self,
        cells: Vec<(usize, &CallTally)>,
        baseline: Option<&CallTally>,
        sections: &BTreeSet<usize>,
        failures: usize,
    ) -> RoiReading {
        let coverage = self.coverage(&cells, sections);
        let cells = cells.into_iter().map(|(number, tally)| (&self.scenarios[number], tally));
        let pricing = (self.profile.prices(), self.profile.budget());
        let cells = cells.collect();
        let metrics = measure_cells(cells, baseline, coverage, self.severity, failures, pricing);
        let roi = compute_roi(self.profile, &metrics).map(|roi| roi.value);
        // A property of the scenario, not of the sections: the difference would always be 0.
        let metrics = metrics.iter().filter(|(name, _)| *name != NETWORK_LATENCY).collect();
        RoiReading { metrics, roi }
    }

    /// Share of the sections' lines that were reached.
    fn coverage(&self, cells: &[(usize, &CallTally)], sections: &BTreeSet<usize>) -> Option<f64> {
        let mut reached: BTreeMap<&str, LineRanges> = BTreeMap::new();
        for (file, lines) in cells.iter().flat_map(|(_, tally)| &tally.reached_lines) {
            reached.entry(file).or_default().merge(lines);
        }
        let lines = sections.iter().flat_map(|&at| {
            let planned = &self.plan.sections[at];
            planned.hints.lines.iter().map(|line| (planned.module.path.as_str(), *line))
        });
        // A line that sections share counts once.
        let lines: BTreeSet<(&str, u32)> = lines.collect();
        let is_hit = |(file, line): &&(&str, u32)| {
            reached.get(file).is_some_and(|reached| reached.contains(*line))
        };
        let hit = lines.iter().filter(is_hit).count();
        (!lines.is_empty()).then(|| hit as f64 / lines.len() as f64)
    }
}

/// The sources of the modules as one text, compared with their mean; empty where that text is not
/// valid Python.
pub(super) fn text_synergy(
    repository: &Path,
    modules: &[ModuleFacts],
    paths: &BTreeSet<String>,
) -> MetricValues {
    let own: Vec<&ModuleFacts> =
        modules.iter().filter(|module| paths.contains(&module.path)).collect();
    let mut text = String::new();
    for module in &own {
        let Ok(bytes) = read_module(repository, &module.path) else {
            return MetricValues::default();
        };
        let Ok(part) = decode::decode(&bytes) else { return MetricValues::default() };
        text.push_str(&part);
        text.push('\n');
    }
    let Some((first, code_metrics)) = own.first().zip(code_metrics::measure_text(&text)) else {
        return MetricValues::default();
    };
    let whole = ModuleFacts {
        code_metrics,
        findings: own.iter().flat_map(|module| module.findings.clone()).collect(),
        lints: own.iter().map(|module| module.lints).sum(),
        source_change_size: None,
        ..(*first).clone()
    };
    let reading =
        |module: &ModuleFacts| RoiReading { metrics: measure_module_text(module), roi: None };
    let separate: Vec<RoiReading> = own.iter().map(|module| reading(module)).collect();
    SynergyDelta::compute(&reading(&whole), &separate, []).metrics
}
