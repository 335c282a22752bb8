//! The cycles of a run, one after the other: call → measure → append → decide → persist.
//!
//! Each step receives values and returns values and warnings; the loop passes them on, and is
//! the only place that collects warnings. The summary is built once, after the last cycle.

use std::collections::BTreeSet;
use std::time::Instant;

use menace_model::{AnalyzedModule, Section, Seed, now_ms};
use menace_store::{RunEndRecord, RunReport, RunWriter};
use menace_track::stats::cold_start::ColdStartCurves;
use menace_track::{Tracker, comparison};

use super::decide::{DecisionInput, DecisionModels, test_borderline_modules};
use super::engine::CycleEngine;
use super::history::HistoryStore;
use super::known_failures::{KnownFailures, RecheckedFailure};
use super::measure::{self, CellTallies, EnergyMeter, MeasuringData};
use super::persist::{DecidedCycle, MetricArchive};
use super::presets;
use super::recorder::RunRecorder;
use super::score::{CycleEntry, build_comparison_key};
use super::signatures::SectionSignatures;
use super::summary::{
    FinishedCycle, FinishedCycles, RunEnding, RunSummary, ScoredCycle, report_failures,
};
use super::warnings::{RunWarning, WarningLog};
use super::{RunError, RunRequest};
use crate::assess::{FindingAssessor, LiftedFinding};
use crate::cycle::{CycleOptions, CyclePlan, CycleResult, RunEvent, RunObserver, SectionFilter};
use crate::failure::{has_faults, without_faults};

pub(super) struct CycleLoop<'s> {
    pub request: &'s RunRequest<'s>,
    pub engine: CycleEngine<'s>,
    /// `None` where findings are not assessed.
    pub assessor: Option<FindingAssessor<'s>>,
    pub known: KnownFailures,
    pub cold_start_curves: ColdStartCurves,
    pub history: HistoryStore,
    pub archive: MetricArchive,
    pub writer: RunWriter,
    pub observer: &'s mut dyn RunObserver,
    pub warnings: WarningLog,
}

/// The calls of a cycle, before they are measured.
struct MadeCalls {
    /// The result without its cells.
    result: CycleResult,
    /// Apart, since measuring takes them: they are too large to have twice.
    tallies: CellTallies,
    /// The energy that they took, where it can be measured.
    joules: Option<f64>,
}

