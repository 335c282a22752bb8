//! Breadth phase: every section under the baseline first, then under each scenario of its module.
//!
//! Invariant: which calls are made depends on the plan and on outcomes, not on the order in which
//! calls end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use menace_model::{Call, Outcome, TargetKind, Verdict};
use menace_sandbox::{CallJob, SandboxError};
use menace_scenario::input::{CallInput, InputGenerator, LearnedHints, RepositoryFacts};
use menace_scenario::judge::{BaselineOutcome, OracleContext, SectionWeakness};
use menace_track::CallTally;

use super::observer::{CompletedCall, CycleStage, RunEvent, RunObserver};
use super::plan::{CellIndex, CyclePlan, PlannedScenario, PlannedSection};
use super::result::MissingPackage;
use super::triage::{Triage, TriageResult};
use crate::calls::{CallRunner, build_job};
use crate::failure::has_faults;

/// Calls that are planned and made before the next check of the deadline; bounds memory.
const MAX_BATCH_CALLS: usize = 1_024;
/// Further rounds for a section that has not returned yet, with the hints learned meanwhile. Fewer
/// than in the depth phase: cycles are compared by their breadth, which has to fit into the time.
const MAX_RETRY_ROUNDS: usize = 2;
/// After so many timeouts under the baseline, a section has at most so many calls in other cells.
const MAX_TIMEOUTS: usize = 2;
/// Calls of a cell with a concurrency burst: each one is hundreds of runs, and depth adds more.
const MAX_BURST_CALLS: usize = 1;

#[derive(Debug, Clone, Copy)]
pub(super) struct BreadthPhase<'a, 'p> {
    pub plan: &'p CyclePlan<'a>,
    pub facts: &'p RepositoryFacts<'p>,
    pub runner: &'p CallRunner<'p>,
    pub calls_per_cell: usize,
}

/// The results of a section's calls so far.
#[derive(Debug)]
pub(super) struct SectionState<'a> {
    pub oracle_context: OracleContext<'a>,
    pub baseline_calls: Vec<BaselineCall>,
    /// Whether its module cannot be imported, so that the section is not called.
    pub has_failed_import: bool,
    /// Inputs for the baseline were generated; there may be none.
    pub has_baseline_plan: bool,
}

/// An input and its outcome under the baseline.
#[derive(Debug)]
pub(super) struct BaselineCall {
    pub input: CallInput,
    pub outcome: BaselineOutcome,
}

/// A completed call of a cell, after the judge.
#[derive(Debug)]
pub(super) struct EvaluatedCall {
    pub cell: CellIndex,
    /// Position in its cell.
    pub number: usize,
    pub call: Call,
    pub outcome: Outcome,
    pub weakness: Option<SectionWeakness>,
}

/// Planned calls of cells, after the deadline or all of them.
#[derive(Debug, Default)]
struct CellCalls {
    made: Vec<EvaluatedCall>,
    /// Cells with calls that the deadline prevented.
    incomplete: Vec<CellIndex>,
    is_complete: bool,
}

/// The results of the breadth phase, or of one stage of it.
#[derive(Debug, Default)]
pub(super) struct BreadthResult {
    pub cells: BTreeMap<CellIndex, Box<CallTally>>,
    pub incomplete_cells: BTreeSet<CellIndex>,
    pub verdicts: Vec<Verdict>,
    pub missing_packages: BTreeSet<MissingPackage>,
    /// The triage of each batch.
    pub triage: Vec<TriageResult>,
    /// The deadline did not come first.
    pub is_complete: bool,
}

impl BreadthResult {
    /// Adds the calls to the tallies of their cells, and weaknesses to the candidates.
    /// False when the deadline prevented some.
    fn add_calls(
        &mut self,
        plan: &CyclePlan<'_>,
        calls: CellCalls,
        triage: &mut Triage<'_, '_>,
    ) -> bool {
        self.incomplete_cells.extend(calls.incomplete);
        for evaluated in calls.made {
            let EvaluatedCall { cell, call, outcome, weakness, .. } = &evaluated;
            self.verdicts.push(outcome.verdict);
            let tally = self.cells.entry(*cell).or_default();
            // A package that is not installed is no weakness of the section.
            let section = plan.sections[cell.section].section;
            if let Some(missing) = plan.missing_package(section, outcome) {
                self.missing_packages.insert(missing);
                continue;
            }
            tally.add(call, outcome, weakness.is_some());
            triage.add_candidate(&evaluated);
        }
        calls.is_complete
    }
}

