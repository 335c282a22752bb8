//! Measures a cycle: results of its calls → metrics of the run, its modules, scenarios and cells.
//!
//! The arithmetic is in `menace-track`. Invariant: [`measure`] is pure; plugins are called and
//! sources read before it, by [`collect_extras`]. Earlier cycles are read from a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_model::{Failure, FailureId, ScenarioSeverity, SectionId};
use menace_track::{
    CallTally, CellMetrics, ConfirmedFailure, CycleMetrics, ExternalMeasurements, LineRanges,
    MeasuredScenario, MeasuringInput, MetricValues, ModuleFacts, Risk, RoiProfile, TalliedCell,
    Tracker, compute_roi, find_risks, measure_cycle,
};

use super::synergy::text_synergy;
use super::warnings::RunWarning;
use super::{RunError, RunRequest};
use crate::cycle::{
    CellIndex, CyclePlan, CycleResult, DepthCompletion, PlannedScenario, SharedRun,
};
use crate::metrics::{MetricHistory, PluginInput, PluginMetrics, PluginPrediction};

/// Forecasts of plugins are stored under names with this prefix. Forecasts without it come from the
/// predictor panel, and their errors determine how reliable the panel is.
pub(super) const PLUGIN_PREFIX: &str = "plugin:";

/// The metrics of a cycle, and the data they were computed from.
#[derive(Debug)]
pub(super) struct CycleMeasurement {
    pub scenarios: Vec<MeasuredScenario>,
    pub modules: Vec<ModuleFacts>,
    pub cells: Vec<TalliedCell>,
    /// In the order of `cells`.
    pub cell_metrics: Vec<CellMetrics>,
    /// Metrics without those of the cells.
    pub metrics: CycleMetrics,
    /// The sources of the sections that shared a run, as one text.
    pub text_synergy: MetricValues,
    pub risks: Vec<Risk>,
    /// Forecasts that metric plugins recorded.
    pub plugin_predictions: Vec<PluginPrediction>,
    /// Share of the lines of sections that some call reached.
    pub line_coverage: f64,
    /// Mean severity of the scenarios, in [0, 1].
    pub stress: f64,
}

/// Measures a cycle. `before` holds the earlier cycles of the same selection.
pub(super) fn measure(
    request: &RunRequest<'_>,
    plan: &CyclePlan<'_>,
    result: &CycleResult,
    parts: MeasuringData,
    collected: CollectedExtras,
    before: &Tracker,
) -> CycleMeasurement {
    let all_failures: Vec<ConfirmedFailure> =
        result.failures.values().map(|counted| confirmed_failure(&counted.failure)).collect();
    let CollectedExtras { joules, custom, predictions, text_synergy } = collected;
    let extras = ExternalMeasurements { custom, ..external_measurements(joules, before) };
    let mut metrics = parts.measure(&request.scoring.profile, &extras);
    let MeasuringData { scenarios, modules, cells, .. } = parts;
    CycleMeasurement {
        line_coverage: line_coverage(&modules, &cells, &result.reached_lines),
        stress: mean(plan.scenarios.iter().map(stress)),
        risks: find_risks(&modules, &scenarios, &cells, &all_failures),
        scenarios,
        modules,
        cells,
        cell_metrics: std::mem::take(&mut metrics.cells),
        metrics,
        text_synergy,
        plugin_predictions: predictions,
    }
}

fn external_measurements(joules: Option<f64>, before: &Tracker) -> ExternalMeasurements {
    ExternalMeasurements {
        joules,
        projected_lucrativity: before.project_metric("profitability"),
        custom: MetricValues::default(),
    }
}

/// Measurements of a cycle that do not come from its calls.
#[derive(Debug)]
pub(super) struct CollectedExtras {
    joules: Option<f64>,
    /// Metrics of plugins.
    custom: MetricValues,
    predictions: Vec<PluginPrediction>,
    text_synergy: MetricValues,
}

/// Calls the metric plugins, and reads the sources of the sections that shared a run.
pub(super) fn collect_extras(
    request: &RunRequest<'_>,
    parts: &MeasuringData,
    shared_run: Option<&SharedRun>,
    joules: Option<f64>,
    before: &Tracker,
) -> Result<(CollectedExtras, Vec<RunWarning>), RunError> {
    let text_synergy = shared_run
        .map(|shared| text_synergy(request.repository, &parts.modules, &shared.modules))
        .unwrap_or_default();
    let mut collected = PluginMetrics::default();
    if let Some(plugins) = request.plugins {
        let extras = external_measurements(joules, before);
        let metrics = parts.measure(&request.scoring.profile, &extras);
        collected = plugins.collect(&plugin_input(request, &metrics, &parts.cells, before))?;
    }
    let PluginMetrics { metrics, predictions, warnings } = collected;
    let custom = metrics.into_iter().collect();
    let warnings = warnings.into_iter().map(RunWarning::Plugin).collect();
    Ok((CollectedExtras { joules, custom, predictions, text_synergy }, warnings))
}

