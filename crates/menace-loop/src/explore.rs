//! Explores every section of a repository: makes the calls that explorers plan, generation by
//! generation, on as many sandboxes as there are workers.
//!
//! Invariant: the calls depend on the seed and on outcomes, not on the number of workers or the
//! order in which calls end. Sections whose last generation found something new are first, so that
//! the deadline ends those that find nothing.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use menace_model::{Call, CallTarget, Outcome, Section, SectionId, Seed, TargetKind, Verdict};
use menace_sandbox::{CallJob, CancelToken, SandboxBackend, SandboxError, SandboxSpec};
use menace_scenario::explore::{CallDefaults, ExploreBudget, Explorer, redistribute_mutations};
use menace_scenario::input::{InputGenerator, InputSettings, LearnedHints};
use menace_scenario::judge::{ConfirmedFinding, rerun_call};
use menace_source::{Analysis, SurveyError};

use crate::calls::{CallRunner, build_job};
use crate::cycle::{CompletedCall, RunEvent, RunObserver};
use crate::survey::SurveyedAnalysis;
use crate::targets;

/// Budget and resources of an exploration.
#[derive(Debug, Clone)]
pub struct ExploreOptions {
    pub seed: Seed,
    pub budget: ExploreBudget,
    pub workers: usize,
    pub cancel: CancelToken,
    pub input_settings: InputSettings,
}

/// Findings and counts of one section.
#[derive(Debug)]
pub struct ExplorationResult {
    pub section: SectionId,
    pub findings: Vec<ConfirmedFinding>,
    pub verdicts: BTreeSet<Verdict>,
    pub calls: usize,
    /// Why the section could not be called at all.
    pub uncallable: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    Survey(#[from] SurveyError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// Explores all sections. `observe` receives every call once its generation has ended, in an order
/// that does not depend on which call ended first.
pub fn explore(
    analysis: &Analysis,
    backend: &dyn SandboxBackend,
    exploration: &ExploreOptions,
    observe: &mut dyn FnMut(CompletedCall<'_>),
) -> Result<Vec<ExplorationResult>, ExploreError> {
    let surveyed = SurveyedAnalysis::new(analysis)?;
    let facts = surveyed.facts();
    let mut explore_targets = Vec::new();
    let mut uncallable = Vec::new();
    for (module, section, hints) in surveyed.sections() {
        match targets::resolve_target(section) {
            Ok((_, TargetKind::Module)) => {}
            Ok((qualname, kind)) => {
                let spec = targets::module_spec(analysis, module);
                let target = CallTarget { module: targets::module_ref(module), qualname, kind };
                let inputs =
                    InputGenerator::new(section, hints, &facts, &exploration.input_settings);
                let defaults = CallDefaults {
                    has_cheap_coverage: backend.has_cheap_coverage(),
                    ..CallDefaults::default()
                };
                let ExploreOptions { budget, seed, .. } = *exploration;
                let explorer = Explorer::new(section, target, defaults, inputs, budget, seed);
                explore_targets.push(ExploreTarget { explorer, spec });
            }
            Err(target) => uncallable.push(ExplorationResult {
                section: section.id.clone(),
                findings: Vec::new(),
                verdicts: BTreeSet::new(),
                calls: 0,
                uncallable: Some(target.why),
            }),
        }
    }
    let runner = CallRunner::new(backend, exploration.workers, exploration.cancel.clone(), None);
    let mut learned_hints = LearnedHints::default();
    let mut explore_loop = ExploreLoop::new(&runner, explore_targets);
    while let Some(generation) = explore_loop.next_generation(&mut learned_hints, &mut ())? {
        for (planned, outcome) in &generation.calls {
            observe(planned.completed(outcome));
        }
    }
    let explored = explore_loop.targets.into_iter().map(|target| ExplorationResult {
        section: target.explorer.section().id.clone(),
        findings: target.explorer.findings().to_vec(),
        verdicts: target.explorer.verdicts().clone(),
        calls: target.explorer.calls(),
        uncallable: None,
    });
    Ok(explored.chain(uncallable).collect())
}

/// A section that is being explored.
#[derive(Debug)]
pub(crate) struct ExploreTarget<'a> {
    pub explorer: Explorer<'a>,
    pub spec: SandboxSpec,
}

/// A call of a generation.
#[derive(Debug)]
pub(crate) struct GenerationCall<'a> {
    pub section: &'a SectionId,
    /// Position among the calls of its section, counted from 0.
    pub number: usize,
    /// Whether it measures time: how often it is made depends on the machine.
    pub is_timing: bool,
    pub call: Call,
}

impl GenerationCall<'_> {
    fn completed<'c>(&'c self, outcome: &'c Outcome) -> CompletedCall<'c> {
        let Self { section, number, is_timing, ref call } = *self;
        let is_counted = !is_timing;
        CompletedCall { section, scenario: None, number, is_counted, call, outcome }
    }
}

