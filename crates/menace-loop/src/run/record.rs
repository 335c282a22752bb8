//! Writes down what a cycle does while it does it, and passes it on to whoever looks.
//!
//! Invariant: a call is in the store before anything else is heard of or told: of the calls that have ended,
//! who is killed loses the one that is being written, at most. What a call of a cell was blamed for follows once
//! it is confirmed. A store that cannot write ends the run.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use menace_model::{Failure, FailureId, SectionId, Verdict};
use menace_sandbox::Cancel;
use menace_store::{BESIDE, CallRecord, CellKey, RunWriter};

use super::now_ms;
use crate::cycle::{Called, Stage, Watch};

/// Calls in depth belong to no cell: they are filed under this name.
const DEPTH: &str = "depth";
/// Under this name each call is told of in the logs, once it has ended.
const ENDED: &str = "menace_loop::ended";
/// More than a generation of calls, or a round of second looks, has.
const REMEMBERED: usize = 16_384;

pub(super) struct Recorder<'r> {
    pub writer: &'r RunWriter,
    pub view: &'r mut dyn Watch,
    pub cycle: u32,
    /// Ends the run when the store fails.
    pub cancel: Cancel,
    pub error: Option<menace_store::Error>,
    started: Instant,
    /// Written down already, once.
    known: BTreeSet<FailureId>,
    depth: u32,
    /// Calls outside of cells that were heard of last.
    last: VecDeque<Filed>,
}

/// How a call outside of cells is filed.
struct Filed {
    section: SectionId,
    /// As it was heard of.
    asked: usize,
    scenario: &'static str,
    number: u32,
}

impl<'r> Recorder<'r> {
    pub(super) fn new(
        writer: &'r RunWriter,
        view: &'r mut dyn Watch,
        cycle: u32,
        cancel: Cancel,
    ) -> Self {
        let started = Instant::now();
        Self {
            writer,
            view,
            cycle,
            cancel,
            error: None,
            started,
            known: BTreeSet::new(),
            depth: 0,
            last: VecDeque::new(),
        }
    }

    /// Where a call outside of cells goes, under a number of its own.
    fn file(
        &mut self,
        section: &SectionId,
        asked: usize,
        scenario: &'static str,
    ) -> (&'static str, u32) {
        self.depth += 1;
        if self.last.len() == REMEMBERED {
            self.last.pop_front();
        }
        let (section, number) = (section.clone(), self.depth);
        self.last.push_back(Filed { section, asked, scenario, number });
        (scenario, number)
    }

    fn keep(&mut self, result: menace_store::Result<()>) {
        if let Err(error) = result
            && self.error.is_none()
        {
            self.error = Some(error);
            self.cancel.cancel();
        }
    }
}

impl Watch for Recorder<'_> {
    fn begins(&mut self, stage: Stage, calls: usize) {
        let since_start_s = self.started.elapsed().as_secs_f64();
        tracing::debug!(stage = stage.as_str(), calls, since_start_s, "a stage begins");
        self.view.begins(stage, calls);
    }

    fn called(&mut self, called: Called<'_>) {
        let Called { section, scenario, number, counts, call, outcome } = called;
        let (scenario, number) = match scenario {
            Some(scenario) => (scenario, number as u32),
            None => self.file(section, number, if counts { DEPTH } else { BESIDE }),
        };
        let (section, scenario) = (section.clone(), scenario.to_owned());
        let key = CellKey { cycle: self.cycle, section, scenario };
        let record = CallRecord::of(key, number, call.intent, outcome);
        // Exceptions are many, and those that count are kept as failures.
        let is_rare = !matches!(
            outcome.verdict,
            Verdict::Returned | Verdict::Refused | Verdict::Raised | Verdict::Unreachable
        );
        let record = if is_rare { record.in_full(call) } else { record };
        // Who kills a run finds all of these in the store, the last one perhaps excepted.
        tracing::trace!(target: ENDED, "a call has ended");
        let result = self.writer.call(record).and_then(|()| self.writer.flush());
        self.keep(result);
        self.view.called(called);
    }

    fn shown(&mut self, section: &SectionId, scenario: &str, number: usize, failure: &FailureId) {
        let (section, scenario) = (section.clone(), scenario.to_owned());
        let key = CellKey { cycle: self.cycle, section, scenario };
        let result = self.writer.shown(key, number as u32, failure.clone());
        self.keep(result);
    }

    fn confirmed(&mut self, section: &SectionId, number: usize, failure: &FailureId) {
        let is_it = |one: &&Filed| one.section == *section && one.asked == number;
        let Some(filed) = self.last.iter().rev().find(is_it) else { return };
        let (scenario, number) = (filed.scenario, filed.number);
        self.shown(section, scenario, number as usize, failure);
    }

    fn failed(&mut self, failure: &Failure) {
        // At once: a run that is killed keeps what it has found.
        if self.known.insert(failure.id.clone()) {
            let result =
                self.writer.failure(failure, now_ms(), 1).and_then(|()| self.writer.flush());
            self.keep(result);
            self.view.failed(failure);
        }
    }
}
