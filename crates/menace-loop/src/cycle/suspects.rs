//! Calls that speak against a section: equal ones are one suspect, and each is made once more before
//! anybody is blamed.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{Call, Failure, FailureId, Outcome};
use menace_sandbox::SandboxError;
use menace_scenario::judge::{Weakness, weakness};

use super::grid::{Grid, Standing};
use super::watch::{Called, Watch};
use crate::failure::{self, Lines};

/// For those that have to be sure.
const PATIENT_MS: u64 = 3_000;

#[derive(Debug)]
pub(super) struct Suspect {
    pub subject: usize,
    pub scenario: usize,
    pub call: Call,
    /// Where that may be the one that is told.
    pub outcome: Option<Box<Outcome>>,
    pub weakness: Weakness,
    /// Every call that spoke like this one.
    pub sights: Vec<Sight>,
}

/// A call of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    pub subject: usize,
    pub scenario: usize,
    pub number: usize,
}

/// What became of a suspect.
#[derive(Debug, Default)]
struct Settled {
    /// What it was blamed as; none for one that was cleared.
    blamed: Option<FailureId>,
    /// Calls that spoke like it since.
    since: Vec<Sight>,
}

/// By what they would be called as failures.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    waiting: BTreeMap<FailureId, Suspect>,
    /// Could not be looked at again in time.
    unproven: BTreeSet<FailureId>,
    settled: BTreeMap<FailureId, Settled>,
}

impl Suspects {
    /// One more call that speaks against its section.
    pub(super) fn add(&mut self, id: FailureId, suspect: Suspect) {
        if let Some(settled) = self.settled.get_mut(&id) {
            settled.since.extend(suspect.sights);
        } else if let Some(known) = self.waiting.get_mut(&id) {
            known.sights.extend(suspect.sights);
        } else {
            self.waiting.insert(id, suspect);
        }
    }

    /// Failures that were blamed before, with the calls that showed them since this was asked last.
    pub(super) fn take_seen_again(&mut self) -> Vec<(FailureId, Vec<Sight>)> {
        let again = self.settled.values_mut().filter(|settled| !settled.since.is_empty());
        let again = again.filter_map(|settled| {
            let since = std::mem::take(&mut settled.since);
            Some((settled.blamed.clone()?, since))
        });
        again.collect()
    }

    /// How many could not be looked at again.
    pub(super) fn unproven(&self) -> usize {
        self.unproven.len() + self.waiting.len()
    }

    /// Makes every waiting call again; who shows the same is blamed. In the order of their sections.
    pub(super) fn confirm(
        &mut self,
        grid: &Grid<'_, '_>,
        standings: &[Standing<'_>],
        lines: &Lines,
        watch: &mut dyn Watch,
    ) -> Result<Vec<(Failure, Vec<Sight>)>, SandboxError> {
        let mut waiting: Vec<(FailureId, Suspect)> =
            std::mem::take(&mut self.waiting).into_iter().collect();
        waiting.sort_by_key(|(_, suspect)| suspect.subject);
        let patient = |suspect: &Suspect| {
            let mut call = suspect.call.clone();
            call.limits.timeout_ms = call.limits.timeout_ms.max(PATIENT_MS);
            call.coverage = false;
            call
        };
        let calls: Vec<Call> = waiting.iter().map(|(_, suspect)| patient(suspect)).collect();
        let jobs = waiting.iter().zip(&calls);
        let jobs = jobs.map(|((_, one), call)| grid.job(one.subject, one.scenario, call.clone()));
        let outcomes = grid.caller.make(jobs.collect(), |position, outcome| {
            let section = &grid.plan.subjects[waiting[position].1.subject].section.id;
            let call = &calls[position];
            let (scenario, number, counts) = (None, position, false);
            watch.called(Called { section, scenario, number, counts, call, outcome });
        })?;
        let mut failures = Vec::new();
        let looked_at = waiting.into_iter().zip(calls).zip(outcomes).enumerate();
        for (position, (((id, suspect), call), outcome)) in looked_at {
            let Some(outcome) = outcome else {
                self.unproven.insert(id);
                continue;
            };
            self.unproven.remove(&id);
            let standing = &standings[suspect.subject];
            let same_input = |tried: &&super::grid::Tried| {
                tried.input.args == call.args
                    && tried.input.kwargs == call.kwargs
                    && tried.input.receiver == call.receiver
            };
            let alone = standing.tried.iter().find(same_input).map(|tried| &tried.outcome);
            let again = weakness(&standing.known.witness(&call, &outcome, alone));
            let again = again.filter(|again| suspect.weakness.kind.is_shown_by(again.kind));
            let Some(again) = again else {
                self.settled.insert(id, Settled::default());
                continue;
            };
            let first_stands = suspect.weakness.kind.stands_against(again.kind);
            let section = grid.plan.subjects[suspect.subject].section;
            let scenario = grid.plan.scenarios[suspect.scenario].label();
            let (weakness, call, outcome) = match &suspect.outcome {
                Some(first) if first_stands => (&suspect.weakness, &suspect.call, &**first),
                _ => (&again, &call, &outcome),
            };
            let seen = failure::Seen { section, weakness, call, outcome, scenario: &scenario };
            // A second look may be at another line: then that is the one that can be shown.
            let failure = failure::of(&seen, lines);
            for name in [id, failure.id.clone()] {
                self.settled.entry(name).or_default().blamed = Some(failure.id.clone());
            }
            watch.failed(&failure);
            watch.confirmed(&section.id, position, &failure.id);
            failures.push((failure, suspect.sights));
        }
        Ok(failures)
    }
}
