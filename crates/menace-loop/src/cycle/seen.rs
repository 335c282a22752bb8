//! What a cycle saw, and what it had no time to see.

use std::collections::BTreeMap;

use menace_model::{Failure, FailureId, How, Outcome, SectionId, Verdict};
use menace_track::{Lines, Tally};

use super::grid::Standing;
use super::imports::Shut;
use super::plan::Plan;
use super::together::Company;

/// What a cycle saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// By subject and scenario, as the plan numbers them.
    pub cells: BTreeMap<(usize, usize), Tally>,
    /// Imports, by the top level of the module.
    pub imports: BTreeMap<SectionId, Tally>,
    /// Lines that calls outside of cells reached, by file.
    pub reached: BTreeMap<String, Lines>,
    /// How often each was seen.
    pub failures: BTreeMap<FailureId, (Failure, u64)>,
    /// Inputs that are worth beginning with the next time, as lines of a history.
    pub worth_keeping: Vec<String>,
    pub shut: Vec<Shut>,
    pub calls: u64,
    /// Calls that measured time, beside those: how many depends on the machine.
    pub timing_calls: u64,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Stages that the time was up for, and how many sections they missed.
    pub not_covered: Vec<(String, usize)>,
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

    pub(super) fn fail(&mut self, failure: Failure, count: u64) {
        let id = failure.id.clone();
        self.failures
            .entry(id)
            .and_modify(|(_, known)| *known += count)
            .or_insert((failure, count));
    }

    /// Nothing is said of what missed nobody.
    pub(super) fn miss(&mut self, what: &str, sections: usize) {
        if sections == 0 {
            return;
        }
        match self.not_covered.iter_mut().find(|(known, _)| known == what) {
            Some((_, count)) => *count += sections,
            None => self.not_covered.push((what.to_owned(), sections)),
        }
    }

    /// Scenarios that some sections were not put through, the baseline among them.
    pub(super) fn miss_scenarios(&mut self, plan: &Plan<'_>, standings: &[Standing<'_>]) {
        let mut missed: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, subject) in plan.subjects.iter().enumerate() {
            // Nothing may have been found to call a section with.
            let is_tried = !standings[at].tried.is_empty() || !standings[at].is_asked;
            if standings[at].is_shut || subject.target.how == How::Module || !is_tried {
                continue;
            }
            for (number, _) in plan.scenarios_of(&subject.module.path) {
                if !self.cells.contains_key(&(at, number)) {
                    *missed.entry(number).or_default() += 1;
                }
            }
        }
        for (number, sections) in missed {
            let label = plan.scenarios[number].label();
            self.miss(&label, sections);
        }
    }
}
