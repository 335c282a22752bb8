//! Who hears of what a cycle does, while it does it.

use menace_model::{Call, Failure, FailureId, Outcome, SectionId};

/// What a cycle is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Modules are imported, alone.
    Imports,
    /// Every section, in peace.
    Baseline,
    /// Every section under every other scenario.
    Scenarios,
    /// Sections in depth, with inputs that learn from what they reach.
    Depth,
    /// Sections together in one interpreter.
    Together,
}

impl Stage {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Imports => "importing",
            Self::Baseline => "calling",
            Self::Scenarios => "under scenarios",
            Self::Depth => "in depth",
            Self::Together => "together",
        }
    }
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    pub section: &'a SectionId,
    /// Of a cell, `normal` or `hostile_input:high`; none for calls that belong to no cell.
    pub scenario: Option<&'a str>,
    /// Which call of its cell, or of its section in depth, counted from 0.
    pub number: usize,
    /// Whether it is one of the calls of the run; others confirm, compare or measure time beside them.
    pub counts: bool,
    pub call: &'a Call,
    pub outcome: &'a Outcome,
}

/// Hears of calls in the order in which they end, which is not always the same.
pub trait Watch {
    /// A cycle over so many sections begins.
    fn plans(&mut self, _sections: usize) {}

    /// A stage begins; how many calls it has is known, or at least guessed.
    fn begins(&mut self, _stage: Stage, _calls: usize) {}

    fn called(&mut self, _called: Called<'_>) {}

    /// A call of a cell that was heard of before turned out to show a failure.
    fn shown(
        &mut self,
        _section: &SectionId,
        _scenario: &str,
        _number: usize,
        _failure: &FailureId,
    ) {
    }

    /// The same of a call that belongs to no cell, one of those that were heard of last.
    fn confirmed(&mut self, _section: &SectionId, _number: usize, _failure: &FailureId) {}

    /// Something that the user should know of now.
    fn warned(&mut self, _warning: &str) {}

    /// Somebody was blamed, and it was confirmed.
    fn failed(&mut self, _failure: &Failure) {}
}

/// Nobody.
impl Watch for () {}
