//! What a cycle was worth: metrics, ROI, synergy, risk flags, discrepancies, whose gains have faded.
//!
//! The arithmetic is in `menace-track`; here it gets what it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::{FailureId, SectionId};
use menace_track::{
    Cell, Confirmed, Cycle, CycleReport, DISCREPANCY_COUNT, Discrepancy, Extras, Level, Measured,
    Metrics, ModuleFacts, Profile, RiskFlag, Scenario, Tracker, measure, risk_flags, roi, score,
    unequal_results, unusual_metrics, unusual_modules, unusual_scenarios,
};

use super::decide::{self, Conclusions};
use super::keep::{Keep, SOURCES, source_of};
use super::presets;
use super::selection;
use super::signatures::Signatures;
use super::synergy::{Together, of_texts};
use super::telling::Told;
use super::{Run, RunError};
use crate::cycle::{Plan, Reached, Seen, Wanted};
use crate::metrics::{History, Prediction, Told as PluginTold};
use menace_settings::ScenarioSeverity;

/// What a cycle was worth.
#[derive(Debug)]
pub(super) struct Worth {
    pub cells: Vec<Cell>,
    pub measured: Measured,
    pub report: CycleReport,
    pub risks: Vec<RiskFlag>,
    pub discrepancies: Vec<Discrepancy>,
    /// Paths of modules whose gains have faded.
    pub faded: BTreeSet<String>,
    /// Share of the lines of sections that some call reached.
    pub lines: f64,
    /// What the histories say after it.
    pub concluded: Conclusions,
    /// Nothing but depth was cut short for want of time: it compares with other cycles.
    pub is_whole: bool,
    profile: Profile,
}

