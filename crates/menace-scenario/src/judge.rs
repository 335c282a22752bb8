//! When a section is blamed: from what came of a call to a weakness, or none.
//!
//! A sound section answers every input of the type that it declares: it returns, or it raises on
//! purpose. It keeps nothing, breaks nothing half-way, and behaves in company as it does alone.
//! The rules are in docs/scenarios.md, one file each here.
//!
//! Invariant: a single observation is evidence, not proof; whoever makes the calls repeats the one in
//! question before anybody is blamed.

mod alone;
mod company;
mod effects;
mod endings;
mod exceptions;
mod files;
mod given;
mod growth;
mod injection;
mod known;
mod shape;
#[cfg(test)]
mod tests;
mod upstream;

pub use menace_model::WeaknessKind;
use menace_model::{Call, Outcome, Raised, Stage};
use serde::{Deserialize, Serialize};

pub use alone::Alone;
pub use growth::{Growth, growth};
pub(crate) use growth::{MEASURABLE_MS, may_be_steep};
pub use injection::MARKER;
pub use known::Known;
pub use shape::Shape;
pub use upstream::SPOILT;

use given::Given;

/// What is wrong with a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakness {
    pub kind: WeaknessKind,
    /// What was seen, in a sentence.
    pub evidence: String,
    /// File and line of the repository, where there is one to point to.
    pub place: Option<(String, u32)>,
}

/// What is known when a call is judged.
#[derive(Debug, Clone, Copy)]
pub struct Witness<'a> {
    /// Qualified name of the section.
    pub section: &'a str,
    /// Names of its parameters.
    pub params: &'a [String],
    pub call: &'a Call,
    pub outcome: &'a Outcome,
    /// The same input without trouble, for a call in trouble.
    pub alone: Option<&'a Alone>,
    /// Another input of the same [`Shape`] was answered.
    pub accepted: bool,
    /// Every parameter has a declared type, and what it gets is of it.
    pub annotated: bool,
    /// Another input made it give items, and come to an end.
    pub ends: bool,
}

/// What this call says against its section.
pub fn weakness(witness: &Witness<'_>) -> Option<Weakness> {
    let on_the_way =
        matches!(witness.outcome.stage, Stage::Resolve | Stage::Construct | Stage::Arguments);
    if on_the_way && witness.outcome.burst.is_none() {
        // It was never called: what its instance or arguments do is somebody else's.
        return None;
    }
    let given = Given::of(witness.call);
    let rules: [&dyn Fn() -> Option<Weakness>; 9] = [
        &|| company::judge(witness),
        &|| upstream::judge(witness),
        &|| injection::judge(witness),
        &|| files::judge(witness),
        &|| endings::judge(witness, &given),
        &|| exceptions::judge(witness, &given),
        &|| effects::shared_state(witness),
        &|| effects::leak(witness),
        &|| effects::kept(witness),
    ];
    rules.iter().find_map(|rule| rule())
}

impl Weakness {
    fn new(kind: WeaknessKind, evidence: impl Into<String>) -> Self {
        Self { kind, evidence: evidence.into(), place: None }
    }

    /// Where the repository's code was when it happened.
    fn at(mut self, exception: &Raised) -> Self {
        let own = exception.frames.iter().rev().find(|frame| frame.own);
        self.place = own.map(|frame| (frame.file.clone(), frame.line));
        self
    }
}

/// The exception in a line.
fn said(exception: &Raised) -> String {
    let message = exception.message.lines().next().unwrap_or_default();
    if message.is_empty() {
        exception.kind.clone()
    } else {
        format!("{}: {message}", exception.kind)
    }
}

/// Is it of this built-in class, or derived from it?
fn is_a(exception: &Raised, class: &str) -> bool {
    exception.kind == class || exception.bases.iter().any(|base| base == class)
}

/// The section raised, on purpose.
pub(crate) fn is_refusal(outcome: &Outcome) -> bool {
    outcome.exception.as_ref().is_some_and(is_meant)
}

/// Somebody wrote `raise`, in the repository: it is an answer.
fn is_meant(exception: &Raised) -> bool {
    exception.explicit && exception.frames.last().is_some_and(|frame| frame.own)
}

/// Faults that were asked for struck.
fn was_struck(outcome: &Outcome) -> bool {
    outcome.felt.iter().any(|felt| felt.struck > 0)
}