/// A call of a cell that is to be made.
struct PlannedCall {
    cell: CellIndex,
    number: usize,
    /// The input of a baseline call, which later scenarios reuse.
    input: Option<CallInput>,
    /// Position of the baseline call with the same input.
    baseline: Option<usize>,
    call: Call,
}

impl<'a> SectionState<'a> {
    pub(super) fn new(planned_section: &PlannedSection<'a>) -> Self {
        Self {
            oracle_context: OracleContext::new(planned_section.section),
            baseline_calls: Vec::new(),
            has_failed_import: false,
            has_baseline_plan: false,
        }
    }

    pub(super) fn has_returned(&self) -> bool {
        self.baseline_calls.iter().any(BaselineCall::has_returned)
    }

    /// The baseline outcome of the same input.
    pub(super) fn baseline_of(&self, call: &Call) -> Option<&BaselineOutcome> {
        let has_same_input = |one: &&BaselineCall| {
            one.input.args == call.args
                && one.input.kwargs == call.kwargs
                && one.input.receiver == call.receiver
        };
        self.baseline_calls.iter().find(has_same_input).map(|one| &one.outcome)
    }

    fn is_slow(&self) -> bool {
        let timeouts =
            self.baseline_calls.iter().filter(|one| one.outcome.verdict == Verdict::TimedOut);
        timeouts.count() >= MAX_TIMEOUTS
    }
}

impl BaselineCall {
    pub(super) fn has_returned(&self) -> bool {
        self.outcome.verdict == Verdict::Returned
    }
}

