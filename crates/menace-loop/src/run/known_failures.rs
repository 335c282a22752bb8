//! Failures of earlier runs: which are new, which are still there, which are gone.
//!
//! A failure that this run did not find is checked with its reproducer: other inputs must not hide
//! it, and a fixed one must not stay open.

use std::collections::BTreeMap;
use std::time::Instant;

use menace_model::{Failure, FailureId};
use menace_sandbox::SandboxError;
use menace_store::{FailureRecord, FailureReport, Store, StoreResult};

use super::RunRequest;
use crate::cycle::CountedFailure;
use crate::failure::{ReproResult, repro_until};

/// An open failure of an earlier run, after its rerun.
#[derive(Debug)]
pub(super) enum RecheckedFailure {
    Still(Failure),
    /// There was no time to rerun it.
    Unchecked(Failure),
    Gone(FailureId),
}

#[derive(Debug)]
pub(super) struct KnownFailures(BTreeMap<FailureId, FailureRecord>);

impl KnownFailures {
    pub(super) fn read(store: &Store) -> StoreResult<Self> {
        let records = store.failures()?.into_iter();
        Ok(Self(records.map(|record| (record.failure.id.clone(), record)).collect()))
    }

    /// The failures of a cycle, with their numbers of occurrences, as the report has them.
    pub(super) fn to_reports(
        &self,
        failures: &BTreeMap<FailureId, CountedFailure>,
    ) -> Vec<FailureReport> {
        let report = failures.iter().map(|(id, counted)| {
            let CountedFailure { failure, occurrences, assessment } = counted;
            let report = FailureReport::new(failure, *occurrences, self.is_new(id));
            FailureReport { assessment: assessment.clone(), ..report }
        });
        report.collect()
    }

    /// Whether no earlier run found it, or it was gone and is back.
    fn is_new(&self, id: &FailureId) -> bool {
        self.0.get(id).is_none_or(|record| record.gone_ms.is_some())
    }

    /// Reruns the selected open failures that this run has not found, one with each step of the
    /// iterator.
    pub(super) fn recheck<'k>(
        &'k self,
        request: &'k RunRequest<'k>,
        found: &BTreeMap<FailureId, CountedFailure>,
    ) -> impl Iterator<Item = Result<RecheckedFailure, SandboxError>> + use<'k> {
        let open = self.0.values().filter(|record| record.gone_ms.is_none());
        let open = open.map(|record| &record.failure);
        let missing: Vec<_> = open.filter(|one| !found.contains_key(&one.id)).collect();
        let selected = missing.into_iter().filter(|failure| is_selected(request, failure));
        selected.map(|failure| {
            let RunRequest { backend, analysis, cancel, deadline, .. } = request;
            let reproduced = if deadline.is_some_and(|end| Instant::now() >= end) {
                Err(SandboxError::Cancelled)
            } else {
                repro_until(failure, *backend, analysis, cancel, *deadline)
            };
            match reproduced {
                Ok(ReproResult::Still { outcome }) => {
                    Ok(RecheckedFailure::Still(Failure { outcome, ..failure.clone() }))
                }
                Ok(
                    ReproResult::Fixed { .. }
                    | ReproResult::Vanished { .. }
                    | ReproResult::Other { .. },
                ) => Ok(RecheckedFailure::Gone(failure.id.clone())),
                // The time was up, before the call or during it.
                Err(SandboxError::Cancelled) if !cancel.is_cancelled() => {
                    Ok(RecheckedFailure::Unchecked(failure.clone()))
                }
                Err(error) => Err(error),
            }
        })
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