impl Worth {
    /// `about` says which modules the cycle called, see [`selection::without`].
    #[expect(clippy::too_many_arguments, reason = "everything that a cycle is made of")]
    pub(super) fn of(
        run: &Run<'_>,
        about: &str,
        wanted: &dyn Wanted,
        plan: &Plan<'_>,
        seen: &mut Seen,
        joules: Option<f64>,
        keep: &mut Keep,
        told: &mut Told,
    ) -> Result<Self, RunError> {
        let scenarios = scenarios(plan, seen);
        let mut cells = cells(plan, seen);
        let seen = &*seen;
        // A package that is not installed is nobody's fault here.
        let lacking: BTreeSet<&str> = seen
            .shut
            .iter()
            .filter(|shut| shut.missing.is_some())
            .map(|shut| shut.module.as_str())
            .collect();
        cells.retain(|cell| !lacking.contains(cell.section.path()));
        let mut modules = facts(run, plan);
        modules.retain(|module| !lacking.contains(module.path.as_str()));
        let failures = confirmed_in(seen);
        let profile = &run.yardstick.profile;
        let (prices, budget) = (profile.prices(), profile.budget());
        let all: Vec<Confirmed> =
            seen.failures.values().map(|(failure, _)| confirmed(failure)).collect();
        let risks = risk_flags(&modules, &scenarios, &cells, &all);
        // Plugins may take their time: others are not to wait for them with the history.
        let mut before = keep.peek(told)?;
        selection::set_aside(&mut before, about);
        let before = Tracker::new(before);
        for module in &mut modules {
            module.patch_complexity = before.patch_complexity(module);
        }
        let history = before.history();
        let signatures = Signatures::new(&run.analysis.modules, wanted);
        let extras = Extras {
            joules,
            projected_lucrativity: before.projected("profitability"),
            custom: Metrics::default(),
        };
        let cycle = Cycle {
            scenarios: &scenarios,
            modules: &modules,
            cells: &cells,
            failures: &failures,
            prices,
            budget,
            extras: &extras,
        };
        let mut measured = measure(&cycle);
        let mut predictions = Vec::new();
        if let Some(plugins) = run.plugins {
            let now = roi(profile, &measured.run).map_or(0.0, |roi| roi.value);
            let collected = plugins.collect(&PluginTold {
                prev_roi: history.roi_history.last().copied().unwrap_or_default(),
                roi: now,
                resources: Some(resources(&cells)),
                history: History {
                    metrics: history.metrics_history.clone(),
                    roi: history.roi_history.clone(),
                    predicted: as_plugins_know(&history.predicted_metrics),
                    actual: as_plugins_know(&history.actual_metrics),
                },
                seed: run.seed.0,
            })?;
            for warning in collected.warnings {
                told.warn(warning);
            }
            predictions = collected.predictions;
            let custom = collected.metrics.into_iter().collect();
            let extras = Extras { custom, ..extras.clone() };
            measured = measure(&Cycle { extras: &extras, ..cycle });
        }
        keep.update(told, |tracker, _| {
            let is_same_selection = selection::is_same(tracker.history(), about);
            let has_same_sections = selection::has_same_sections(tracker.history(), about);
            let earlier = selection::set_aside(tracker.history_mut(), about);
            let history = tracker.history();
            let mut discrepancies = unequal_results(&cells);
            discrepancies.extend(unusual_metrics(&measured.run, &history.metrics_history));
            discrepancies.extend(unusual_scenarios(&measured.scenarios, &history.metrics_history));
            let rois = measured.modules.iter();
            let rois =
                rois.filter_map(|(path, one)| Some((path.clone(), roi(profile, one)?.value)));
            discrepancies.extend(unusual_modules(rois, &history.module_roi));
            discrepancies.extend(signatures.changed(history));
            let troubles = seen.company.as_ref().map_or(0, |company| company.troubles.len());
            measured.run.set(DISCREPANCY_COUNT, (discrepancies.len() + troubles) as f64);
            let mut report = score(&measured, &modules, profile, tracker);
            if let Some(company) = &seen.company {
                let severity = mean(modules.iter().map(|module| module.severity));
                let together = Together { company, plan, scenarios: &scenarios, profile, severity };
                let mut found = together.in_peace();
                found.metrics.extend(&together.in_trouble());
                found.metrics.extend(&of_texts(run.repository, &modules, &company.modules));
                // Differences lead on as what they are made of does.
                let projected = tracker.projected("synergy_profitability");
                found.metrics.set("synergy_projected_lucrativity", projected);
                report.synergy = Some(found);
                report.scenario_synergy = together.by_scenario();
            }
            // What was cut short, or is about other sections, compares with nothing.
            let is_whole = seen.is_broad;
            if !is_whole || !has_same_sections {
                forget_deltas(&mut report);
            } else if !is_same_selection {
                // Only who takes part has changed: each for itself still compares.
                for scored in report.scenarios.values_mut().chain([&mut report.run]) {
                    scored.roi_delta = None;
                }
            }
            let marks = presets::marks(&plan.scenarios);
            presets::forget_others(&mut report, tracker.history(), &marks);
            if is_whole {
                decide::compare(tracker, &report);
                tracker.update(&report);
                presets::remember(tracker.history_mut(), &marks);
                signatures.remember(tracker);
                for Prediction { plugin, metric, predicted, actual } in predictions {
                    tracker.hear(&plugin, &metric, predicted, actual);
                    if let Some(actual) = actual {
                        let name = format!("{OF_PLUGINS}{metric}");
                        tracker.record_metric_prediction(&name, predicted, actual);
                    }
                }
            }
            let stress = stress(&plan.scenarios);
            let concluded =
                decide::conclude(run, about, tracker, &report, &modules, &cells, stress, is_whole);
            let faded: BTreeSet<String> =
                concluded.judgement.faded().filter(|_| is_whole).map(str::to_owned).collect();
            let complete = concluded.judgement.complete().filter(|_| is_whole).map(str::to_owned);
            remember_sources(run, &complete.collect(), tracker);
            remember_sources(run, &faded, tracker);
            if is_whole {
                selection::begin(tracker.history_mut(), about, &earlier);
            }
            selection::put_back(tracker.history_mut(), earlier);
            let lines = coverage(&modules, &cells, &seen.reached);
            let profile = profile.clone();
            Ok(Self {
                cells,
                measured,
                report,
                risks,
                discrepancies,
                faded,
                lines,
                concluded,
                is_whole,
                profile,
            })
        })
        .and_then(|worth| {
            keep.flag(worth.faded.iter().map(String::as_str), told)?;
            Ok(worth)
        })
    }