impl<'a> BreadthPhase<'a, '_> {
    /// Calls every section under the baseline.
    pub(super) fn run_baseline(
        &self,
        section_states: &mut [SectionState<'a>],
        learned_hints: &mut LearnedHints,
        observer: &mut dyn RunObserver,
        triage: &mut Triage<'_, '_>,
    ) -> Result<BreadthResult, SandboxError> {
        let sections = self.order_sections(section_states);
        let calls = sections.len() * self.calls_per_cell;
        observer.on_event(RunEvent::StageBegan { stage: CycleStage::Baseline, calls });
        let mut result = BreadthResult::default();
        for batch in sections.chunks(self.cells_per_batch()) {
            if self.runner.is_late() {
                return Ok(result);
            }
            let mut is_complete = true;
            for round in 0..=MAX_RETRY_ROUNDS {
                let calls =
                    self.call_baseline(batch, round, section_states, learned_hints, observer)?;
                let is_last = calls.made.is_empty();
                is_complete = result.add_calls(self.plan, calls, triage);
                if is_last || !is_complete {
                    break;
                }
            }
            if is_complete {
                let calls = self.repeat_returned(batch, section_states, observer)?;
                is_complete = result.add_calls(self.plan, calls, triage);
            }
            result.triage.push(triage.confirm_candidates(self, section_states, observer)?);
            if !is_complete {
                return Ok(result);
            }
        }
        result.is_complete = true;
        Ok(result)
    }

    fn cells_per_batch(&self) -> usize {
        (MAX_BATCH_CALLS / self.calls_per_cell.max(1)).max(1)
    }

    /// Calls these sections under the baseline; in later rounds those that have not returned yet,
    /// with the hints learned from earlier calls.
    fn call_baseline(
        &self,
        batch: &[usize],
        round: usize,
        section_states: &mut [SectionState<'a>],
        learned_hints: &mut LearnedHints,
        observer: &mut dyn RunObserver,
    ) -> Result<CellCalls, SandboxError> {
        let hints = Arc::new(learned_hints.clone());
        let has_round = |section: &usize| round == 0 || !section_states[*section].has_returned();
        let sections = batch.iter().copied().filter(has_round);
        let generators: BTreeMap<usize, InputGenerator<'_>> = sections
            .map(|section| (section, self.generator_for(section, &self.plan.scenarios[0], &hints)))
            .collect();
        let mut planned = Vec::new();
        for (&section, inputs) in &generators {
            let state = &mut section_states[section];
            self.plan_baseline_calls(section, round, inputs, state, &mut planned);
        }
        self.make(planned, observer, |planned, outcome| {
            let PlannedCall { cell, number, call, input, .. } = planned;
            let state = &mut section_states[cell.section];
            state.oracle_context.record_outcome(&call, &outcome, true);
            let weakness = state.oracle_context.find_weakness(&call, &outcome, None);
            if let (Some(inputs), Some(input)) = (generators.get(&cell.section), input) {
                inputs.record_hints(learned_hints, &input, &outcome);
                let outcome = BaselineOutcome::from(&outcome);
                state.baseline_calls.push(BaselineCall { input, outcome });
            }
            EvaluatedCall { cell, number, call, outcome, weakness }
        })
    }

    /// Repeats one returned call of each section unchanged: the tally compares equal calls.
    fn repeat_returned(
        &self,
        batch: &[usize],
        section_states: &[SectionState<'a>],
        observer: &mut dyn RunObserver,
    ) -> Result<CellCalls, SandboxError> {
        let mut planned = Vec::new();
        for &section in batch {
            let baseline_calls = &section_states[section].baseline_calls;
            let Some(number) = baseline_calls.iter().position(BaselineCall::has_returned) else {
                continue;
            };
            let input = Some(&baseline_calls[number].input);
            let mut call =
                self.plan.sections[section].build_call(&self.plan.scenarios[0], number, input);
            call.coverage = true;
            planned.push(PlannedCall {
                cell: CellIndex { section, scenario: 0 },
                number: baseline_calls.len(),
                input: None,
                baseline: None,
                call,
            });
        }
        let repeated = self.make(planned, observer, |planned, outcome| {
            let PlannedCall { cell, number, call, .. } = planned;
            EvaluatedCall { cell, number, call, outcome, weakness: None }
        })?;
        // Cells are complete without these.
        Ok(CellCalls { incomplete: Vec::new(), ..repeated })
    }

    /// Sections that can be called. Modules that are complex and imported often come first, since
    /// the deadline may cut the rest; sections of one module follow each other, so that its
    /// sandboxes stay warm.
    fn order_sections(&self, section_states: &[SectionState<'_>]) -> Vec<usize> {
        let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
        for planned_section in &self.plan.sections {
            let importers = 1 + planned_section.module.imported_by.len() as u64;
            let weight = weights.entry(&planned_section.module.path).or_default();
            *weight += u64::from(planned_section.section.complexity) * importers;
        }
        let mut sections: Vec<usize> = (0..section_states.len())
            .filter(|&section| !section_states[section].has_failed_import)
            .collect();
        sections.sort_by_key(|&section| {
            let path = self.plan.sections[section].module.path.as_str();
            (Reverse(weights.get(path).copied().unwrap_or_default()), path, section)
        });
        sections
    }

    /// Calls every section under the other scenarios of its module.
    pub(super) fn run_scenarios(
        &self,
        section_states: &mut [SectionState<'a>],
        learned_hints: &LearnedHints,
        observer: &mut dyn RunObserver,
        triage: &mut Triage<'_, '_>,
    ) -> Result<BreadthResult, SandboxError> {
        let hints = Arc::new(learned_hints.clone());
        let cells = self.scenario_cells(section_states);
        let calls = cells.len() * self.calls_per_cell;
        observer.on_event(RunEvent::StageBegan { stage: CycleStage::Scenarios, calls });
        let mut result = BreadthResult::default();
        for batch in cells.chunks(self.cells_per_batch()) {
            if self.runner.is_late() {
                return Ok(result);
            }
            let mut planned = Vec::new();
            for &cell in batch {
                let state = &mut section_states[cell.section];
                self.plan_scenario_calls(cell, &hints, state, &mut planned);
            }
            let calls = self.make(planned, observer, |planned, outcome| {
                let PlannedCall { cell, number, baseline, call, .. } = planned;
                let state = &mut section_states[cell.section];
                state.oracle_context.record_outcome(&call, &outcome, !has_faults(&call));
                let baseline = baseline.map(|at| &state.baseline_calls[at].outcome);
                let is_import = self.plan.sections[cell.section].target.kind == TargetKind::Module;
                let found = || state.oracle_context.find_weakness(&call, &outcome, baseline);
                let weakness = if is_import { None } else { found() };
                EvaluatedCall { cell, number, call, outcome, weakness }
            })?;
            let is_complete = result.add_calls(self.plan, calls, triage);
            result.triage.push(triage.confirm_candidates(self, section_states, observer)?);
            if !is_complete {
                return Ok(result);
            }
        }
        result.is_complete = true;
        Ok(result)
    }

    fn scenario_cells(&self, section_states: &[SectionState<'_>]) -> Vec<CellIndex> {
        let sections = self.order_sections(section_states).into_iter();
        let cells = sections.flat_map(|section| {
            let planned_section = &self.plan.sections[section];
            let scenarios = self.plan.scenarios_of(&planned_section.module.path);
            // An import has no input: scenarios that only change inputs do not apply to it.
            let applicable = scenarios.filter(|(number, scenario)| {
                *number != 0
                    && !(planned_section.target.kind == TargetKind::Module
                        && scenario.has_own_inputs)
            });
            applicable.map(move |(scenario, _)| CellIndex { section, scenario }).collect::<Vec<_>>()
        });
        cells.collect()
    }

    fn generator_for<'i>(
        &'i self,
        section: usize,
        scenario: &'i PlannedScenario,
        learned_hints: &Arc<LearnedHints>,
    ) -> InputGenerator<'i> {
        let PlannedSection { section, hints, .. } = &self.plan.sections[section];
        let mut inputs = InputGenerator::new(section, hints, self.facts, &scenario.input_settings);
        if !learned_hints.is_empty() {
            inputs.apply_hints(learned_hints);
        }
        inputs
    }

    fn plan_baseline_calls(
        &self,
        section: usize,
        round: usize,
        inputs: &InputGenerator<'_>,
        state: &mut SectionState<'_>,
        planned: &mut Vec<PlannedCall>,
    ) {
        let planned_section = &self.plan.sections[section];
        if planned_section.target.kind == TargetKind::Module {
            return;
        }
        state.has_baseline_plan = true;
        let seed = planned_section.seed.derive("baseline").derive_nth(round as u64);
        let generated = inputs.take(self.calls_per_cell, seed).into_iter();
        let is_new = |input: &CallInput| {
            !state.baseline_calls.iter().any(|baseline| baseline.input == *input)
        };
        let new_inputs: Vec<CallInput> = generated.filter(is_new).collect();
        for (index, input) in new_inputs.into_iter().enumerate() {
            let number = state.baseline_calls.len() + index;
            let mut call =
                planned_section.build_call(&self.plan.scenarios[0], number, Some(&input));
            call.coverage = true;
            if input.strategy.follows_types() {
                state.oracle_context.record_declared(&call);
            }
            let cell = CellIndex { section, scenario: 0 };
            let input = Some(input);
            planned.push(PlannedCall { cell, number, input, baseline: None, call });
        }
    }

    fn plan_scenario_calls(
        &self,
        cell: CellIndex,
        learned_hints: &Arc<LearnedHints>,
        state: &mut SectionState<'_>,
        planned: &mut Vec<PlannedCall>,
    ) {
        let planned_section = &self.plan.sections[cell.section];
        let scenario = &self.plan.scenarios[cell.scenario];
        if planned_section.target.kind == TargetKind::Module {
            let call = planned_section.build_call(scenario, 0, None);
            planned.push(PlannedCall { cell, number: 0, input: None, baseline: None, call });
            return;
        }
        let has_burst = scenario.preset.burst().is_some();
        let inputs = self.scenario_inputs(cell, has_burst, learned_hints, state);
        for (number, (input, baseline)) in inputs.into_iter().enumerate() {
            // The same input has the same seed under the baseline and under faults.
            let mut call =
                planned_section.build_call(scenario, baseline.unwrap_or(number), Some(&input));
            // The first call records the lines that only this scenario reaches. The others do not,
            // since recording slows them down.
            call.coverage = number == 0 && !has_burst && reaches_other_lines(scenario, &call);
            if scenario.has_own_inputs && input.strategy.follows_types() {
                state.oracle_context.record_declared(&call);
            }
            planned.push(PlannedCall { cell, number, input: None, baseline, call });
        }
    }

    /// The inputs of a cell, each with the position of the baseline call that it comes from.
    fn scenario_inputs(
        &self,
        cell: CellIndex,
        has_burst: bool,
        learned_hints: &Arc<LearnedHints>,
        state: &SectionState<'_>,
    ) -> Vec<(CallInput, Option<usize>)> {
        let planned_section = &self.plan.sections[cell.section];
        let scenario = &self.plan.scenarios[cell.scenario];
        let count = match (state.is_slow(), has_burst) {
            (true, _) => self.calls_per_cell.min(MAX_TIMEOUTS),
            (false, true) => self.calls_per_cell.min(MAX_BURST_CALLS),
            (false, false) => self.calls_per_cell,
        };
        let generator = self.generator_for(cell.section, scenario, learned_hints);
        let mut inputs: Vec<(CallInput, Option<usize>)> = if scenario.has_own_inputs {
            let seed = planned_section.seed.derive(&scenario.label());
            generator.take(count, seed).into_iter().map(|input| (input, None)).collect()
        } else {
            // Inputs that return under the baseline show most under faults.
            let mut calls: Vec<(usize, &BaselineCall)> =
                state.baseline_calls.iter().enumerate().collect();
            calls.sort_by_key(|(_, baseline)| !baseline.has_returned());
            let calls = calls.into_iter().take(count);
            calls.map(|(position, baseline)| (baseline.input.clone(), Some(position))).collect()
        };
        if let Some(drift) = scenario.preset.drift() {
            let seed = planned_section.seed.derive("drift").derive(&scenario.label());
            for (index, (input, baseline)) in inputs.iter_mut().enumerate() {
                let seed = seed.derive_nth(index as u64);
                if let Some(drifted) = generator.drift_input(input, drift, seed) {
                    (*input, *baseline) = (drifted, None);
                }
            }
        }
        inputs
    }

    /// Makes the calls, and evaluates those that were made before the deadline, in the order of the
    /// plan.
    fn make(
        &self,
        planned: Vec<PlannedCall>,
        observer: &mut dyn RunObserver,
        mut evaluate: impl FnMut(PlannedCall, Outcome) -> EvaluatedCall,
    ) -> Result<CellCalls, SandboxError> {
        let jobs = planned.iter().map(|planned| self.job(planned.cell, planned.call.clone()));
        let labels: Vec<String> = self.plan.scenarios.iter().map(PlannedScenario::label).collect();
        let outcomes = self.runner.make(jobs.collect(), |position, outcome| {
            let PlannedCall { cell, number, ref call, .. } = planned[position];
            observer.on_event(RunEvent::CallCompleted(CompletedCall {
                section: &self.plan.sections[cell.section].section.id,
                scenario: Some(labels[cell.scenario].as_str()),
                number,
                is_counted: true,
                call,
                outcome,
            }));
        })?;
        let mut calls = CellCalls::default();
        for (planned, outcome) in planned.into_iter().zip(outcomes) {
            match outcome {
                Some(outcome) => calls.made.push(evaluate(planned, outcome)),
                None => calls.incomplete.push(planned.cell),
            }
        }
        calls.is_complete = calls.incomplete.is_empty();
        Ok(calls)
    }

    /// The job of a call under a scenario.
    pub(super) fn job(&self, cell: CellIndex, call: Call) -> CallJob {
        let CellIndex { section, scenario } = cell;
        build_job(&self.plan.scenarios[scenario].spec(&self.plan.sections[section].spec), call)
    }
}

/// Whether the call may reach lines that the baseline calls of its section do not.
fn reaches_other_lines(scenario: &PlannedScenario, call: &Call) -> bool {
    scenario.has_own_inputs || scenario.preset.drift().is_some() || has_faults(call)
}
