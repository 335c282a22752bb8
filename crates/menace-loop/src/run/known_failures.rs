//! Failures of earlier runs: which are still there, which are gone.
//!
//! A failure that this run did not find is checked with its reproducer: other inputs must not hide
//! it, and a fixed one must not stay open.

use std::collections::BTreeMap;
use std::time::Instant;

use menace_model::{Failure, FailureId};
use menace_sandbox::SandboxError;
use menace_store::{Store, StoreResult};

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

/// The failures of earlier runs that are not gone.
#[derive(Debug)]
pub(super) struct KnownFailures(Vec<Failure>);

impl KnownFailures {
    pub(super) fn read(store: &Store) -> StoreResult<Self> {
        let records = store.failures()?.into_iter();
        let open = records.filter(|record| record.gone_ms.is_none());
        Ok(Self(open.map(|record| record.failure).collect()))
    }

    /// Reruns the selected failures that this run has not found, one with each step of the
    /// iterator.
    pub(super) fn recheck<'k>(
        &'k self,
        request: &'k RunRequest<'k>,
        found: &BTreeMap<FailureId, CountedFailure>,
    ) -> impl Iterator<Item = Result<RecheckedFailure, SandboxError>> + use<'k> {
        let missing: Vec<_> = self.0.iter().filter(|one| !found.contains_key(&one.id)).collect();
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
