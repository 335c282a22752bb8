//! The results of a cycle, and the work that it skipped.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Failure, FailureId, SectionId, TargetKind, Verdict};
use menace_store::SkippedStage;
use menace_track::{CallTally, LineRanges};

use super::breadth::{BreadthResult, SectionState};
use super::depth::DepthResult;
use super::imports::{ImportFailure, ImportResult};
use super::plan::{BASELINE, CellIndex, CyclePlan};
use super::shared_run::SharedRun;
use super::triage::TriageResult;

/// How far exploring came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DepthCompletion {
    /// The cycle has no depth phase.
    #[default]
    Nothing,
    /// The deadline came before all sections were explored.
    Cut,
    Complete,
}

/// A package that is not installed, and the module whose functions import it when called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingPackage {
    pub module: String,
    pub package: String,
}

/// Work that a stage skipped, because the deadline passed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedWork {
    pub count: usize,
    /// The first [`SkippedWork::MAX_IDS`] of them, where these are sections.
    pub ids: BTreeSet<SectionId>,
}

impl SkippedWork {
    pub const MAX_IDS: usize = 50;

    pub fn from_count(count: usize) -> Self {
        Self { count, ids: BTreeSet::new() }
    }

    pub fn from_sections(sections: impl IntoIterator<Item = SectionId>) -> Self {
        let mut skipped = Self::default();
        for id in sections {
            skipped.count += 1;
            skipped.add_id(id);
        }
        skipped
    }

    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        for id in other.ids {
            self.add_id(id);
        }
    }

    fn add_id(&mut self, id: SectionId) {
        if self.ids.len() < Self::MAX_IDS {
            self.ids.insert(id);
        }
    }
}

/// Whether a failure was shown under the baseline, and the other one, with the same id, was not.
pub(crate) fn only_first_is_baseline(scenario: &str, other: &str) -> bool {
    scenario == BASELINE && other != BASELINE
}

/// A failure and how many calls showed it.
#[derive(Debug, Clone)]
pub struct CountedFailure {
    pub failure: Failure,
    pub occurrences: u64,
}

#[derive(Debug, Default)]
pub struct CycleResult {
    /// Boxed: a B-tree allocates nodes with free slots, and a tally is large.
    pub cells: BTreeMap<CellIndex, Box<CallTally>>,
    /// Imports, by the top level of the module.
    pub imports: BTreeMap<SectionId, CallTally>,
    /// Lines that calls outside of cells reached, by file.
    pub reached_lines: BTreeMap<String, LineRanges>,
    pub failures: BTreeMap<FailureId, CountedFailure>,
    /// Failures that the breadth phase did not find.
    pub beyond_breadth: BTreeSet<FailureId>,
    /// Inputs for later runs to begin with, as lines of a history file.
    pub reusable_input_lines: Vec<String>,
    pub import_failures: Vec<ImportFailure>,
    /// Packages that functions import and that are not installed; no cell has these calls.
    pub missing_packages: BTreeSet<MissingPackage>,
    pub calls: u64,
    /// Additional calls that measure time; their number depends on the machine.
    pub timing_calls: u64,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Stages and scenarios that the deadline ended early, with the skipped work.
    pub skipped_stages: Vec<(SkippedStage, SkippedWork)>,
    /// Cells with fewer calls than planned.
    pub incomplete_cells: BTreeSet<CellIndex>,
    /// Whether at most the depth phase was ended early, so that the cycle can be compared with
    /// others.
    pub is_breadth_complete: bool,
    pub depth: DepthCompletion,
    /// `None` if there was no time, or if fewer than two sections returned.
    pub shared_run: Option<SharedRun>,
    /// Milliseconds of a round trip, by the position of the scenario.
    pub round_trips: BTreeMap<usize, f64>,
}

impl CycleResult {
    fn count(&mut self, verdicts: Vec<Verdict>) {
        self.calls += verdicts.len() as u64;
        for verdict in verdicts {
            *self.verdicts.entry(verdict).or_default() += 1;
        }
    }

    pub(super) fn add_imports(&mut self, imports: ImportResult) {
        self.count(imports.verdicts);
        self.imports = imports.tallies;
        self.import_failures = imports.failures;
    }

    pub(super) fn add_breadth(&mut self, breadth: BreadthResult) {
        self.count(breadth.verdicts);
        self.cells.extend(breadth.cells);
        self.incomplete_cells.extend(breadth.incomplete_cells);
        self.missing_packages.extend(breadth.missing_packages);
        self.is_breadth_complete = breadth.is_complete;
        breadth.triage.into_iter().for_each(|batch| self.add_triage(batch));
    }

    pub(super) fn add_triage(&mut self, triage: TriageResult) {
        self.missing_packages.extend(triage.missing_packages);
        for (failure, count) in triage.failures {
            self.add_failure(failure, count);
        }
        for (id, count) in triage.new_occurrences {
            self.failures.entry(id).and_modify(|counted| counted.occurrences += count);
        }
    }

