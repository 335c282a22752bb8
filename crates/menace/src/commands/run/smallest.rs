//! The smallest calls of what a run has found, as far as a little time goes.
//!
//! Invariant: what is kept is the smallest, not just a smaller one: how far a machine gets in its time
//! decides on how many are kept, never on what is said of one.

use std::time::{Duration, Instant};

use menace_loop::failure::{Shrinking, shrink};
use menace_loop::report::RunReport;
use menace_sandbox::{Backend, Cancel};
use menace_source::Analysis;
use menace_store::Store;

/// New failures that are looked at, in the order of the report.
const MOST: usize = 10;
/// Candidates for each.
const CANDIDATES: usize = 200;
/// Of the time that the run took, one part in so many, within these bounds.
const SHARE: u32 = 20;
const LEAST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
/// A call that takes longer, such as one that hangs, is left to `menace shrink`.
const PATIENCE_MS: f64 = 500.0;

pub(super) struct Means<'a> {
    pub backend: &'a dyn Backend,
    pub analysis: &'a Analysis,
    pub workers: usize,
    pub cancel: &'a Cancel,
    /// The end of the run's own time.
    pub deadline: Option<Instant>,
}

/// Shrinks the first new failures and keeps what is found. What goes wrong here is no failure of the run.
pub(super) fn keep(means: &Means<'_>, store: &Store, report: &RunReport, took: Duration) {
    let end = Instant::now() + (took / SHARE).clamp(LEAST, LONGEST);
    let end = means.deadline.map_or(end, |deadline| deadline.min(end));
    let new = report.failures.iter().filter(|failure| failure.new);
    for told in new.take(MOST) {
        if Instant::now() >= end || means.cancel.is_cancelled() {
            return;
        }
        let Ok(known) = store.failure(&told.id) else { continue };
        if known.shrunk.is_some() || known.failure.outcome.runtime_metrics.wall_ms > PATIENCE_MS {
            continue;
        }
        let shrinking = Shrinking {
            budget: CANDIDATES,
            workers: means.workers,
            cancel: means.cancel.clone(),
            deadline: Some(end),
        };
        let shrunk = shrink(&known.failure, means.backend, means.analysis, &shrinking);
        let kept = match shrunk {
            Ok(shrunk) if shrunk.is_smallest => {
                store.set_shrunk(&known.failure.id, &shrunk.failure.call)
            }
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::debug!(id = told.id, "not made smaller: {error}");
                Ok(())
            }
        };
        if let Err(error) = kept {
            tracing::debug!(id = told.id, "the smallest call is not kept: {error}");
        }
    }
}
