//! One failure in full: the input, the faults around it, the traceback with the source.

use std::path::Path;

use menace_model::{Failure, RaisedException};
use menace_store::{FailureRecord, SourceLine, read_source_lines};
use serde::Serialize;

use crate::text::{format_timestamp, truncate};

/// Lines of source before and after the one in question.
const CONTEXT_LINES: usize = 3;
/// Frames of a deep traceback that are shown, the innermost ones.
const MAX_FRAMES: usize = 12;
/// Exceptions that led to each other.
const MAX_EXCEPTION_CHAIN: usize = 5;
const MAX_MESSAGE_CHARS: usize = 2_000;
const MAX_INPUT_CHARS: usize = 2_000;
const MAX_OUTPUT_CHARS: usize = 2_000;
const MAX_SOURCE_LINE_CHARS: usize = 300;

#[derive(Debug, Serialize)]
pub(crate) struct FailureDetail {
    pub id: String,
    pub section: String,
    pub module: String,
    pub name: String,
    pub kind: String,
    pub message: String,
    pub location: String,
    pub scenario: String,
    pub verdict: String,
    pub input: String,
    pub shrunk: Option<String>,
    /// The conditions of the shrunk call, if they are fewer than those of the call.
    pub shrunk_conditions: Option<Vec<String>>,
    pub conditions: Vec<String>,
    pub seed: String,
    pub count: u64,
    pub first_run: String,
    pub first: String,
    pub last_run: String,
    pub last: String,
    pub gone: Option<String>,
    pub is_new: bool,
    pub tracebacks: Vec<TracebackView>,
    pub stdout: String,
    pub stderr: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct TracebackView {
    pub kind: String,
    pub message: String,
    pub skipped: usize,
    pub frames: Vec<TracebackFrameView>,
}

#[derive(Debug, Serialize)]
pub(crate) struct TracebackFrameView {
    pub file: String,
    pub line: u32,
    pub function: String,
    pub own: bool,
    pub source: Vec<SourceLineView>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SourceLineView {
    pub number: usize,
    pub text: String,
    pub is_current: bool,
}

/// Source comes from the repository as it is now.
pub(crate) fn build_failure_detail(record: &FailureRecord, repository: &Path) -> FailureDetail {
    let Failure { id, section, kind, scenario, verdict, message, location, call, outcome, .. } =
        &record.failure;
    let mut tracebacks = Vec::new();
    let mut raised = outcome.exception.as_ref();
    while let Some(one) = raised.filter(|_| tracebacks.len() < MAX_EXCEPTION_CHAIN) {
        tracebacks.push(build_traceback(one, repository));
        raised = one.cause.as_deref();
    }
    FailureDetail {
        id: id.0.clone(),
        section: section.as_str().to_owned(),
        module: section.path().to_owned(),
        name: section_display_name(section.qualname()),
        kind: kind.as_str().to_owned(),
        message: truncate(message, MAX_MESSAGE_CHARS),
        location: location.to_string(),
        scenario: scenario.clone(),
        verdict: verdict.as_str().to_owned(),
        input: truncate(&call.to_python(), MAX_INPUT_CHARS),
        shrunk: record.shrunk.as_ref().map(|call| truncate(&call.to_python(), MAX_INPUT_CHARS)),
        shrunk_conditions: record
            .shrunk
            .as_ref()
            .filter(|small| small.conditions != call.conditions)
            .map(|small| small.conditions.describe()),
        conditions: call.conditions.describe(),
        seed: call.seed.to_string(),
        count: record.count_in_run.unwrap_or(record.count),
        first_run: record.first_seen.run.0.clone(),
        first: format_timestamp(record.first_seen.at_ms),
        last_run: record.last_seen.run.0.clone(),
        last: format_timestamp(record.last_seen.at_ms),
        gone: record.gone_ms.map(format_timestamp),
        is_new: record.new_in_run,
        tracebacks,
        stdout: truncate(&outcome.stdout.text, MAX_OUTPUT_CHARS),
        stderr: truncate(&outcome.stderr.text, MAX_OUTPUT_CHARS),
    }
}

/// A section's name within its module.
pub(crate) fn section_display_name(qualname: &str) -> String {
    if qualname.is_empty() { "(top level)".to_owned() } else { qualname.to_owned() }
}

impl From<SourceLine> for SourceLineView {
    fn from(SourceLine { number, text, is_current }: SourceLine) -> Self {
        Self { number, text: truncate(&text, MAX_SOURCE_LINE_CHARS), is_current }
    }
}

fn build_traceback(raised: &RaisedException, repository: &Path) -> TracebackView {
    let skipped = raised.frames.len().saturating_sub(MAX_FRAMES);
    let last_own = raised.frames.iter().rposition(|frame| frame.in_repository);
    let frames = raised.frames.iter().enumerate().skip(skipped);
    TracebackView {
        kind: raised.kind.strip_prefix("builtins.").unwrap_or(&raised.kind).to_owned(),
        message: truncate(&raised.message, MAX_MESSAGE_CHARS),
        skipped,
        frames: frames
            .map(|(index, frame)| {
                let lines = if Some(index) == last_own { CONTEXT_LINES } else { 0 };
                TracebackFrameView {
                    file: frame.file.clone(),
                    line: frame.line,
                    function: frame.function.clone(),
                    own: frame.in_repository,
                    source: if frame.in_repository {
                        read_source_lines(repository, &frame.file, frame.line, lines)
                            .into_iter()
                            .map(SourceLineView::from)
                            .collect()
                    } else {
                        Vec::new()
                    },
                }
            })
            .collect(),
    }
}