/// By cell; boxed because they are large.
pub(super) type CellTallies = BTreeMap<CellIndex, Box<CallTally>>;

/// The data that metrics are computed from.
#[derive(Debug)]
pub(super) struct MeasuringData {
    scenarios: Vec<MeasuredScenario>,
    pub modules: Vec<ModuleFacts>,
    cells: Vec<TalliedCell>,
    failures: Vec<ConfirmedFailure>,
}

impl MeasuringData {
    pub(super) fn collect(
        request: &RunRequest<'_>,
        plan: &CyclePlan<'_>,
        result: &CycleResult,
        tallies: CellTallies,
    ) -> Self {
        Self {
            scenarios: measured_scenarios(plan, result),
            modules: module_facts(request, plan),
            cells: tallied_cells(plan, result, tallies),
            failures: counted_failures(result),
        }
    }

    /// The parts of a cycle, with data of earlier cycles. A module that needs a package which is
    /// not installed is left out.
    pub(super) fn collect_measurable(
        request: &RunRequest<'_>,
        plan: &CyclePlan<'_>,
        result: &CycleResult,
        tallies: CellTallies,
        before: &Tracker,
    ) -> Self {
        let mut parts = Self::collect(request, plan, result, tallies);
        let failures = result.import_failures.iter().filter(|failure| failure.missing.is_some());
        let unmeasured: BTreeSet<&str> = failures.map(|failure| failure.module.as_str()).collect();
        parts.cells.retain(|cell| !unmeasured.contains(cell.section.path()));
        parts.modules.retain(|module| !unmeasured.contains(module.path.as_str()));
        for module in &mut parts.modules {
            module.source_change_size = before.source_change_size(module);
        }
        parts
    }

    pub(super) fn measure(
        &self,
        profile: &RoiProfile,
        extras: &ExternalMeasurements,
    ) -> CycleMetrics {
        measure_cycle(&MeasuringInput {
            scenarios: &self.scenarios,
            modules: &self.modules,
            cells: &self.cells,
            failures: &self.failures,
            prices: profile.prices(),
            budget: profile.budget(),
            extras,
        })
    }
}

fn plugin_input(
    request: &RunRequest<'_>,
    metrics: &CycleMetrics,
    cells: &[TalliedCell],
    before: &Tracker,
) -> PluginInput {
    let history = before.history();
    let call_count: u64 = cells.iter().map(|cell| cell.tally.calls).sum();
    let cpu_ns: u64 = cells.iter().map(|cell| cell.tally.cpu_ns).sum();
    let resources =
        [("calls".to_owned(), call_count as f64), ("cpu".to_owned(), cpu_ns as f64 / 1e9)];
    PluginInput {
        prev_roi: history.roi_history.last().copied().unwrap_or_default(),
        roi: compute_roi(&request.scoring.profile, &metrics.run).map_or(0.0, |roi| roi.value),
        resources: Some(BTreeMap::from(resources)),
        history: MetricHistory {
            metrics: history.metrics_history.clone(),
            roi: history.roi_history.clone(),
            predicted: prefer_plugin_series(&history.predicted_metrics),
            actual: prefer_plugin_series(&history.actual_metrics),
        },
        seed: request.seed.0,
    }
}

/// A plugin that forecasts a metric gets its own forecasts under the metric's name.
fn prefer_plugin_series(series: &BTreeMap<String, Vec<f64>>) -> BTreeMap<String, Vec<f64>> {
    let mut preferred = series.clone();
    for (name, values) in series {
        if let Some(metric) = name.strip_prefix(PLUGIN_PREFIX) {
            preferred.remove(name);
            preferred.insert(metric.to_owned(), values.clone());
        }
    }
    preferred
}

fn measured_scenarios(plan: &CyclePlan<'_>, result: &CycleResult) -> Vec<MeasuredScenario> {
    let mut scenarios: Vec<MeasuredScenario> =
        plan.scenarios.iter().map(measured_scenario).collect();
    for (number, ms) in &result.round_trips {
        scenarios[*number].round_trip_ms = Some(*ms);
    }
    scenarios
}

fn measured_scenario(planned: &PlannedScenario) -> MeasuredScenario {
    let has_faults = !planned.preset.failure_modes().is_empty() || planned.has_own_inputs;
    MeasuredScenario {
        name: planned.name.clone(),
        severity: planned.severity,
        is_baseline: planned.is_baseline,
        is_adverse: !planned.is_baseline && has_faults,
        round_trip_ms: None,
    }
}

