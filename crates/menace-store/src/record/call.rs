//! The stored form of a call: compact, since there may be millions.

use menace_model::{Call, FailureId, InputIntent, Outcome, SectionId, SourceLocation, Verdict};
use serde::Serialize;

/// The longest message stored with a call, in bytes. A failure has the whole message.
const MAX_MESSAGE_BYTES: usize = 200;

/// A section under one scenario in one cycle of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CellKey {
    /// From 0; texts for users and logs count from 1.
    pub cycle: u32,
    pub section: SectionId,
    /// The label of the scenario: its name, with its severity where it has one.
    pub scenario: String,
}

menace_model::named_enum! {
    /// Used as the scenario of calls that belong to no cell.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum OutsideCellScenario {
        /// Calls of the depth phase.
        Depth = "depth",
        /// Calls outside of the plan: they confirm, compare or measure time.
        Auxiliary = "auxiliary",
    }
}

impl OutsideCellScenario {
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Depth, Self::Auxiliary].into_iter().find(|known| known.as_str() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    pub cell: CellKey,
    /// Number of the call in its cell. A call that is sent twice is stored once.
    pub number: u32,
    pub intent: InputIntent,
    pub verdict: Verdict,
    /// To the microsecond.
    pub wall_ms: f64,
    /// To the microsecond.
    pub cpu_ms: f64,
    pub memory_bytes: u64,
    /// Full name of the exception's type.
    pub exception: Option<String>,
    /// The first line, truncated.
    pub message: Option<String>,
    pub place: Option<SourceLocation>,
    pub failure: Option<FailureId>,
    /// The complete call, to make it again, where that is wanted.
    pub call: Option<Box<Call>>,
}

impl CallRecord {
    /// The compact record of an outcome.
    pub fn from_outcome(
        cell: CellKey,
        number: u32,
        intent: InputIntent,
        outcome: &Outcome,
    ) -> Self {
        let exception = outcome.exception.as_ref();
        let own_frame =
            exception.and_then(|raised| raised.frames.iter().rfind(|frame| frame.in_repository));
        let metrics = &outcome.runtime_metrics;
        let message = exception.map(|raised| &raised.message).or(outcome.reason.as_ref());
        Self {
            cell,
            number,
            intent,
            verdict: outcome.verdict,
            wall_ms: metrics.wall_ms,
            cpu_ms: metrics.user_cpu_ms + metrics.system_cpu_ms,
            memory_bytes: metrics.peak_memory_bytes,
            exception: exception.map(|raised| raised.kind.clone()),
            message: message.map(|message| truncate_message(message).to_owned()),
            place: own_frame
                .map(|frame| SourceLocation { file: frame.file.clone(), line: frame.line }),
            failure: None,
            call: None,
        }
    }

    /// Adds the complete call, to make it again.
    #[must_use]
    pub fn with_call(self, call: &Call) -> Self {
        Self { call: Some(Box::new(call.clone())), ..self }
    }
}

/// The beginning of the first line.
pub(crate) fn truncate_message(message: &str) -> &str {
    let line = message.trim_start().lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(MAX_MESSAGE_BYTES)]
}
