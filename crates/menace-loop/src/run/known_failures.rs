//! Failures of earlier runs: which are new, which are still there, which are gone.
//!
//! A failure that this run did not find is checked with its reproducer: other inputs must not hide
//! it, and a fixed one must not stay open.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menace_model::{Failure, FailureId};
use menace_store::{FailureRecord, FailureReport, RunWriter, Store, StoreResult};

use super::{RunError, RunRequest, now_ms};
use crate::cycle::{CountedFailure, CycleResult, RunEvent, RunObserver};
use crate::failure::{ReproResult, repro};

/// Time for the checks after the deadline of the run.
const RECHECK_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct KnownFailures(BTreeMap<FailureId, FailureRecord>);

impl KnownFailures {
    pub(super) fn read(store: &Store) -> StoreResult<Self> {
        let records = store.failures()?.into_iter();
        Ok(Self(records.map(|record| (record.failure.id.clone(), record)).collect()))
    }

    /// The failures of a cycle, with their numbers of occurrences, as the report has them.
    pub(super) fn report(
        &self,
        failures: &BTreeMap<FailureId, CountedFailure>,
    ) -> Vec<FailureReport> {
        let report = failures.iter().map(|(id, CountedFailure { failure, occurrences })| {
            FailureReport::new(failure, *occurrences, self.is_new(id))
        });
        report.collect()
    }

    /// Whether no earlier run found it, or it was gone and is back.
    fn is_new(&self, id: &FailureId) -> bool {
        self.0.get(id).is_none_or(|record| record.gone_ms.is_some())
    }

    /// Adds the open failures that this run has not found: with one occurrence where the reproducer
    /// still shows it, with none where there was no time to run it.
    pub(super) fn recheck(
        &self,
        request: &RunRequest<'_>,
        result: &mut CycleResult,
        writer: &RunWriter,
        observer: &mut dyn RunObserver,
    ) -> Result<(), RunError> {
        let end = request.deadline.map(|deadline| deadline.max(Instant::now()) + RECHECK_GRACE);
        let open = self.0.values().filter(|record| record.gone_ms.is_none());
        for FailureRecord { failure, .. } in open {
            if result.failures.contains_key(&failure.id) || !is_selected(request, failure) {
                continue;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                result.add_failure_beyond_breadth(failure.clone(), 0);
                continue;
            }
            match repro(failure, request.backend, request.analysis)? {
                ReproResult::Still { outcome } => {
                    let failure = Failure { outcome, ..failure.clone() };
                    writer.record_failure(&failure, now_ms(), 1)?;
                    observer.on_event(RunEvent::FindingConfirmed(&failure));
                    result.add_failure_beyond_breadth(failure, 1);
                }
                ReproResult::Fixed { .. }
                | ReproResult::Vanished { .. }
                | ReproResult::Other { .. } => {
                    writer.mark_failure_gone(failure.id.clone(), now_ms())?;
                }
            }
        }
        Ok(())
    }
}

/// Whether its section is selected, or was deleted.
fn is_selected(request: &RunRequest<'_>, failure: &Failure) -> bool {
    let path = failure.section.path();
    let Some(module) = request.analysis.modules.iter().find(|module| module.path == path) else {
        return true;
    };
    match module.sections.iter().find(|section| section.id == failure.section) {
        Some(section) => request.sections.has(module, section),
        None => request.sections.has_module(module),
    }
}