/// How adverse a scenario is: 0 for the baseline, 1 for high severity, else the preset's threat
/// intensity.
fn stress(scenario: &PlannedScenario) -> f64 {
    match scenario.severity {
        _ if scenario.is_baseline => 0.0,
        Some(ScenarioSeverity::High) => 1.0,
        Some(ScenarioSeverity::Low) | None => scenario.preset.threat_intensity(),
    }
}

/// The failure under its scenario without severity: `hostile_input:high` counts as `hostile_input`.
fn confirmed_failure(failure: &Failure) -> ConfirmedFailure {
    let mut confirmed = ConfirmedFailure::from(failure);
    if let Some((name, _)) = failure.scenario.rsplit_once(':') {
        name.clone_into(&mut confirmed.scenario);
    }
    confirmed
}

/// The failures that metrics count. How far the depth phase came before the deadline must not move
/// them: when it was cut short, its failures do not count.
fn counted_failures(result: &CycleResult) -> Vec<ConfirmedFailure> {
    let counts = |id: &FailureId| {
        result.depth != DepthCompletion::Cut || !result.beyond_breadth.contains(id)
    };
    let counted = result.failures.iter().filter(|(id, _)| counts(id));
    counted.map(|(_, counted)| confirmed_failure(&counted.failure)).collect()
}

/// All cells in a fixed order, imports first.
fn tallied_cells(
    plan: &CyclePlan<'_>,
    result: &CycleResult,
    tallies: CellTallies,
) -> Vec<TalliedCell> {
    let imports = result.imports.iter();
    let mut cells: Vec<TalliedCell> = imports
        .map(|(section, tally)| TalliedCell {
            section: section.clone(),
            scenario: 0,
            tally: tally.clone(),
        })
        .collect();
    cells.extend(tallies.into_iter().map(|(CellIndex { section, scenario }, tally)| TalliedCell {
        section: plan.sections[section].section.id.clone(),
        scenario,
        tally: *tally,
    }));
    // Lines that the depth phase reached count for the first cell of their file, unless the phase
    // was cut short.
    if result.depth == DepthCompletion::Complete {
        let mut firsts: BTreeMap<String, usize> = BTreeMap::new();
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.scenario == 0) {
            firsts.entry(cell.section.path().to_owned()).or_insert(at);
        }
        for (file, lines) in &result.reached_lines {
            if let Some(&at) = firsts.get(file) {
                cells[at].tally.reached_lines.entry(file.clone()).or_default().merge(lines);
            }
        }
    }
    cells
}

/// Static facts of the modules in the plan.
fn module_facts(request: &RunRequest<'_>, plan: &CyclePlan<'_>) -> Vec<ModuleFacts> {
    let mut lines: BTreeMap<&SectionId, &Vec<u32>> = BTreeMap::new();
    let mut planned: BTreeSet<&str> = BTreeSet::new();
    for planned_section in &plan.sections {
        lines.insert(&planned_section.section.id, &planned_section.hints.lines);
        planned.insert(&planned_section.module.path);
    }
    let mut facts = ModuleFacts::from_reports(&request.analysis.modules, &request.scoring.impact);
    facts.retain(|module| planned.contains(module.path.as_str()));
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

fn line_coverage(
    modules: &[ModuleFacts],
    cells: &[TalliedCell],
    beyond_cells: &BTreeMap<String, LineRanges>,
) -> f64 {
    let mut reached: BTreeMap<&str, LineRanges> =
        beyond_cells.iter().map(|(file, lines)| (file.as_str(), lines.clone())).collect();
    for cell in cells {
        for (file, lines) in &cell.tally.reached_lines {
            reached.entry(file).or_default().merge(lines);
        }
    }
    let mut line_count = 0_usize;
    let mut reached_count = 0_usize;
    for module in modules {
        let lines = module.sections.iter().filter_map(|section| section.lines.as_ref()).flatten();
        let own = reached.get(module.path.as_str());
        for line in lines {
            line_count += 1;
            reached_count += usize::from(own.is_some_and(|own| own.contains(*line)));
        }
    }
    if line_count == 0 { 0.0 } else { reached_count as f64 / line_count as f64 }
}

/// 0 for no values.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

/// The processor's energy counter, where it may be read.
#[derive(Debug)]
pub(super) struct EnergyMeter(Option<u64>);

impl EnergyMeter {
    const FILE: &'static str = "/sys/class/powercap/intel-rapl:0/energy_uj";

    pub(super) fn start() -> Self {
        Self(Self::read(Path::new(Self::FILE)))
    }

    /// Joules since the start; none without a counter, or when it has wrapped around.
    pub(super) fn stop(self) -> Option<f64> {
        let now = Self::read(Path::new(Self::FILE))?;
        now.checked_sub(self.0?).map(|micro| micro as f64 / 1e6)
    }

    #[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
    fn read(file: &Path) -> Option<u64> {
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    }
}
