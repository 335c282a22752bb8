//! One cycle: every section of the plan called in breadth, in a shared process and in depth.
//!
//! | module | what is in it |
//! |---|---|
//! | `plan` | the sections and the scenarios of each module |
//! | `imports` | imports of modules, and those that fail |
//! | `breadth` | cells of sections × scenarios |
//! | `triage` | candidates → reruns → findings |
//! | `shared_run` | sections called one after the other in one process |
//! | `round_trip` | network latency under each scenario |
//! | `depth` | exploring, section by section, until the deadline |
//! | `result` | what the cycle found, and what it had no time for |
//! | `observer` | the events of a run |
//!
//! Scores are computed by `menace-track`; storing results belongs to [`crate::run`].

#[expect(clippy::similar_names, reason = "a cell and a call are both terms of the glossary")]
mod breadth;
mod depth;
mod imports;
mod observer;
mod plan;
mod result;
mod round_trip;
mod shared_run;
#[cfg(test)]
mod tests;
mod triage;

use std::collections::BTreeSet;

use menace_model::{SectionId, Seed};
use menace_sandbox::SandboxError;
use menace_scenario::explore::ExploreBudget;
use menace_scenario::input::{InputSettings, LearnedHints, RepositoryFacts};
use menace_store::SkippedStage;

use crate::calls::CallRunner;
use crate::failure::SourceLineCache;

use breadth::{BreadthPhase, SectionState};
use depth::DepthPhase;
use triage::Triage;

pub use imports::ImportFailure;
pub use observer::{CompletedCall, CycleStage, RunEvent, RunObserver, ShownOccurrence};
pub use plan::{
    BASELINE, CellIndex, CyclePlan, PlanRequest, PlannedScenario, PlannedSection, SectionFilter,
    UncallableSection,
};
pub(crate) use result::is_simpler;
pub use result::{CountedFailure, CycleResult, DepthCompletion, MissingPackage, SkippedWork};
pub use shared_run::{SharedRun, SharedRunPart};

/// How much a cycle does.
#[derive(Debug, Clone)]
pub struct CycleBudget<'e> {
    pub calls_per_cell: usize,
    /// None for a cycle without the depth phase.
    pub depth: Option<ExploreBudget>,
    pub seed: Seed,
    /// For the inputs of the depth phase.
    pub inputs: &'e InputSettings,
}

/// Runs a cycle. The depth phase comes last, since it takes all the time that is left: cycles are
/// compared by what comes before it.
pub(crate) fn run(
    plan: &CyclePlan<'_>,
    facts: &RepositoryFacts<'_>,
    caller: &CallRunner<'_>,
    budget: &CycleBudget<'_>,
    lines: &SourceLineCache,
    observer: &mut dyn RunObserver,
) -> Result<CycleResult, SandboxError> {
    let breadth = BreadthPhase { plan, facts, caller, calls_per_cell: budget.calls_per_cell };
    let mut section_states: Vec<SectionState<'_>> =
        plan.subjects.iter().map(SectionState::new).collect();
    let mut triage = Triage::new(plan, lines);
    let imports = breadth.import_modules(&mut section_states, observer, &mut triage.result)?;
    let Some(import_failures) = imports else {
        let all = plan.subjects.iter().map(|subject| subject.section.id.clone());
        triage.result.add_skipped(SkippedStage::Imports, SkippedWork::from_sections(all));
        return Ok(triage.result);
    };
    triage.report_import_failures(import_failures, observer);

    let mut learned_hints = LearnedHints::default();
    let is_complete =
        breadth.run_baseline(&mut section_states, &mut learned_hints, observer, &mut triage)?
            && breadth.run_scenarios(&mut section_states, &learned_hints, observer, &mut triage)?;
    triage.result.add_skipped_scenarios(plan, &section_states);
    triage.end_breadth();
    run_shared(&breadth, &section_states, observer, &mut triage.result)?;
    triage.result.is_breadth_complete = is_complete && triage.result.not_covered.is_empty();
    if let Some(explore_budget) = budget.depth {
        // The threat settings of the baseline hold in depth, too.
        let threat = plan.scenarios[0].inputs.threat;
        let inputs = InputSettings { threat, ..budget.inputs.clone() };
        let depth = DepthPhase {
            plan,
            facts,
            caller,
            budget: explore_budget,
            seed: budget.seed,
            inputs: &inputs,
        };
        depth.run(&section_states, &mut learned_hints, observer, &mut triage)?;
    }
    Ok(triage.result)
}

/// Calls the sections with failures in a shared process, and measures round trips.
fn run_shared(
    breadth: &BreadthPhase<'_, '_>,
    section_states: &[SectionState<'_>],
    observer: &mut dyn RunObserver,
    result: &mut CycleResult,
) -> Result<(), SandboxError> {
    let BreadthPhase { plan, caller, .. } = *breadth;
    let failing: BTreeSet<&SectionId> =
        result.failures.values().map(|known| &known.failure.section).collect();
    let failing: BTreeSet<usize> = (0..plan.subjects.len())
        .filter(|at| failing.contains(&plan.subjects[*at].section.id))
        .collect();
    if !caller.is_late() {
        result.shared_run = breadth.run_shared(section_states, &failing, observer)?;
        result.round_trips = round_trip::measure_round_trips(plan, caller)?;
    }
    if caller.is_late() {
        result.add_skipped(SkippedStage::SharedRun, SkippedWork::from_count(failing.len().max(1)));
    }
    Ok(())
}
