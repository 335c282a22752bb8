//! Shrinks the new failures of a run for a short time.
//!
//! Invariant: only calls that cannot be shrunk further are stored. The speed of the machine decides
//! how many that are, never which call is stored for a failure.

use std::time::{Duration, Instant};

use menace_loop::failure::{ShrinkRequest, shrink};
use menace_loop::run::RunRequest;
use menace_store::RunReport;
use menace_store::Store;

/// New failures that are shrunk, in the order of the report.
const MAX_FAILURES: usize = 10;
/// Candidates for each.
const MAX_CANDIDATES_PER_FAILURE: usize = 200;
/// Shrinking takes this fraction of the run's time, within these bounds.
const RUN_TIME_DIVISOR: u32 = 20;
const MIN_SHRINK_TIME: Duration = Duration::from_secs(1);
const MAX_SHRINK_TIME: Duration = Duration::from_secs(5);
/// Failures whose call takes longer, such as hangs, are left to `menace shrink`.
const MAX_CALL_MS: f64 = 500.0;

/// Shrinks the first new failures and stores the results. Errors here do not fail the run.
pub(super) fn shrink_new_failures(
    request: &RunRequest<'_>,
    store: &Store,
    report: &RunReport,
    run_time: Duration,
) {
    let end =
        Instant::now() + (run_time / RUN_TIME_DIVISOR).clamp(MIN_SHRINK_TIME, MAX_SHRINK_TIME);
    let end = request.deadline.map_or(end, |deadline| deadline.min(end));
    let new = report.failures.iter().filter(|failure| failure.new);
    for reported in new.take(MAX_FAILURES) {
        if Instant::now() >= end || request.cancel.is_cancelled() {
            return;
        }
        let Ok(stored) = store.failure(&reported.id) else { continue };
        if stored.shrunk.is_some() || stored.failure.outcome.runtime_metrics.wall_ms > MAX_CALL_MS {
            continue;
        }
        let shrinking = ShrinkRequest {
            budget: MAX_CANDIDATES_PER_FAILURE,
            workers: request.workers,
            cancel: request.cancel.clone(),
            deadline: Some(end),
        };
        let shrunk = shrink(&stored.failure, request.backend, request.analysis, &shrinking);
        let saved = match shrunk {
            Ok(shrunk) if shrunk.is_smallest => {
                store.set_shrunk(&stored.failure.id, &shrunk.failure.call)
            }
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::debug!(id = reported.id, "not shrunk: {error}");
                Ok(())
            }
        };
        if let Err(error) = saved {
            tracing::debug!(id = reported.id, "the shrunk call is not stored: {error}");
        }
    }
}
