//! A failure, and when it was seen.

use menace_model::{Call, Failure};
use serde::Serialize;

use super::RunId;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureRecord {
    /// As the last run saw it.
    pub failure: Failure,
    pub first: FailureObservation,
    pub last: FailureObservation,
    /// Calls that showed it, in all runs.
    pub count: u64,
    /// Calls that showed it in the run that was asked for.
    pub count_in_run: Option<u64>,
    /// The smallest call that is known to show it.
    pub shrunk: Option<Call>,
    /// Since when it has not been there any more.
    pub gone_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureObservation {
    pub run: RunId,
    pub at_ms: i64,
}

/// How often one run saw a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunOccurrences {
    pub run: RunId,
    /// When the run started.
    pub started_ms: i64,
    pub count: u64,
}
