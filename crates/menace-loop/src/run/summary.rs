//! Reduces each cycle to what the report needs, and makes the report of all of them.
//!
//! Invariant: the summary is built once, after the last cycle.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use menace_model::{FailureId, SectionId, TargetKind, Verdict};
use menace_scenario::preset::{MissingScenariosError, Preset, find_scenario_gaps};
use menace_store::{
    CoverageReport, DecisionReport, FailureReport, ImportFailureReport, ModuleScoreReport,
    REPORT_VERSION, RunReport, RunStatus, RunWriter, ScenarioReport, SkippedStage,
    SkippedStageReport, UncallableSectionReport,
};
use menace_track::{Risk, ScoredMetrics};

use super::decide::{CycleDecisions, PilotResults};
use super::history::{LeftOutModule, ModuleScore};
use super::measure::CycleMeasurement;
use super::persist::{metric_map, module_risks};
use super::score::CycleEvaluation;
use super::{RunError, RunRequest};
use crate::cycle::{
    CountedFailure, CyclePlan, CycleResult, ImportFailure, MissingPackage, SkippedWork,
    only_first_is_baseline,
};

/// The cycles of a run that are over.
#[derive(Debug, Default)]
pub(super) struct FinishedCycles {
    totals: Vec<CycleTotals>,
    last: Option<CycleDetails>,
    /// Failures of earlier runs that a run without any section has checked.
    pub rechecked: Vec<FailureReport>,
    /// Cycles that the deadline left no time for.
    pub skipped: usize,
}

/// The part of a cycle that is added up in the run's report.
#[derive(Debug)]
struct CycleTotals {
    sections: Vec<SectionId>,
    called: BTreeSet<SectionId>,
    uncallable_sections: BTreeMap<SectionId, String>,
    import_failures: Vec<ImportFailure>,
    missing_packages: BTreeSet<MissingPackage>,
    calls: u64,
    timing_calls: u64,
    verdicts: BTreeMap<Verdict, u64>,
    failures: Vec<FailureReport>,
    skipped_stages: Vec<(SkippedStage, SkippedWork)>,
    converged_modules: BTreeSet<String>,
}

/// The part of the last cycle that the report shows.
#[derive(Debug)]
struct CycleDetails {
    evaluation: CycleEvaluation,
    risks: Vec<Risk>,
    line_coverage: f64,
    /// Calls by scenario name.
    scenario_calls: BTreeMap<String, u64>,
    shared_run_failures: Vec<String>,
    decisions: DecisionReport,
}

/// A cycle without its cells.
#[derive(Debug)]
pub(super) struct FinishedCycle {
    totals: CycleTotals,
    details: CycleDetails,
    /// Further cycles of this run would not change its numbers.
    pub has_converged: bool,
}

/// A cycle that is measured, decided on and stored.
#[derive(Debug)]
pub(super) struct ScoredCycle {
    /// The result without its cells, which the measurement has.
    pub result: CycleResult,
    pub measurement: CycleMeasurement,
    pub evaluation: CycleEvaluation,
    pub decisions: CycleDecisions,
}

impl ScoredCycle {
    /// Fails unless every module was called under every canonical scenario.
    pub(super) fn check_scenarios(
        &self,
        plan: &CyclePlan<'_>,
        request: &RunRequest<'_>,
    ) -> Result<(), RunError> {
        let called = self.measurement.cells.iter().filter(|cell| cell.tally.calls > 0);
        let mut scenarios: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for cell in called {
            scenarios.entry(cell.section.path()).or_default().insert(cell.scenario);
        }
        let called = scenarios.iter().flat_map(|(path, scenarios)| {
            scenarios.iter().map(|&scenario| (*path, &plan.scenarios[scenario].preset))
        });
        let called: Vec<(&str, &Preset)> = called.collect();
        let failed = &self.result.import_failures;
        let modules: BTreeSet<&str> = plan
            .sections
            .iter()
            .filter(|planned| planned.target.kind != TargetKind::Module)
            .map(|planned| planned.module.path.as_str())
            .filter(|path| failed.iter().all(|failure| failure.module != *path))
            .collect();
        let gaps = find_scenario_gaps(modules, &called, request.presets.profiles)?;
        if gaps.is_empty() { Ok(()) } else { Err(MissingScenariosError(gaps).into()) }
    }

