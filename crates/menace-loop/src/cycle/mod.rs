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
//! `menace-track` computes scores; [`crate::run`] stores results.

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

use menace_model::Seed;
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
pub(crate) use result::only_first_is_baseline;
pub use result::{CountedFailure, CycleResult, DepthCompletion, MissingPackage, SkippedWork};
pub use shared_run::{SharedRun, SharedRunPart};

/// How much a cycle does.
#[derive(Debug, Clone)]
pub struct CycleOptions<'e> {
    pub calls_per_cell: usize,
    /// `None` for a cycle without a depth phase.
    pub depth: Option<ExploreBudget>,
    pub seed: Seed,
    /// Settings for the inputs of the depth phase.
    pub input_settings: &'e InputSettings,
}

/// Runs a cycle. The depth phase comes last and uses all remaining time, so that cycles are
/// compared by the phases before it.
pub(crate) fn run(
    plan: &CyclePlan<'_>,
    facts: &RepositoryFacts<'_>,
    runner: &CallRunner<'_>,
    options: &CycleOptions<'_>,
    lines: &SourceLineCache,
    observer: &mut dyn RunObserver,
) -> Result<CycleResult, SandboxError> {
    let breadth = BreadthPhase { plan, facts, runner, calls_per_cell: options.calls_per_cell };
    let mut section_states: Vec<SectionState<'_>> =
        plan.sections.iter().map(SectionState::new).collect();
    let mut triage = Triage::new(plan, lines);
    let mut result = CycleResult::default();
    let Some(mut imports) = breadth.import_modules(&mut section_states, observer)? else {
        let all = plan.sections.iter().map(|planned| planned.section.id.clone());
        result.add_skipped(SkippedStage::Imports, SkippedWork::from_sections(all));
        return Ok(result);
    };
    result.add_triage(triage.report_import_failures(&mut imports.failures, observer));
    result.add_imports(imports);

    let mut learned_hints = LearnedHints::default();
    let baseline =
        breadth.run_baseline(&mut section_states, &mut learned_hints, observer, &mut triage)?;
    result.add_breadth(baseline);
    if result.is_breadth_complete {
        let scenarios =
            breadth.run_scenarios(&mut section_states, &learned_hints, observer, &mut triage)?;
        result.add_breadth(scenarios);
    }
    result.add_skipped_scenarios(plan, &section_states);
    let unconfirmed = SkippedWork::from_count(triage.unconfirmed_count());
    result.add_skipped(SkippedStage::Confirmation, unconfirmed);
    let failing = result.failing_sections(plan);
    if !runner.is_late() {
        result.shared_run = breadth.run_shared(&section_states, &failing, observer)?;
        result.round_trips = round_trip::measure_round_trips(plan, runner)?;
    }
    if runner.is_late() {
        result.add_skipped(SkippedStage::SharedRun, SkippedWork::from_count(failing.len().max(1)));
    }
    result.is_breadth_complete &= result.skipped_stages.is_empty();
    if let Some(explore_budget) = options.depth {
        // The threat settings of the baseline hold in depth, too.
        let threat = plan.scenarios[0].input_settings.threat;
        let inputs = InputSettings { threat, ..options.input_settings.clone() };
        let depth = DepthPhase {
            plan,
            facts,
            runner,
            budget: explore_budget,
            seed: options.seed,
            input_settings: &inputs,
        };
        result.add_depth(depth.run(&section_states, &mut learned_hints, observer, &triage)?);
    }
    Ok(result)
}