    /// What metrics are worth alone.
    pub(super) fn roi(&self, metrics: &Metrics) -> Option<f64> {
        roi(&self.profile, metrics).map(|roi| roi.value)
    }

    pub(super) fn risks_of<'w>(&'w self, module: &'w str) -> Vec<&'w RiskFlag> {
        self.risks.iter().filter(|flag| flag.module == module).collect()
    }
}

pub(super) fn scenarios(plan: &Plan<'_>, seen: &Seen) -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = plan.scenarios.iter().map(scenario).collect();
    for (number, ms) in &seen.round_trips {
        scenarios[*number].round_trip_ms = Some(*ms);
    }
    scenarios
}

/// How hard the scenarios of a cycle are on average: nothing in peace, all of it where severity is high,
/// else as much as the threat.
fn stress(scenarios: &[crate::cycle::Scenario]) -> f64 {
    mean(scenarios.iter().map(|scenario| match scenario.severity {
        _ if scenario.is_baseline => 0.0,
        Some(ScenarioSeverity::High) => 1.0,
        Some(ScenarioSeverity::Low) | None => scenario.preset.threat_intensity(),
    }))
}

fn scenario(planned: &crate::cycle::Scenario) -> Scenario {
    let has_trouble = !planned.preset.failure_modes().is_empty() || planned.has_own_inputs;
    Scenario {
        name: planned.name.clone(),
        severity: planned.severity.map(|severity| match severity {
            ScenarioSeverity::Low => Level::Low,
            ScenarioSeverity::High => Level::High,
        }),
        is_baseline: planned.is_baseline,
        is_trouble: !planned.is_baseline && has_trouble,
        round_trip_ms: None,
    }
}

/// Of a failure without its severity: `hostile_input:high` is one of `hostile_input`.
pub(super) fn confirmed(failure: &menace_model::Failure) -> Confirmed {
    let mut confirmed = Confirmed::from(failure);
    if let Some((name, _)) = failure.scenario.rsplit_once(':') {
        name.clone_into(&mut confirmed.scenario);
    }
    confirmed
}

/// What the numbers rest on: how much of depth there was time for is not to move them.
pub(super) fn confirmed_in(seen: &Seen) -> Vec<Confirmed> {
    let counts = |id: &FailureId| seen.depth != Reached::Cut || !seen.beyond_breadth.contains(id);
    let counted = seen.failures.iter().filter(|(id, _)| counts(id));
    counted.map(|(_, (failure, _))| confirmed(failure)).collect()
}

/// Which cycles compare with this one: those about the same sections, with the same right to depth's findings.
pub(super) fn compared_with(run: &Run<'_>, seen: &Seen) -> String {
    let depth = if seen.depth == Reached::Cut { "depth cut short" } else { "" };
    [run.selection.as_str(), depth].join(" ").trim().to_owned()
}

/// All cells, in a fixed order. They are taken out: there are too many to have them twice.
pub(super) fn cells(plan: &Plan<'_>, seen: &mut Seen) -> Vec<Cell> {
    let imports = seen.imports.iter();
    let mut cells: Vec<Cell> = imports
        .map(|(section, tally)| Cell {
            section: section.clone(),
            scenario: 0,
            tally: tally.clone(),
        })
        .collect();
    let own = std::mem::take(&mut seen.cells).into_iter();
    cells.extend(own.map(|((subject, scenario), tally)| Cell {
        section: plan.subjects[subject].section.id.clone(),
        scenario,
        tally: *tally,
    }));
    // Lines that depth reached count where the file is first met, unless it was cut short somewhere.
    if seen.depth == Reached::Whole {
        let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.scenario == 0) {
            firsts.entry(cell.section.path().to_owned()).or_insert(at);
        }
        for (file, lines) in &seen.reached {
            if let Some(&at) = firsts.get(file) {
                cells[at].tally.covered.entry(file.clone()).or_default().merge(lines);
            }
        }
    }
    cells
}