    /// Reduces the cycle to the parts that the report needs, since its cells are too many to keep.
    pub(super) fn reduce(self, plan: &CyclePlan<'_>, writer: &RunWriter) -> FinishedCycle {
        let Self { result, measurement, evaluation, decisions } = self;
        let sections = plan.sections.iter().map(|planned| planned.section.id.clone());
        let uncallable = plan.uncallable.iter().map(|one| one.section.clone());
        let cells = measurement.cells.iter();
        let totals = CycleTotals {
            sections: sections.chain(uncallable).collect(),
            uncallable_sections: find_uncallable_sections(plan, &result),
            called: cells.map(|cell| &cell.section).chain(result.imports.keys()).cloned().collect(),
            import_failures: result.import_failures,
            missing_packages: result.missing_packages,
            calls: result.calls,
            timing_calls: result.timing_calls,
            verdicts: result.verdicts,
            failures: report_failures(&result.failures, writer),
            skipped_stages: result.skipped_stages,
            converged_modules: decisions.converged_modules.clone(),
        };
        let has_converged = decisions.has_converged;
        let mut scenario_calls: BTreeMap<String, u64> = BTreeMap::new();
        for cell in measurement.cells.iter().filter(|cell| cell.tally.calls > 0) {
            let name = &plan.scenarios[cell.scenario].name;
            *scenario_calls.entry(name.clone()).or_default() += cell.tally.calls;
        }
        let shared_run_failures = result.shared_run.map(|shared| shared.failures);
        let details = CycleDetails {
            decisions: decisions.into_report(&evaluation.predictions),
            evaluation,
            risks: measurement.risks,
            line_coverage: measurement.line_coverage,
            scenario_calls,
            shared_run_failures: shared_run_failures.unwrap_or_default(),
        };
        FinishedCycle { totals, details, has_converged }
    }
}

/// Why sections of the plan could not be called.
fn find_uncallable_sections(
    plan: &CyclePlan<'_>,
    result: &CycleResult,
) -> BTreeMap<SectionId, String> {
    let uncallable = plan.uncallable.iter().map(|one| (one.section.clone(), one.why.clone()));
    let mut uncallable_sections: BTreeMap<SectionId, String> = uncallable.collect();
    for failure in &result.import_failures {
        let sections = plan.sections.iter().filter(|one| one.module.path == failure.module);
        for planned in sections.filter(|one| one.section.id != failure.section) {
            let why = format!("its module cannot be imported: {}", failure.why);
            uncallable_sections.insert(planned.section.id.clone(), why);
        }
    }
    uncallable_sections
}

impl FinishedCycles {
    pub(super) fn push(&mut self, cycle: FinishedCycle) {
        self.totals.push(cycle.totals);
        self.last = Some(cycle.details);
    }

    /// `None` if no cycle called anything.
    pub(super) fn last_evaluation(&self) -> Option<&CycleEvaluation> {
        self.last.as_ref().map(|last| &last.evaluation)
    }

    /// Removes the modules that the last cycle called before they were flagged.
    pub(super) fn retain_uncalled(&self, mut modules: Vec<LeftOutModule>) -> Vec<LeftOutModule> {
        modules.retain(|module| {
            let scored =
                self.last_evaluation().and_then(|last| last.scores.modules.get(&module.path));
            scored.and_then(ScoredMetrics::roi_value).is_none()
        });
        modules
    }
}

/// All cycles of a run together.
#[derive(Debug, Default)]
pub(super) struct RunSummary {
    cycles: usize,
    sections: BTreeSet<SectionId>,
    called: BTreeSet<SectionId>,
    uncallable_sections: BTreeMap<SectionId, String>,
    /// By module.
    import_failures: BTreeMap<String, ImportFailure>,
    missing_packages: BTreeSet<MissingPackage>,
    calls: u64,
    timing_calls: u64,
    verdicts: BTreeMap<Verdict, u64>,
    /// By id of the failure.
    failures: BTreeMap<String, FailureReport>,
    skipped_stages: BTreeMap<SkippedStage, SkippedWork>,
    converged_modules: BTreeSet<String>,
    last: Option<CycleDetails>,
}

/// Data that is known only when the run is over.
#[derive(Debug)]
pub(super) struct RunEnding {
    pub elapsed: Duration,
    pub warnings: Vec<String>,
    pub left_out: Vec<LeftOutModule>,
    pub borderline: PilotResults,
}