impl CycleLoop<'_> {
    /// Runs cycles until all are done, the numbers have converged or the time is up.
    pub(super) fn run_cycles(&mut self) -> Result<FinishedCycles, RunError> {
        let mut finished = FinishedCycles::default();
        let cycles = self.request.cycles;
        for cycle in 0..cycles {
            let Some(done) = self.run_cycle(cycle)? else {
                if cycle == 0 {
                    // A run that has no section to call.
                    let mut result = CycleResult::default();
                    self.recheck_known(&mut result)?;
                    finished.rechecked = report_failures(&result.failures, &self.writer);
                }
                break;
            };
            let has_converged = done.has_converged;
            finished.push(done);
            let remaining = cycles - cycle - 1;
            if self.engine.runner.is_late() {
                finished.skipped = remaining as usize;
                break;
            }
            if has_converged && remaining > 0 {
                self.warn([RunWarning::RunConverged { cycle: cycle + 1, cycles }]);
                break;
            }
        }
        Ok(finished)
    }

    /// Runs a cycle. None when no section is left for it.
    fn run_cycle(&mut self, cycle: u32) -> Result<Option<FinishedCycle>, RunError> {
        let request = self.request;
        let (flagged, warnings) = self.history.flagged_modules(request.repository)?;
        self.warn(warnings);
        let filter = UnflaggedFilter { sections: request.sections, flagged: &flagged };
        let presets = presets::for_cycle(request.presets, cycle)?;
        // Cells have the same inputs in every cycle: only the code changes their numbers.
        let plan = self.engine.plan(presets, request.seed, &filter)?;
        if plan.sections.is_empty() {
            return Ok(None);
        }
        let made = self.make_calls(cycle, &plan)?;
        let comparison_key =
            build_comparison_key(request, &made.result, &left_out_modules(request, &flagged));
        let scored = self.evaluate_and_store(cycle, &plan, &filter, made, &comparison_key)?;
        if request.settings.presets.fail_on_missing_scenarios.value {
            scored.check_scenarios(&plan, request)?;
        }
        Ok(Some(scored.reduce(&plan, &self.writer)))
    }

    /// Makes the calls of a cycle.
    fn make_calls(&mut self, cycle: u32, plan: &CyclePlan<'_>) -> Result<MadeCalls, RunError> {
        let request = self.request;
        self.writer.record_cycles(cycle + 1)?;
        self.observer.on_event(RunEvent::PlanMade { sections: plan.sections.len() });
        let options = CycleOptions {
            calls_per_cell: request.calls_per_cell,
            depth: request.depth,
            seed: depth_seed(request.seed, cycle),
            input_settings: request.input_settings,
        };
        let cancel = request.cancel.clone();
        let mut recorder = RunRecorder::new(&self.writer, self.observer, cycle, cancel);
        let meter = EnergyMeter::start();
        let result = self.engine.make_calls(plan, &options, &mut recorder);
        if let Some(error) = recorder.error.take() {
            return Err(error.into());
        }
        let mut result = result?;
        if cycle == 0 {
            self.recheck_known(&mut result)?;
        }
        self.assess_findings(&mut result)?;
        let tallies = std::mem::take(&mut result.cells);
        Ok(MadeCalls { result, tallies, joules: meter.stop() })
    }

    /// Measures a cycle, appends it to the history, decides on it and stores it.
    fn evaluate_and_store(
        &mut self,
        cycle: u32,
        plan: &CyclePlan<'_>,
        filter: &UnflaggedFilter<'_>,
        made: MadeCalls,
        comparison_key: &str,
    ) -> Result<ScoredCycle, RunError> {
        let request = self.request;
        let MadeCalls { result, tallies, joules } = made;
        // Plugins may be slow: they get a copy of the history, so that other runs need not wait.
        let (before, warnings) = self.history.read()?;
        self.warn(warnings);
        let mut compared = before.clone();
        comparison::remove_incomparable(&mut compared, comparison_key);
        let compared = Tracker::new(compared);
        let parts = MeasuringData::collect_measurable(request, plan, &result, tallies, &compared);
        let shared_run = result.shared_run.as_ref();
        let (extras, warnings) =
            measure::collect_extras(request, &parts, shared_run, joules, &compared)?;
        self.warn(warnings);
        let measurement = measure::measure(request, plan, &result, parts, extras, &compared);
        let entry = CycleEntry {
            profile: &request.scoring.profile,
            plan,
            measurement: &measurement,
            signatures: &SectionSignatures::new(&request.analysis.modules, filter),
            shared_run,
            comparison_key,
            is_breadth_complete: result.is_breadth_complete,
        };
        let (evaluation, mut history, warnings) =
            self.history.update(&before, |tracker| entry.append(tracker))?;
        self.warn(warnings);
        comparison::remove_incomparable(&mut history, comparison_key);
        let (models, warnings) = DecisionModels::load(request.data_dir)?;
        self.warn(warnings);
        let input = DecisionInput {
            request,
            cold_start_curves: &self.cold_start_curves,
            at_ms: now_ms(),
            cycle,
            comparison_key,
            measurement: &measurement,
            evaluation: &evaluation,
        };
        let (decisions, _) =
            self.history.with_tracker(history, |tracker| input.decide(tracker, &models));
        let decisions = decisions?;
        let decided = DecidedCycle { input, plan, result: &result, decisions: &decisions };
        let warnings =
            decided.persist(&models, &mut self.history, &mut self.archive, &self.writer)?;
        self.warn(decisions.warnings.iter().cloned());
        self.warn(warnings);
        Ok(ScoredCycle { result, measurement, evaluation, decisions })
    }

    /// Proves, lifts and rates the findings of a cycle.
    fn assess_findings(&mut self, result: &mut CycleResult) -> Result<(), RunError> {
        let Some(assessor) = &self.assessor else { return Ok(()) };
        self.remove_needless_faults(result)?;
        let found = result.failures.values().map(|counted| &counted.failure);
        for LiftedFinding { failure, chain } in assessor.lift(found, self.engine.runner)? {
            tracing::debug!(section = %failure.section, ?chain, "an internal finding was lifted");
            self.writer.record_failure(&failure, now_ms(), 1)?;
            self.observer.on_event(RunEvent::FindingConfirmed(&failure));
            result.add_failure_beyond_breadth(failure, 1);
        }
        let found = result.failures.values().map(|counted| &counted.failure);
        for (id, assessment) in assessor.assess(found, self.engine.runner)? {
            self.writer.record_assessment(id.clone(), &assessment)?;
            result.failures.entry(id).and_modify(|one| one.assessment = Some(assessment));
        }
        Ok(())
    }

    /// Replaces the calls of failures that also show without the faults under which they were
    /// found.
    fn remove_needless_faults(&self, result: &mut CycleResult) -> Result<(), RunError> {
        let RunRequest { backend, analysis, cancel, deadline, .. } = self.request;
        let found = result.failures.values_mut();
        for counted in found.filter(|one| has_faults(&one.failure.call)) {
            if deadline.is_some_and(|end| Instant::now() >= end) {
                break;
            }
            let failure = &counted.failure;
            if let Some(plain) = without_faults(failure, *backend, analysis, cancel, *deadline)? {
                self.writer.record_failure(&plain, now_ms(), 0)?;
                counted.failure = plain;
            }
        }
        Ok(())
    }

    /// Adds the open failures of earlier runs that this run has not found: with one occurrence
    /// where the rerun still shows it, with none where there was no time for one.
    fn recheck_known(&mut self, result: &mut CycleResult) -> Result<(), RunError> {
        for rechecked in self.known.recheck(self.request, &result.failures) {
            match rechecked? {
                RecheckedFailure::Still(failure) => {
                    self.writer.record_failure(&failure, now_ms(), 1)?;
                    self.observer.on_event(RunEvent::FindingConfirmed(&failure));
                    result.add_failure_beyond_breadth(failure, 1);
                }
                RecheckedFailure::Unchecked(failure) => {
                    result.add_failure_beyond_breadth(failure, 0);
                }
                RecheckedFailure::Gone(id) => self.writer.mark_failure_gone(id, now_ms())?,
            }
        }
        Ok(())
    }

    /// Tests the modules on the border of a decision, and stores the report of the run.
    pub(super) fn finish(
        mut self,
        finished: FinishedCycles,
        started: Instant,
    ) -> Result<RunReport, RunError> {
        let request = self.request;
        let borderline =
            test_borderline_modules(self.engine, &self.history, finished.last_evaluation())?;
        self.warn(borderline.warnings.iter().cloned());
        if finished.last_evaluation().is_none() {
            // A run without calls has no decisions in which to report them.
            self.warn(borderline.modules.iter().map(|entry| RunWarning::Borderline {
                module: entry.module.clone(),
                status: entry.status,
            }));
        }
        let (left_out, warnings) = self.history.left_out_modules(request)?;
        self.warn(warnings);
        let left_out = finished.retain_uncalled(left_out);
        if !left_out.is_empty() {
            self.warn([RunWarning::ModulesLeftOut(left_out.len())]);
        }
        let warnings = self.warnings.into_texts();
        let ending = RunEnding { elapsed: started.elapsed(), warnings, left_out, borderline };
        let report = RunSummary::from_cycles(finished).into_report(request, ending);
        self.writer.finish(RunEndRecord {
            status: report.status,
            finished_ms: now_ms(),
            cycles: report.cycles as u32,
            report: serde_json::to_value(&report).unwrap_or_default(),
        })?;
        Ok(report)
    }

    fn warn(&mut self, warnings: impl IntoIterator<Item = RunWarning>) {
        self.warnings.add(warnings, self.observer);
    }
}

