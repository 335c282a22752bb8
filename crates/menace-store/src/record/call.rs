//! A call in few bytes: there may be millions.

use menace_model::{Call, FailureId, Intent, Outcome, Place, SectionId, Verdict};
use serde::Serialize;

/// The longest message that is kept of a call, in bytes. A failure keeps all of it.
const LONGEST_MESSAGE: usize = 200;

/// A section under one scenario in one cycle of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CellKey {
    /// The first one is 0 or 1, as the caller likes.
    pub cycle: u32,
    pub section: SectionId,
    pub scenario: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    pub cell: CellKey,
    /// Within the cell. A call that is given twice is stored once.
    pub number: u32,
    pub intent: Intent,
    pub verdict: Verdict,
    /// To the microsecond.
    pub wall_ms: f64,
    /// To the microsecond.
    pub cpu_ms: f64,
    pub memory_bytes: u64,
    /// Full name of the exception's type.
    pub exception: Option<String>,
    /// The first line, and not much of it.
    pub message: Option<String>,
    pub place: Option<Place>,
    pub failure: Option<FailureId>,
    /// All that it takes to make the call again, where that is wanted.
    pub call: Option<Box<Call>>,
}

impl CallRecord {
    /// What an outcome says in few words.
    pub fn of(cell: CellKey, number: u32, intent: Intent, outcome: &Outcome) -> Self {
        let raised = outcome.exception.as_ref();
        let own = raised.and_then(|raised| raised.frames.iter().rfind(|frame| frame.own));
        let metrics = &outcome.runtime_metrics;
        let message = raised.map(|raised| &raised.message).or(outcome.reason.as_ref());
        Self {
            cell,
            number,
            intent,
            verdict: outcome.verdict,
            wall_ms: metrics.wall_ms,
            cpu_ms: metrics.user_cpu_ms + metrics.system_cpu_ms,
            memory_bytes: metrics.peak_memory_bytes,
            exception: raised.map(|raised| raised.kind.clone()),
            message: message.map(|message| short(message).to_owned()),
            place: own.map(|frame| Place { file: frame.file.clone(), line: frame.line }),
            failure: None,
            call: None,
        }
    }

    /// The same, with all that it takes to make the call again.
    #[must_use]
    pub fn in_full(self, call: &Call) -> Self {
        Self { call: Some(Box::new(call.clone())), ..self }
    }
}

/// The beginning of the first line.
pub(crate) fn short(message: &str) -> &str {
    let line = message.trim_start().lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(LONGEST_MESSAGE)]
}
