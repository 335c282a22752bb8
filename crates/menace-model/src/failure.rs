//! A failure: one way in which a section breaks, and a call that shows it.
//!
//! Occurrences with the same section, exception or weakness, and line are one failure with a count.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Call, Outcome, SectionId, Verdict, WeaknessKind};

/// `f` and ten hexadecimal digits; equal for the same failure in every run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailureId(pub String);

impl fmt::Display for FailureId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A place in the repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceLocation {
    pub file: String,
    pub line: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub id: FailureId,
    pub section: SectionId,
    pub kind: WeaknessKind,
    /// The label of the first scenario that showed it, with its severity where it has one. Failures
    /// of the depth phase have a plain name.
    pub scenario: String,
    pub verdict: Verdict,
    /// Full name of the exception's type, when there is one.
    pub exception: Option<String>,
    /// A sentence that describes what happened.
    pub message: String,
    /// Where in the repository it happened; the section's first line if nothing better is known.
    pub location: SourceLocation,
    /// The call that showed it.
    pub call: Call,
    /// The outcome of that call.
    pub outcome: Outcome,
}
