//! What a cycle saw, and what it had no time to see.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Failure, FailureId, How, Outcome, SectionId, Verdict};
use menace_track::{Lines, Tally};

use super::grid::Standing;
use super::imports::Shut;
use super::plan::{BASELINE, Plan};
use super::together::Company;

/// How far exploring came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reached {
    /// It was not asked for.
    #[default]
    Nothing,
    /// The time was up before all sections were explored.
    Cut,
    Whole,
}

/// A package that is not installed, and the module that imports it when one of its functions is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lacking {
    pub module: String,
    pub package: String,
}

/// What there was no time for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missed {
    pub count: usize,
    /// The first of them, where these are sections.
    pub ids: BTreeSet<SectionId>,
}

impl Missed {
    /// More are counted, and not named.
    pub const NAMED: usize = 50;

    pub fn number(count: usize) -> Self {
        Self { count, ids: BTreeSet::new() }
    }

    pub fn of(sections: impl IntoIterator<Item = SectionId>) -> Self {
        let mut missed = Self::default();
        for id in sections {
            missed.count += 1;
            missed.name(id);
        }
        missed
    }

    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        for id in other.ids {
            self.name(id);
        }
    }

    fn name(&mut self, id: SectionId) {
        if self.ids.len() < Self::NAMED {
            self.ids.insert(id);
        }
    }
}

/// Of the same failure: one that was seen in peace, and one that was not.
pub(crate) fn is_simpler(failure: &Failure, than: &Failure) -> bool {
    failure.scenario == BASELINE && than.scenario != BASELINE
}

/// What a cycle saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// By subject and scenario, as the plan numbers them.
    /// Apart, since a map leaves much of its room free.
    pub cells: BTreeMap<(usize, usize), Box<Tally>>,
    /// Imports, by the top level of the module.
    pub imports: BTreeMap<SectionId, Tally>,
    /// Lines that calls outside of cells reached, by file.
    pub reached: BTreeMap<String, Lines>,
    /// How often each was seen.
    pub failures: BTreeMap<FailureId, (Failure, u64)>,
    /// Those of them that breadth did not meet.
    pub beyond_breadth: BTreeSet<FailureId>,
    /// Inputs that are worth beginning with the next time, as lines of a history.
    pub worth_keeping: Vec<String>,
    pub shut: Vec<Shut>,
    /// Packages that functions found missing: their calls are in no cell.
    pub lacking: BTreeSet<Lacking>,
    pub calls: u64,
    /// Calls that measured time, beside those: how many depends on the machine.
    pub timing_calls: u64,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Stages that the time was up for, and what they missed.
    pub not_covered: Vec<(String, Missed)>,
    /// Cells that some calls are missing of.
    pub cut_cells: BTreeSet<(usize, usize)>,
    /// Nothing but depth was cut short: it compares with other cycles.
    pub is_broad: bool,
    pub depth: Reached,
    /// Of sections together; none when there was no time, or nobody to call.
    pub company: Option<Company>,
    /// Milliseconds of a round trip, by scenario.
    pub round_trips: BTreeMap<usize, f64>,
}

impl Seen {
    pub(super) fn count(&mut self, outcome: &Outcome) {
        self.calls += 1;
        *self.verdicts.entry(outcome.verdict).or_default() += 1;
    }

    pub(super) fn reach(&mut self, outcome: &Outcome) {
        for file in outcome.coverage.iter().flat_map(|coverage| &coverage.files) {
            self.reached.entry(file.file.clone()).or_default().add(&file.lines);
        }
    }

    /// One that is seen in peace, too, is told so, whoever was the first to see it: it takes the least.
    pub(super) fn fail(&mut self, failure: Failure, count: u64) {
        match self.failures.entry(failure.id.clone()) {
            Entry::Vacant(free) => drop(free.insert((failure, count))),
            Entry::Occupied(mut known) => {
                let (told, times) = known.get_mut();
                *times += count;
                if is_simpler(&failure, told) {
                    *told = failure;
                }
            }
        }
    }

    /// The same outside of breadth.
    pub(crate) fn fail_beyond_breadth(&mut self, failure: Failure, count: u64) {
        if !self.failures.contains_key(&failure.id) {
            self.beyond_breadth.insert(failure.id.clone());
        }
        self.fail(failure, count);
    }

    /// Nothing is said of what missed nobody.
    pub(super) fn miss(&mut self, what: &str, missed: Missed) {
        if missed.count == 0 {
            return;
        }
        match self.not_covered.iter_mut().find(|(known, _)| known == what) {
            Some((_, known)) => known.add(missed),
            None => self.not_covered.push((what.to_owned(), missed)),
        }
    }

    /// Scenarios that some sections were not put through, the baseline among them.
    pub(super) fn miss_scenarios(&mut self, plan: &Plan<'_>, standings: &[Standing<'_>]) {
        let mut missed: BTreeMap<usize, Vec<SectionId>> = BTreeMap::new();
        for (at, subject) in plan.subjects.iter().enumerate() {
            // Nothing may have been found to call a section with.
            let is_tried = !standings[at].tried.is_empty() || !standings[at].is_asked;
            if standings[at].is_shut || subject.target.how == How::Module || !is_tried {
                continue;
            }
            for (number, _) in plan.scenarios_of(&subject.module.path) {
                let cell = (at, number);
                if !self.cells.contains_key(&cell) || self.cut_cells.contains(&cell) {
                    missed.entry(number).or_default().push(subject.section.id.clone());
                }
            }
        }
        for (number, sections) in missed {
            let label = plan.scenarios[number].label();
            self.miss(&label, Missed::of(sections));
        }
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{Call, ModuleRef, Place, Stage, Target, WeaknessKind};

    use super::*;

    fn failure(scenario: &str) -> Failure {
        let module = ModuleRef { name: "desk".to_owned(), path: None };
        let target = Target { module, qualname: "half".to_owned(), how: How::Function };
        Failure {
            id: FailureId("f1".to_owned()),
            section: SectionId::new("desk.py", "half"),
            kind: WeaknessKind::Unhandled,
            scenario: scenario.to_owned(),
            verdict: Verdict::Raised,
            exception: None,
            message: format!("seen under {scenario}"),
            location: Place { file: "desk.py".to_owned(), line: 1 },
            call: Call::new(target),
            outcome: Outcome::of(Verdict::Raised, Stage::Call),
        }
    }

    #[test]
    fn a_failure_is_told_in_peace_if_it_was_seen_in_peace_else_where_it_was_seen_first() {
        for (seen_under, told) in [
            (["hostile_input:high", BASELINE, "user_misuse"], BASELINE),
            ([BASELINE, "hostile_input:high", BASELINE], BASELINE),
            (["user_misuse", "hostile_input:high", "disk"], "user_misuse"),
        ] {
            let mut seen = Seen::default();
            for scenario in seen_under {
                seen.fail(failure(scenario), 2);
            }
            let (found, count) = &seen.failures[&FailureId("f1".to_owned())];
            assert_eq!((found.scenario.as_str(), *count), (told, 6), "{seen_under:?}");
            assert_eq!(found.message, format!("seen under {told}"), "with what showed it there");
        }
    }
}