impl RunSummary {
    pub(super) fn from_cycles(finished: FinishedCycles) -> Self {
        let FinishedCycles { totals, last, rechecked, skipped } = finished;
        let mut summary = Self { cycles: totals.len(), last, ..Self::default() };
        for cycle in totals {
            summary.sections.extend(cycle.sections);
            summary.called.extend(cycle.called);
            summary.uncallable_sections.extend(cycle.uncallable_sections);
            let failures = cycle.import_failures.into_iter();
            summary.import_failures.extend(failures.map(|one| (one.module.clone(), one)));
            summary.missing_packages.extend(cycle.missing_packages);
            summary.calls += cycle.calls;
            summary.timing_calls += cycle.timing_calls;
            for (verdict, count) in cycle.verdicts {
                *summary.verdicts.entry(verdict).or_default() += count;
            }
            summary.add_failures(cycle.failures);
            for (stage, skipped) in cycle.skipped_stages {
                summary.add_skipped(stage, skipped);
            }
            summary.converged_modules.extend(cycle.converged_modules);
        }
        summary.add_failures(rechecked);
        summary.add_skipped(SkippedStage::Cycles, SkippedWork::from_count(skipped));
        summary
    }

    fn add_failures(&mut self, failures: Vec<FailureReport>) {
        for failure in failures {
            match self.failures.entry(failure.id.clone()) {
                Entry::Vacant(free) => drop(free.insert(failure)),
                Entry::Occupied(mut entry) => {
                    let kept = entry.get_mut();
                    let count = kept.count + failure.count;
                    if only_first_is_baseline(&failure.scenario, &kept.scenario) {
                        *kept = failure;
                    }
                    kept.count = count;
                }
            }
        }
    }

    /// Adds work that the deadline did not leave time for.
    fn add_skipped(&mut self, stage: SkippedStage, skipped: SkippedWork) {
        if skipped.count > 0 {
            self.skipped_stages.entry(stage).or_default().add(skipped);
        }
    }

    pub(super) fn into_report(self, request: &RunRequest<'_>, ending: RunEnding) -> RunReport {
        let RunEnding { elapsed, warnings, left_out, borderline } = ending;
        let called = self.called.iter().filter(|id| self.sections.contains(*id)).count();
        let has_skipped_nothing = self.skipped_stages.is_empty();
        let unparsable = request.analysis.modules.iter().filter_map(|module| {
            let error = module.error.as_ref().filter(|_| request.sections.has_module(module))?;
            let line = error.line.map_or(String::new(), |line| format!("line {line}: "));
            let why = format!("{line}{}", error.reason);
            Some(ImportFailureReport { module: module.path.clone(), reason: why, missing: None })
        });
        let import_failures = self.import_failures.into_values().map(
            |ImportFailure { module, why, missing, .. }| ImportFailureReport {
                module,
                reason: why,
                missing,
            },
        );
        let missing_packages = self.missing_packages.into_iter().map(missing_package);
        let uncallable_sections = self.uncallable_sections.into_iter();
        let mut report = RunReport {
            version: REPORT_VERSION,
            run_id: request.id.0.clone(),
            status: if has_skipped_nothing { RunStatus::Finished } else { RunStatus::CutShort },
            seed: request.seed.0,
            elapsed_s: elapsed.as_secs_f64(),
            cycles: self.cycles,
            sections: self.sections.len(),
            calls: self.calls,
            timing_calls: self.timing_calls,
            coverage: CoverageReport { called, uncallable: uncallable_sections.len(), lines: 0.0 },
            verdicts: self.verdicts,
            roi: None,
            roi_delta: None,
            scenarios: Vec::new(),
            modules: Vec::new(),
            failures: sort_failures(self.failures),
            worst_scenario: None,
            synergy: BTreeMap::new(),
            discrepancies: Vec::new(),
            not_importable: import_failures.chain(missing_packages).chain(unparsable).collect(),
            uncallable_sections: uncallable_sections
                .map(|(section, why)| UncallableSectionReport { section, reason: why })
                .collect(),
            skipped_stages: self.skipped_stages.into_iter().map(skipped_stage).collect(),
            warnings,
            decisions: None,
        };
        if let Some(last) = self.last {
            add_last_cycle(&mut report, last, &self.converged_modules, borderline);
        }
        report.modules.extend(left_out.into_iter().filter_map(left_out_module));
        report
    }
}

