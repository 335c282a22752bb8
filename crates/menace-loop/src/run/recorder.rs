//! Stores the calls of a cycle while they are made, and passes the events on to the next observer.
//!
//! Invariant: a call is stored before its event is passed on. A run that is killed loses at most
//! the call that is being written. The failure of a call is linked once it is confirmed. A store
//! that cannot write ends the run.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use menace_model::{FailureId, SectionId, Verdict, now_ms};
use menace_sandbox::CancelToken;
use menace_store::{CallRecord, CellKey, OutsideCellScenario, RunWriter};

use crate::cycle::{CompletedCall, RunEvent, RunObserver, ShownOccurrence};

/// Log target of the event that a call has ended.
const CALL_ENDED_TARGET: &str = "menace_loop::ended";
/// Recent calls outside of cells: more than one generation or one round of reruns makes.
const MAX_RECENT_CALLS: usize = 16_384;

pub(super) struct RunRecorder<'r> {
    pub writer: &'r RunWriter,
    pub next: &'r mut dyn RunObserver,
    pub cycle: u32,
    /// Cancels the run when the store fails.
    pub cancel: CancelToken,
    pub error: Option<menace_store::StoreError>,
    started: Instant,
    stored_failures: BTreeSet<FailureId>,
    /// How many calls outside of cells were stored.
    calls_outside_cells: u32,
    /// The last of them.
    recent: VecDeque<StoredCallKey>,
}

/// The key under which a call outside of cells is stored.
struct StoredCallKey {
    section: SectionId,
    /// The number of the call in the event.
    event_number: usize,
    scenario: OutsideCellScenario,
    number: u32,
}

impl<'r> RunRecorder<'r> {
    pub(super) fn new(
        writer: &'r RunWriter,
        next: &'r mut dyn RunObserver,
        cycle: u32,
        cancel: CancelToken,
    ) -> Self {
        let started = Instant::now();
        Self {
            writer,
            next,
            cycle,
            cancel,
            error: None,
            started,
            stored_failures: BTreeSet::new(),
            calls_outside_cells: 0,
            recent: VecDeque::new(),
        }
    }

    /// Scenario and number that a call outside of cells is stored under.
    fn next_key(
        &mut self,
        section: &SectionId,
        event_number: usize,
        scenario: OutsideCellScenario,
    ) -> (&'static str, u32) {
        self.calls_outside_cells += 1;
        if self.recent.len() == MAX_RECENT_CALLS {
            self.recent.pop_front();
        }
        let section = section.clone();
        let number = self.calls_outside_cells;
        self.recent.push_back(StoredCallKey { section, event_number, scenario, number });
        (scenario.as_str(), number)
    }

    fn check(&mut self, result: menace_store::StoreResult<()>) {
        if let Err(error) = result
            && self.error.is_none()
        {
            self.error = Some(error);
            self.cancel.cancel();
        }
    }

    fn record_call(&mut self, completed: CompletedCall<'_>) {
        let CompletedCall { section, scenario, number, is_counted, call, outcome } = completed;
        let (scenario, number) = match scenario {
            Some(scenario) => (scenario, number as u32),
            None => self.next_key(
                section,
                number,
                if is_counted {
                    OutsideCellScenario::Depth
                } else {
                    OutsideCellScenario::Auxiliary
                },
            ),
        };
        let key = self.cell_key(section, scenario);
        let record = CallRecord::from_outcome(key, number, call.intent, outcome);
        // Exceptions are frequent; the ones that matter are stored as failures.
        let is_rare = !matches!(
            outcome.verdict,
            Verdict::Returned | Verdict::Refused | Verdict::Raised | Verdict::Unreachable
        );
        let record = if is_rare { record.with_call(call) } else { record };
        tracing::trace!(target: CALL_ENDED_TARGET, "a call has ended");
        let result = self.writer.record_call(record).and_then(|()| self.writer.flush());
        self.check(result);
    }

    fn record_occurrence(&mut self, shown: ShownOccurrence<'_>) {
        let ShownOccurrence { section, scenario, number, failure } = shown;
        let is_it = |one: &&StoredCallKey| one.section == *section && one.event_number == number;
        let (scenario, number) = match (scenario, self.recent.iter().rev().find(is_it)) {
            (Some(scenario), _) => (scenario, number as u32),
            (None, Some(stored)) => (stored.scenario.as_str(), stored.number),
            (None, None) => return,
        };
        let key = self.cell_key(section, scenario);
        let result = self.writer.link_call_to_failure(key, number, failure.clone());
        self.check(result);
    }

    fn cell_key(&self, section: &SectionId, scenario: &str) -> CellKey {
        CellKey { cycle: self.cycle, section: section.clone(), scenario: scenario.to_owned() }
    }
}

impl RunObserver for RunRecorder<'_> {
    fn on_event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::StageBegan { stage, calls } => {
                let since_start_s = self.started.elapsed().as_secs_f64();
                tracing::debug!(stage = stage.as_str(), calls, since_start_s, "a stage begins");
            }
            RunEvent::CallCompleted(completed) => self.record_call(completed),
            RunEvent::OccurrenceShown(shown) => self.record_occurrence(shown),
            RunEvent::FindingConfirmed(failure) => {
                // Flushed at once: a killed run keeps its findings.
                if !self.stored_failures.insert(failure.id.clone()) {
                    return;
                }
                let recorded = self.writer.record_failure(failure, now_ms(), 1);
                self.check(recorded.and_then(|()| self.writer.flush()));
            }
            RunEvent::PlanMade { .. } | RunEvent::Warning(_) => {}
        }
        self.next.on_event(event);
    }
}