/// Static facts of the modules that take part.
pub(super) fn facts(run: &Run<'_>, plan: &Plan<'_>) -> Vec<ModuleFacts> {
    let mut lines: BTreeMap<&SectionId, &Vec<u32>> = BTreeMap::new();
    let mut wanted: BTreeSet<&str> = BTreeSet::new();
    for subject in &plan.subjects {
        lines.insert(&subject.section.id, &subject.hints.lines);
        wanted.insert(&subject.module.path);
    }
    let mut facts = ModuleFacts::of(&run.analysis.modules, &run.yardstick.impact);
    facts.retain(|module| wanted.contains(module.path.as_str()));
    for module in &mut facts {
        module.sections.retain(|section| {
            lines.contains_key(&section.id) || section.id.qualname() == SectionId::TOP_LEVEL
        });
        for section in &mut module.sections {
            section.lines = lines.get(&section.id).map(|lines| (*lines).clone());
        }
    }
    facts
}

fn coverage(
    modules: &[ModuleFacts],
    cells: &[Cell],
    deep: &BTreeMap<String, menace_track::Lines>,
) -> f64 {
    let mut reached: BTreeMap<&str, menace_track::Lines> =
        deep.iter().map(|(file, lines)| (file.as_str(), lines.clone())).collect();
    for cell in cells {
        for (file, lines) in &cell.tally.covered {
            reached.entry(file).or_default().merge(lines);
        }
    }
    let (mut all, mut hit) = (0_usize, 0_usize);
    for module in modules {
        let lines = module.sections.iter().filter_map(|section| section.lines.as_ref()).flatten();
        let own = reached.get(module.path.as_str());
        for line in lines {
            all += 1;
            hit += usize::from(own.is_some_and(|own| own.contains(*line)));
        }
    }
    if all == 0 { 0.0 } else { hit as f64 / all as f64 }
}

/// Forecasts of plugins are kept under names of their own: the panel's say how far the panel can be trusted.
const OF_PLUGINS: &str = "plugin:";

/// A plugin that has forecast a metric finds its own forecasts under the metric's name.
fn as_plugins_know(series: &BTreeMap<String, Vec<f64>>) -> BTreeMap<String, Vec<f64>> {
    let mut known = series.clone();
    for (name, values) in series {
        if let Some(metric) = name.strip_prefix(OF_PLUGINS) {
            known.remove(name);
            known.insert(metric.to_owned(), values.clone());
        }
    }
    known
}

/// What plugins are told of resources.
fn resources(cells: &[Cell]) -> BTreeMap<String, f64> {
    let made: u64 = cells.iter().map(|cell| cell.tally.calls).sum();
    let cpu_ns: u64 = cells.iter().map(|cell| cell.tally.cpu_ns).sum();
    BTreeMap::from([("calls".to_owned(), made as f64), ("cpu".to_owned(), cpu_ns as f64 / 1e9)])
}

fn forget_deltas(report: &mut CycleReport) {
    let CycleReport { run, modules, sections, scenarios, .. } = report;
    let parts = modules.values_mut().chain(sections.values_mut()).chain(scenarios.values_mut());
    for scored in parts.chain([run]) {
        scored.roi_delta = None;
    }
}

/// A module whose source changes is called again.
fn remember_sources(run: &Run<'_>, faded: &BTreeSet<String>, tracker: &mut Tracker) {
    let known = tracker.others_mut().entry(SOURCES).or_insert_with(|| serde_json::json!({}));
    let Some(known) = known.as_object_mut() else { return };
    for path in faded {
        known.insert(path.clone(), source_of(run.repository, path).into());
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The processor's own meter of energy, where it may be read.
#[derive(Debug)]
pub(super) struct Meter(Option<u64>);

impl Meter {
    const FILE: &'static str = "/sys/class/powercap/intel-rapl:0/energy_uj";

    pub(super) fn start() -> Self {
        Self(Self::read(Path::new(Self::FILE)))
    }

    /// Joules since the start; none when there is no meter, or when it has begun again.
    pub(super) fn stop(self) -> Option<f64> {
        let now = Self::read(Path::new(Self::FILE))?;
        now.checked_sub(self.0?).map(|micro| micro as f64 / 1e6)
    }

    fn read(file: &Path) -> Option<u64> {
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    }
}
