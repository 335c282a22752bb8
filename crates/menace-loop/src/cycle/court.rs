//! Weighs calls: tallies them, suspects sections, makes suspicious calls again, and blames.
//!
//! When a call speaks against its section is decided by `menace_scenario::judge`.
//! Invariant: nobody is blamed for a call that was made once.

use menace_model::{FailureId, WeaknessKind};
use menace_sandbox::SandboxError;
use menace_scenario::judge::Weakness;

use super::grid::{Grid, Standing, Weighed};
use super::plan::{BASELINE, Plan};
use super::seen::{Missed, Seen};
use super::suspects::{Sight, Suspect, Suspects};
use super::watch::Watch;
use crate::failure::{self, Lines};

#[derive(Debug)]
pub(super) struct Court<'a, 'p> {
    pub plan: &'p Plan<'a>,
    pub lines: &'p Lines,
    pub seen: Seen,
    suspects: Suspects,
}

impl<'a, 'p> Court<'a, 'p> {
    pub(super) fn new(plan: &'p Plan<'a>, lines: &'p Lines) -> Self {
        Self { plan, lines, seen: Seen::default(), suspects: Suspects::default() }
    }

    /// A call of a cell that there was no time for.
    pub(super) fn leave(&mut self, subject: usize, scenario: usize) {
        self.seen.cut_cells.insert((subject, scenario));
    }

    /// A call of a cell.
    pub(super) fn weigh(&mut self, weighed: &Weighed<'_>) {
        let Weighed { subject, scenario, number, call, outcome, weakness } = weighed;
        self.seen.count(outcome);
        let cell = self.seen.cells.entry((*subject, *scenario)).or_default();
        // A package that is not installed is nobody's fault here.
        if let Some(lacking) = self.plan.lacking(self.plan.subjects[*subject].section, outcome) {
            self.seen.lacking.insert(lacking);
            return;
        }
        cell.add(call, outcome, weakness.is_some());
        let Some(weakness) = weakness else { return };
        let seen = failure::Seen {
            section: self.plan.subjects[*subject].section,
            weakness,
            call,
            outcome,
            scenario: &self.plan.scenarios[*scenario].name,
        };
        let id = failure::of(&seen, self.lines).id;
        let may_stand = weakness.kind.stands_against(WeaknessKind::Hang);
        let suspect = Suspect {
            subject: *subject,
            scenario: *scenario,
            call: (*call).clone(),
            outcome: may_stand.then(|| Box::new((*outcome).clone())),
            weakness: weakness.clone(),
            sights: vec![Sight { subject: *subject, scenario: *scenario, number: *number }],
        };
        self.suspects.add(id, suspect);
    }

    /// Makes the calls of all suspects again, also when the time has just run out.
    pub(super) fn confirm(
        &mut self,
        grid: &Grid<'_, '_>,
        standings: &[Standing<'_>],
        watch: &mut dyn Watch,
    ) -> Result<(), SandboxError> {
        let patient = grid.caller.patient();
        let grid = Grid { caller: &patient, ..*grid };
        for (failure, sights) in self.suspects.confirm(&grid, standings, self.lines, watch)? {
            self.show(&failure.id, &sights, watch);
            self.seen.fail(failure, sights.len() as u64);
        }
        for (id, sights) in self.suspects.take_seen_again() {
            self.show(&id, &sights, watch);
            if let Some((_, count)) = self.seen.failures.get_mut(&id) {
                *count += sights.len() as u64;
            }
        }
        Ok(())
    }

    fn show(&self, failure: &FailureId, sights: &[Sight], watch: &mut dyn Watch) {
        for Sight { subject, scenario, number } in sights {
            let section = &self.plan.subjects[*subject].section.id;
            watch.shown(section, &self.plan.scenarios[*scenario].label(), *number, failure);
        }
    }

    /// Everything that was seen; suspects that could not be looked at again are counted.
    pub(super) fn close(mut self) -> Seen {
        self.seen.miss("confirmation", Missed::number(self.suspects.unproven()));
        self.seen
    }

    /// A module that cannot be imported is its own fault, unless a package is missing.
    pub(super) fn blame_imports(&mut self, watch: &mut dyn Watch) {
        let (plan, lines) = (self.plan, self.lines);
        let own = |name: &str| plan.packages.contains(name);
        for shut in &mut self.seen.shut {
            if shut.missing.as_deref().is_some_and(own) {
                shut.missing = None;
            }
        }
        let mut failures = Vec::new();
        for shut in self.seen.shut.iter().filter(|shut| shut.missing.is_none()) {
            let frames = shut.outcome.exception.as_ref().map(|raised| raised.frames.as_slice());
            let place = frames.and_then(|frames| frames.iter().rev().find(|frame| frame.own));
            let weakness = Weakness {
                kind: WeaknessKind::Import,
                evidence: format!("it cannot be imported: {}", shut.why),
                place: place.map(|frame| (frame.file.clone(), frame.line)),
            };
            let Some(section) = plan.top_level(&shut.module) else { continue };
            let seen = failure::Seen {
                section,
                weakness: &weakness,
                call: &shut.call,
                outcome: &shut.outcome,
                scenario: BASELINE,
            };
            let failure = failure::of(&seen, lines);
            watch.failed(&failure);
            failures.push(failure);
        }
        for failure in failures {
            self.seen.fail(failure, 1);
        }
    }
}
