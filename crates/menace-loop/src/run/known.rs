//! Failures of earlier runs: which ones are new, which are still there, which are gone.
//!
//! A failure that this run did not meet is looked at again with the call that showed it, so that
//! nothing is forgotten because inputs were others, and nothing is kept that was mended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use menace_model::{Failure, FailureId};
use menace_store::{KnownFailure, RunWriter, Store};

use super::{Run, RunError, now_ms};
use crate::cycle::{Seen, Watch};
use crate::failure::{Repro, repro};

/// When the time is up, these still get so long.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Known(BTreeMap<FailureId, KnownFailure>);

impl Known {
    pub(super) fn of(store: &Store) -> Result<Self, RunError> {
        let all = store.failures()?.into_iter();
        Ok(Self(all.map(|known| (known.failure.id.clone(), known)).collect()))
    }

    /// No earlier run has seen it, or it was gone and is back.
    pub(super) fn is_new(&self, id: &FailureId) -> bool {
        self.0.get(id).is_none_or(|known| known.gone_ms.is_some())
    }

    /// Adds those that are still there and that this run has not met by itself: seen once, or not at
    /// all where there was no time to look.
    pub(super) fn look_again(
        &self,
        run: &Run<'_>,
        seen: &mut Seen,
        writer: &RunWriter,
        view: &mut dyn Watch,
    ) -> Result<(), RunError> {
        let end = run.deadline.map(|deadline| deadline.max(Instant::now()) + GRACE);
        let open = self.0.values().filter(|known| known.gone_ms.is_none());
        for KnownFailure { failure, .. } in open {
            if seen.failures.contains_key(&failure.id) || !is_wanted(run, failure) {
                continue;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                seen.fail_beyond_breadth(failure.clone(), 0);
                continue;
            }
            match repro(failure, run.backend, run.analysis)? {
                Repro::Still { outcome } => {
                    let failure = Failure { outcome, ..failure.clone() };
                    writer.failure(&failure, now_ms(), 1)?;
                    view.failed(&failure);
                    seen.fail_beyond_breadth(failure, 1);
                }
                Repro::Fixed { .. } | Repro::Vanished { .. } | Repro::Other { .. } => {
                    writer.gone(failure.id.clone(), now_ms())?;
                }
            }
        }
        Ok(())
    }
}

/// Its section is wanted, or there is no such section any more.
fn is_wanted(run: &Run<'_>, failure: &Failure) -> bool {
    let path = failure.section.path();
    let Some(module) = run.analysis.modules.iter().find(|module| module.path == path) else {
        return true;
    };
    match module.sections.iter().find(|section| section.id == failure.section) {
        Some(section) => run.wanted.has(module, section),
        None => run.wanted.has_module(module),
    }
}