/// A weakness that a rerun of the generation has confirmed.
#[derive(Debug)]
pub(crate) struct GenerationFinding<'a> {
    pub section: &'a Section,
    pub finding: ConfirmedFinding,
    /// The number of the call that confirmed it, where this generation has it.
    pub number: Option<usize>,
}

/// The calls that were made, in an order that does not depend on which one ended first.
#[derive(Debug)]
pub(crate) struct GenerationResult<'a> {
    pub calls: Vec<(GenerationCall<'a>, Outcome)>,
    pub findings: Vec<GenerationFinding<'a>>,
    /// The deadline came before all calls were made.
    is_cut: bool,
}

/// The targets and calls that the deadline has cut off.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedExploration {
    /// Targets with generations left, by their position.
    pub targets: Vec<usize>,
    /// Candidates without a rerun.
    pub unconfirmed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopState {
    Exploring,
    /// The deadline has passed: only reruns of candidates are made.
    Confirming,
    Finished,
}

/// Explores sections side by side.
#[derive(Debug)]
pub(crate) struct ExploreLoop<'c, 'a> {
    runner: &'c CallRunner<'c>,
    pub targets: Vec<ExploreTarget<'a>>,
    state: LoopState,
    pub unfinished: UnfinishedExploration,
}

impl<'c, 'a> ExploreLoop<'c, 'a> {
    pub(crate) fn new(runner: &'c CallRunner<'c>, targets: Vec<ExploreTarget<'a>>) -> Self {
        let unfinished = UnfinishedExploration::default();
        Self { runner, targets, state: LoopState::Exploring, unfinished }
    }

