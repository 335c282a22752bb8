//! A finding while its place is still an offset.

use std::borrow::Cow;

use menace_model::{FindingConfidence, FindingSeverity, StaticFinding};
use ruff_source_file::LineIndex;
use ruff_text_size::{Ranged, TextRange, TextSize};

use crate::check::line_of;
use crate::check::rules::find_by_id;

#[derive(Debug)]
pub(in crate::check) struct RuleMatch {
    pub(in crate::check) rule: &'static str,
    pub(super) severity: FindingSeverity,
    pub(super) confidence: FindingConfidence,
    at: TextSize,
    /// The construct on whose lines a `# nosec` counts.
    context: TextRange,
    message: Cow<'static, str>,
}

impl RuleMatch {
    pub(in crate::check) fn line(&self, lines: &LineIndex) -> u32 {
        line_of(lines, self.at)
    }

    pub(in crate::check) fn context_lines(&self, lines: &LineIndex) -> (u32, u32) {
        (line_of(lines, self.context.start()), line_of(lines, self.context.end()))
    }

    pub(in crate::check) fn into_finding(self, line: u32) -> StaticFinding {
        StaticFinding {
            rule: self.rule.into(),
            severity: self.severity,
            confidence: self.confidence,
            line,
            message: self.message.into_owned(),
        }
    }
}

/// Collects the findings of rules.
#[derive(Debug, Default)]
pub(super) struct FindingSink {
    matches: Vec<RuleMatch>,
}

impl FindingSink {
    /// Reports at the start of the construct, with the usual ranks of the rule.
    pub(super) fn report(
        &mut self,
        rule: &'static str,
        construct: impl Ranged,
        message: impl Into<Cow<'static, str>>,
    ) -> &mut RuleMatch {
        self.report_at(construct.start(), rule, construct, message)
    }

    /// Reports at a place inside the construct, with the usual ranks of the rule.
    pub(super) fn report_at(
        &mut self,
        at: TextSize,
        rule: &'static str,
        construct: impl Ranged,
        message: impl Into<Cow<'static, str>>,
    ) -> &mut RuleMatch {
        let usual = find_by_id(rule).expect("every rule that is checked is in the table");
        self.matches.push_mut(RuleMatch {
            rule,
            severity: usual.severity,
            confidence: usual.confidence,
            at,
            context: construct.range(),
            message: message.into(),
        })
    }

    pub(super) fn into_matches(self) -> Vec<RuleMatch> {
        self.matches
    }
}