/// Modules that are selected, but flagged.
fn left_out_modules<'r>(request: &'r RunRequest<'_>, flagged: &BTreeSet<String>) -> Vec<&'r str> {
    let modules = request.analysis.modules.iter();
    let left_out =
        modules.filter(|one| flagged.contains(&one.path) && request.sections.has_module(one));
    left_out.map(|module| module.path.as_str()).collect()
}

/// The selected sections of modules that are not flagged.
#[derive(Debug)]
struct UnflaggedFilter<'a> {
    sections: &'a dyn SectionFilter,
    flagged: &'a BTreeSet<String>,
}

impl SectionFilter for UnflaggedFilter<'_> {
    fn has_module(&self, module: &AnalyzedModule) -> bool {
        !self.flagged.contains(&module.path) && self.sections.has_module(module)
    }

    fn has_path(&self, path: &str) -> bool {
        self.sections.has_path(path)
    }

    fn has(&self, module: &AnalyzedModule, section: &Section) -> bool {
        !self.flagged.contains(&module.path) && self.sections.has(module, section)
    }
}

/// Every cycle explores with other inputs; the first one uses the seed of the run, so that runs
/// with one cycle are comparable.
fn depth_seed(seed: Seed, cycle: u32) -> Seed {
    if cycle == 0 { seed } else { seed.derive("cycle").derive_nth(u64::from(cycle)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cycle_has_the_seed_of_the_run() {
        assert_eq!(depth_seed(Seed(7), 0), Seed(7));
        assert_ne!(depth_seed(Seed(7), 1), depth_seed(Seed(7), 2));
    }
}