    /// Makes the next calls; none once every explorer is done. After the deadline there is one more
    /// generation, with the reruns of all candidates.
    pub(crate) fn next_generation(
        &mut self,
        learned_hints: &mut LearnedHints,
        observer: &mut dyn RunObserver,
    ) -> Result<Option<GenerationResult<'a>>, SandboxError> {
        let generation = match self.state {
            LoopState::Finished => return Ok(None),
            LoopState::Exploring => {
                let turns = self.choose_turns();
                let generation =
                    self.run_generation(self.runner, &turns, learned_hints, observer)?;
                if generation.is_cut {
                    self.skip_to_confirmation();
                } else if generation.calls.is_empty()
                    && self.targets.iter().all(|target| target.explorer.is_done())
                {
                    self.state = LoopState::Finished;
                }
                generation
            }
            LoopState::Confirming => {
                let runner = self.runner.for_reruns();
                let turns = vec![true; self.targets.len()];
                let generation = self.run_generation(&runner, &turns, learned_hints, observer)?;
                let unconfirmed =
                    self.targets.iter().map(|target| target.explorer.unconfirmed_count());
                self.unfinished.unconfirmed = unconfirmed.sum();
                self.state = LoopState::Finished;
                generation
            }
        };
        Ok(Some(generation))
    }

    fn skip_to_confirmation(&mut self) {
        for (index, target) in self.targets.iter_mut().enumerate() {
            if !target.explorer.is_done() {
                self.unfinished.targets.push(index);
            }
            target.explorer.skip_to_confirmation();
        }
        self.state = LoopState::Confirming;
    }

    /// Chooses the targets of the next generation: those whose last one found something new; else
    /// those that do not wait for unused calls of other targets; else all that are not done.
    fn choose_turns(&self) -> Vec<bool> {
        let conditions: [fn(&Explorer<'_>) -> bool; 3] = [
            |explorer| explorer.is_productive(),
            |explorer| !explorer.is_done() && !explorer.needs_more_mutations(),
            |explorer| !explorer.is_done(),
        ];
        let turns = |has_turn: fn(&Explorer<'_>) -> bool| -> Vec<bool> {
            self.targets.iter().map(|target| has_turn(&target.explorer)).collect()
        };
        let mut choices = conditions.into_iter().map(turns);
        choices
            .find(|turns| turns.contains(&true))
            .unwrap_or_else(|| vec![false; self.targets.len()])
    }

    fn run_generation(
        &mut self,
        runner: &CallRunner<'_>,
        turns: &[bool],
        learned_hints: &mut LearnedHints,
        observer: &mut dyn RunObserver,
    ) -> Result<GenerationResult<'a>, SandboxError> {
        let GenerationPlan { calls, jobs, targets } = self.plan_generation(turns, learned_hints);
        let outcomes = runner.make(jobs, |position, outcome| {
            observer.on_event(RunEvent::CallCompleted(calls[position].completed(outcome)));
        })?;
        let mut findings = Vec::new();
        for (target, plan) in self.targets.iter_mut().zip(targets) {
            let Some(TargetPlan { range, known_findings }) = plan else { continue };
            let explorer = &mut target.explorer;
            explorer.record_hints(&outcomes[range.clone()], learned_hints);
            explorer.record_outcomes(&outcomes[range.clone()]);
            for finding in &explorer.findings()[known_findings..] {
                let call = rerun_call(&finding.call);
                let rerun = calls[range.clone()].iter().rfind(|one| one.call == call);
                findings.push(GenerationFinding {
                    section: explorer.section(),
                    finding: finding.clone(),
                    number: rerun.map(|rerun| rerun.number),
                });
            }
        }
        let is_cut = outcomes.iter().any(Option::is_none);
        let calls = calls.into_iter().zip(outcomes);
        let calls = calls.filter_map(|(call, outcome)| Some((call, outcome?))).collect();
        Ok(GenerationResult { calls, findings, is_cut })
    }

    fn plan_generation(
        &mut self,
        turns: &[bool],
        learned_hints: &LearnedHints,
    ) -> GenerationPlan<'a> {
        redistribute_mutations(self.targets.iter_mut().map(|target| &mut target.explorer));
        let hints = Arc::new(learned_hints.clone());
        let mut plan = GenerationPlan::default();
        for (target, has_turn) in self.targets.iter_mut().zip(turns) {
            let explorer = &mut target.explorer;
            explorer.apply_hints(&hints);
            if !has_turn {
                plan.targets.push(None);
                continue;
            }
            let first_number = explorer.calls();
            let known_findings = explorer.findings().len();
            let calls = explorer.next_generation();
            let start = plan.calls.len();
            plan.targets
                .push(Some(TargetPlan { range: start..start + calls.len(), known_findings }));
            for (index, call) in calls.into_iter().enumerate() {
                plan.jobs.push(build_job(&target.spec, call.clone()));
                plan.calls.push(GenerationCall {
                    section: &explorer.section().id,
                    number: first_number + index,
                    is_timing: explorer.is_timing(),
                    call,
                });
            }
        }
        plan
    }
}

#[derive(Debug, Default)]
struct GenerationPlan<'a> {
    calls: Vec<GenerationCall<'a>>,
    /// One job for each of `calls`.
    jobs: Vec<CallJob>,
    /// The plan of each target; `None` for a target that waits.
    targets: Vec<Option<TargetPlan>>,
}

#[derive(Debug)]
struct TargetPlan {
    /// Positions of its calls in the generation.
    range: Range<usize>,
    /// How many findings the section had before these calls; later ones are new.
    known_findings: usize,
}
