//! Depth phase: sections are explored with inputs that follow coverage.
//!
//! Complex sections of modules that are imported often come first, since the deadline may cut the
//! rest.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use menace_model::{Call, InputIntent, SectionId, Seed, TargetKind, Verdict};
use menace_sandbox::SandboxError;
use menace_scenario::explore::{CallDefaults, ExploreBudget, Explorer};
use menace_scenario::input::{InputGenerator, InputSettings, LearnedHints, RepositoryFacts};
use menace_track::LineRanges;

use super::breadth::SectionState;
use super::observer::{CycleStage, RunEvent, RunObserver};
use super::plan::{BASELINE, CyclePlan, PlannedSection};
use super::triage::{LocatedFinding, Triage, TriageResult};
use crate::calls::CallRunner;
use crate::explore::{ExploreLoop, ExploreTarget, GenerationFinding, GenerationResult};

/// Sections that are explored side by side; bounds memory.
const MAX_BATCH_SECTIONS: usize = 96;
/// Estimate for the progress display.
const ESTIMATED_CALLS_PER_SECTION: usize = 150;

#[derive(Debug)]
pub(super) struct DepthPhase<'a, 'p> {
    pub plan: &'p CyclePlan<'a>,
    pub facts: &'p RepositoryFacts<'p>,
    pub runner: &'p CallRunner<'p>,
    pub budget: ExploreBudget,
    pub seed: Seed,
    pub input_settings: &'p InputSettings,
}

/// The results of exploring, in a fixed order.
#[derive(Debug, Default)]
pub(super) struct DepthResult {
    pub verdicts: Vec<Verdict>,
    pub timing_calls: u64,
    /// Lines that calls reached, by file.
    pub reached_lines: BTreeMap<String, LineRanges>,
    pub triage: TriageResult,
    pub reusable_input_lines: Vec<String>,
    /// Sections that the deadline cut.
    pub unfinished: Vec<SectionId>,
    /// Candidates without a rerun.
    pub unconfirmed: usize,
}

impl DepthPhase<'_, '_> {
    /// Explores all sections that can be called.
    pub(super) fn run(
        &self,
        section_states: &[SectionState<'_>],
        learned_hints: &mut LearnedHints,
        observer: &mut dyn RunObserver,
        triage: &Triage<'_, '_>,
    ) -> Result<DepthResult, SandboxError> {
        let sections = self.order_sections(section_states);
        let calls = sections.len() * ESTIMATED_CALLS_PER_SECTION;
        observer.on_event(RunEvent::StageBegan { stage: CycleStage::Depth, calls });
        let mut result = DepthResult::default();
        for batch in sections.chunks(MAX_BATCH_SECTIONS) {
            let id = |&section: &usize| self.plan.sections[section].section.id.clone();
            if self.runner.is_late() {
                result.unfinished.extend(batch.iter().map(id));
                continue;
            }
            let targets = batch.iter().map(|&at| self.target(&self.plan.sections[at])).collect();
            let mut explore_loop = ExploreLoop::new(self.runner, targets);
            while let Some(generation) = explore_loop.next_generation(learned_hints, observer)? {
                result.add_generation(generation, observer, triage);
            }
            let ExploreLoop { targets, unfinished, .. } = explore_loop;
            result.unfinished.extend(unfinished.targets.iter().map(|&target| id(&batch[target])));
            result.unconfirmed += unfinished.unconfirmed;
            let reusable_input_lines =
                targets.iter().flat_map(|target| target.explorer.reusable_input_lines());
            result.reusable_input_lines.extend(reusable_input_lines);
        }
        Ok(result)
    }

    fn order_sections(&self, section_states: &[SectionState<'_>]) -> Vec<usize> {
        let all = &self.plan.sections;
        let is_callable = |section: &usize| {
            !section_states[*section].has_failed_import
                && all[*section].target.kind != TargetKind::Module
        };
        let mut sections: Vec<usize> = (0..all.len()).filter(is_callable).collect();
        sections.sort_by_key(|&at| {
            let PlannedSection { section, module, .. } = &all[at];
            Reverse(u64::from(section.complexity) * (1 + module.imported_by.len() as u64))
        });
        sections
    }

    fn target<'s>(&'s self, planned: &'s PlannedSection<'_>) -> ExploreTarget<'s> {
        let inputs =
            InputGenerator::new(planned.section, planned.hints, self.facts, self.input_settings);
        let baseline = &self.plan.scenarios[0];
        let defaults = CallDefaults {
            has_cheap_coverage: self.runner.has_cheap_coverage(),
            ..planned.call_defaults(baseline)
        };
        let target = planned.target.clone();
        let explorer =
            Explorer::new(planned.section, target, defaults, inputs, self.budget, self.seed);
        ExploreTarget { explorer, spec: baseline.spec(&planned.spec) }
    }
}

impl DepthResult {
    fn add_generation(
        &mut self,
        generation: GenerationResult<'_>,
        observer: &mut dyn RunObserver,
        triage: &Triage<'_, '_>,
    ) {
        for (planned, outcome) in &generation.calls {
            if planned.is_timing {
                self.timing_calls += 1;
            } else {
                self.verdicts.push(outcome.verdict);
            }
            for file in outcome.coverage.iter().flat_map(|coverage| &coverage.files) {
                self.reached_lines.entry(file.file.clone()).or_default().add(&file.lines);
            }
        }
        for GenerationFinding { section, finding, number: rerun } in generation.findings {
            let scenario = scenario_of(&finding.call);
            let located = LocatedFinding { section, scenario, finding, rerun, occurrences: 1 };
            triage.report(located, observer, &mut self.triage);
        }
    }
}

/// The profile whose conditions are closest to those of a call of the depth phase.
fn scenario_of(call: &Call) -> &'static str {
    let conditions = &call.conditions;
    if conditions.burst.is_some() {
        return "concurrency_spike";
    }
    if let Some(fault) = conditions.faults.first() {
        return fault.mode.as_str();
    }
    if conditions.upstream.as_ref().is_some_and(|upstream| upstream.failure.is_some()) {
        return "flaky_upstream";
    }
    match call.intent {
        InputIntent::Hostile => "hostile_input",
        InputIntent::Misuse => "user_misuse",
        InputIntent::Drifted => "schema_drift",
        InputIntent::Valid | InputIntent::Boundary => BASELINE,
    }
}
