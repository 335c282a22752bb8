//! A failure, and when runs saw it.

use menace_model::{Call, Failure};
use serde::Serialize;

use super::RunId;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureRecord {
    /// The failure as the last run saw it.
    pub failure: Failure,
    #[serde(rename = "first")]
    pub first_seen: OccurrenceTime,
    #[serde(rename = "last")]
    pub last_seen: OccurrenceTime,
    /// Number of calls that showed it, in all runs.
    pub count: u64,
    /// Number of calls that showed it in the queried run.
    pub count_in_run: Option<u64>,
    /// Whether it was new in the queried run; see [`crate::RunWriter::is_new`].
    #[serde(skip)]
    pub new_in_run: bool,
    /// The smallest known call that shows it.
    pub shrunk: Option<Call>,
    /// Since when it is gone, in milliseconds since 1970; `None` if it is still there.
    pub gone_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OccurrenceTime {
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