/// The failures of a cycle, with their numbers of occurrences.
pub(super) fn report_failures(
    failures: &BTreeMap<FailureId, CountedFailure>,
    writer: &RunWriter,
) -> Vec<FailureReport> {
    let reports = failures.iter().map(|(id, CountedFailure { failure, occurrences })| {
        FailureReport::new(failure, *occurrences, writer.is_new(id))
    });
    reports.collect()
}

/// New ones first, then by section.
fn sort_failures(failures: BTreeMap<String, FailureReport>) -> Vec<FailureReport> {
    let mut reports: Vec<FailureReport> = failures.into_values().collect();
    reports.sort_by(|one, other| {
        let order = |failure: &FailureReport| (!failure.new, failure.section.clone());
        order(one).cmp(&order(other)).then_with(|| one.id.cmp(&other.id))
    });
    reports
}

/// A module that can be imported while some of its functions import a missing package.
fn missing_package(MissingPackage { module, package }: MissingPackage) -> ImportFailureReport {
    let why = format!("ModuleNotFoundError: No module named '{package}', which functions import");
    ImportFailureReport { module, reason: why, missing: Some(package) }
}

fn skipped_stage((kind, skipped): (SkippedStage, SkippedWork)) -> SkippedStageReport {
    let SkippedWork { count, ids } = skipped;
    SkippedStageReport { kind, count, ids: ids.into_iter().collect() }
}

fn left_out_module(LeftOutModule { path, last_score }: LeftOutModule) -> Option<ModuleScoreReport> {
    let ModuleScore { roi, raroi } = last_score?;
    Some(ModuleScoreReport {
        path,
        roi,
        roi_delta: None,
        raroi,
        metrics: BTreeMap::new(),
        risk_flags: Vec::new(),
        flagged: true,
    })
}

fn add_last_cycle(
    report: &mut RunReport,
    last: CycleDetails,
    converged_modules: &BTreeSet<String>,
    borderline: PilotResults,
) {
    let scores = &last.evaluation.scores;
    report.coverage.lines = last.line_coverage;
    report.roi = scores.run.roi_value();
    report.roi_delta = scores.run.roi_delta;
    let scenarios = scores.scenarios.iter().filter_map(|(name, scored)| {
        Some(ScenarioReport {
            name: name.clone(),
            roi: scored.roi_value()?,
            roi_delta: scored.roi_delta,
            calls: last.scenario_calls.get(name).copied().unwrap_or_default(),
            metrics: metric_map(&scored.metrics),
        })
    });
    report.scenarios = scenarios.collect();
    if report.scenarios.len() > 1 {
        report.worst_scenario = scores.worst_scenario().map(str::to_owned);
    }
    let modules = scores.modules.iter().filter_map(|(path, scored)| {
        Some(ModuleScoreReport {
            path: path.clone(),
            roi: scored.roi_value()?,
            roi_delta: scored.roi_delta,
            raroi: scored.raroi?,
            metrics: metric_map(&scored.metrics),
            risk_flags: module_risks(&last.risks, path).into_iter().map(describe_risk).collect(),
            flagged: converged_modules.contains(path),
        })
    });
    report.modules = modules.collect();
    report.modules.sort_by(|one, other| {
        one.raroi.total_cmp(&other.raroi).then_with(|| one.path.cmp(&other.path))
    });
    if let Some(synergy) = &scores.synergy {
        report.synergy = metric_map(&synergy.metrics);
    }
    let discrepancies = last.evaluation.discrepancies.iter();
    let discrepancies = discrepancies.map(|one| format!("{}: {}", one.subject, one.sentence));
    report.discrepancies = last.shared_run_failures.into_iter().chain(discrepancies).collect();
    report.decisions = Some(DecisionReport {
        borderline: borderline.modules,
        borderline_evidence: borderline.evidence,
        ..last.decisions
    });
}

/// `add: 2 of 8 calls went wrong`.
fn describe_risk(risk: &Risk) -> String {
    let reasons = risk.reasons.join("; ");
    match &risk.section {
        Some(section) => format!("{}: {reasons}", section.qualname()),
        None => reasons,
    }
}