    pub(super) fn add_depth(&mut self, depth: DepthResult) {
        self.count(depth.verdicts);
        self.timing_calls = depth.timing_calls;
        self.reached_lines = depth.reached_lines;
        self.reusable_input_lines = depth.reusable_input_lines;
        self.missing_packages.extend(depth.triage.missing_packages);
        for (failure, count) in depth.triage.failures {
            self.add_failure_beyond_breadth(failure, count);
        }
        let is_cut = !depth.unfinished.is_empty() || depth.unconfirmed > 0;
        self.depth = if is_cut { DepthCompletion::Cut } else { DepthCompletion::Complete };
        self.add_skipped(SkippedStage::Depth, SkippedWork::from_sections(depth.unfinished));
        self.add_skipped(SkippedStage::Confirmation, SkippedWork::from_count(depth.unconfirmed));
    }

    /// Sections with failures, by their position in the plan.
    pub(super) fn failing_sections(&self, plan: &CyclePlan<'_>) -> BTreeSet<usize> {
        let ids: BTreeSet<&SectionId> =
            self.failures.values().map(|counted| &counted.failure.section).collect();
        let all = plan.sections.iter().enumerate();
        let failing = all.filter(|(_, planned)| ids.contains(&planned.section.id));
        failing.map(|(position, _)| position).collect()
    }

    /// Of two failures with the same id, the one found under the baseline is kept, since it needs
    /// no faults.
    fn add_failure(&mut self, failure: Failure, occurrences: u64) {
        match self.failures.entry(failure.id.clone()) {
            Entry::Vacant(free) => drop(free.insert(CountedFailure { failure, occurrences })),
            Entry::Occupied(mut counted) => {
                let counted = counted.get_mut();
                counted.occurrences += occurrences;
                if only_first_is_baseline(&failure.scenario, &counted.failure.scenario) {
                    counted.failure = failure;
                }
            }
        }
    }

    /// A failure that was shown outside of the breadth phase.
    pub(crate) fn add_failure_beyond_breadth(&mut self, failure: Failure, count: u64) {
        if !self.failures.contains_key(&failure.id) {
            self.beyond_breadth.insert(failure.id.clone());
        }
        self.add_failure(failure, count);
    }

    pub(super) fn add_skipped(&mut self, stage: SkippedStage, skipped: SkippedWork) {
        if skipped.count == 0 {
            return;
        }
        match self.skipped_stages.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, known)) => known.add(skipped),
            None => self.skipped_stages.push((stage, skipped)),
        }
    }

    /// Scenarios, the baseline included, that have sections without all of their calls.
    pub(super) fn add_skipped_scenarios(
        &mut self,
        plan: &CyclePlan<'_>,
        section_states: &[SectionState<'_>],
    ) {
        let mut skipped: BTreeMap<usize, Vec<SectionId>> = BTreeMap::new();
        for (at, planned) in plan.sections.iter().enumerate() {
            let state = &section_states[at];
            // A section without calls may have no input with which it can be called.
            let has_calls = !state.baseline_calls.is_empty() || !state.has_baseline_plan;
            if state.has_failed_import || planned.target.kind == TargetKind::Module || !has_calls {
                continue;
            }
            for (number, _) in plan.scenarios_of(&planned.module.path) {
                let cell = CellIndex { section: at, scenario: number };
                if !self.cells.contains_key(&cell) || self.incomplete_cells.contains(&cell) {
                    skipped.entry(number).or_default().push(planned.section.id.clone());
                }
            }
        }
        for (number, sections) in skipped {
            let stage = SkippedStage::Scenario(plan.scenarios[number].label());
            self.add_skipped(stage, SkippedWork::from_sections(sections));
        }
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{
        Call, CallStage, CallTarget, ModuleRef, Outcome, SourceLocation, WeaknessKind,
    };

    use super::*;

    fn failure(scenario: &str) -> Failure {
        let module = ModuleRef { name: "desk".to_owned(), path: None };
        let target = CallTarget { module, qualname: "half".to_owned(), kind: TargetKind::Function };
        Failure {
            id: FailureId("f1".to_owned()),
            section: SectionId::new("desk.py", "half"),
            kind: WeaknessKind::Unhandled,
            scenario: scenario.to_owned(),
            verdict: Verdict::Raised,
            exception: None,
            message: format!("shown under {scenario}"),
            location: SourceLocation { file: "desk.py".to_owned(), line: 1 },
            call: Call::new(target),
            outcome: Outcome::new(Verdict::Raised, CallStage::Call),
        }
    }

    #[test]
    fn a_failure_keeps_the_baseline_scenario_if_it_has_it_else_the_first_one() {
        for (scenarios, expected) in [
            (["hostile_input:high", BASELINE, "user_misuse"], BASELINE),
            ([BASELINE, "hostile_input:high", BASELINE], BASELINE),
            (["user_misuse", "hostile_input:high", "disk"], "user_misuse"),
        ] {
            let mut result = CycleResult::default();
            for scenario in scenarios {
                result.add_failure(failure(scenario), 2);
            }
            let counted = &result.failures[&FailureId("f1".to_owned())];
            let CountedFailure { failure: kept, occurrences } = counted;
            assert_eq!((kept.scenario.as_str(), *occurrences), (expected, 6), "{scenarios:?}");
            assert_eq!(kept.message, format!("shown under {expected}"), "message of that scenario");
        }
    }
}
