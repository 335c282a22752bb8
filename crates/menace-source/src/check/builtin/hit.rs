//! A finding while its place is still an offset.

use std::borrow::Cow;

use menace_model::{Confidence, Finding, Severity};
use ruff_source_file::LineIndex;
use ruff_text_size::{TextRange, TextSize};

use crate::check::line_of;

#[derive(Debug)]
pub(in crate::check) struct Hit {
    pub(in crate::check) rule: &'static str,
    severity: Severity,
    confidence: Confidence,
    at: TextSize,
    /// The construct on whose lines a `# nosec` counts.
    context: TextRange,
    message: Cow<'static, str>,
}

impl Hit {
    pub(in crate::check) fn line(&self, lines: &LineIndex) -> u32 {
        line_of(lines, self.at)
    }

    pub(in crate::check) fn context_lines(&self, lines: &LineIndex) -> (u32, u32) {
        (line_of(lines, self.context.start()), line_of(lines, self.context.end()))
    }

    pub(in crate::check) fn into_finding(self, line: u32) -> Finding {
        Finding {
            rule: self.rule.into(),
            severity: self.severity,
            confidence: self.confidence,
            line,
            message: self.message.into_owned(),
        }
    }
}

/// Where rules put what they find.
#[derive(Debug, Default)]
pub(super) struct Sink {
    hits: Vec<Hit>,
}

/// How a rule ranks one finding.
pub(super) type Ranks = (Severity, Confidence);

impl Sink {
    /// Reports at the start of the construct.
    pub(super) fn report(
        &mut self,
        rule: &'static str,
        ranks: Ranks,
        context: TextRange,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.report_at(context.start(), rule, ranks, context, message);
    }

    /// Reports at a place inside the construct.
    pub(super) fn report_at(
        &mut self,
        at: TextSize,
        rule: &'static str,
        (severity, confidence): Ranks,
        context: TextRange,
        message: impl Into<Cow<'static, str>>,
    ) {
        let message = message.into();
        self.hits.push(Hit { rule, severity, confidence, at, context, message });
    }

    pub(super) fn into_hits(self) -> Vec<Hit> {
        self.hits
    }
}
