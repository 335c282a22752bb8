//! The events of a run, as the progress display and the recorder receive them.

use menace_model::{Call, Failure, FailureId, Outcome, SectionId};

/// The stages of a cycle, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CycleStage {
    /// The imports of all modules, each in a sandbox of its own.
    Imports,
    /// Calls of all sections under the baseline.
    Baseline,
    /// Calls of all sections under the other scenarios of their modules.
    Scenarios,
    /// Sections are called one after the other in one process.
    SharedRun,
    /// Sections are explored with inputs that follow coverage.
    Depth,
}

impl CycleStage {
    /// The label of the progress display.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Imports => "importing",
            Self::Baseline => "calling",
            Self::Scenarios => "under scenarios",
            Self::SharedRun => "shared process",
            Self::Depth => "in depth",
        }
    }
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct CompletedCall<'a> {
    pub section: &'a SectionId,
    /// The scenario of its cell: `normal`, `hostile_input:high`. None for a call outside of cells:
    /// all of the depth phase, the second try of an import, and calls that are not counted.
    pub scenario: Option<&'a str>,
    /// Position in its cell, or among the calls of its section in depth, counted from 0.
    pub number: usize,
    /// False for auxiliary calls, which confirm a candidate of the breadth phase, run sections in a
    /// shared process or measure time: the run's count leaves them out. True for all others,
    /// including reruns in the depth phase and repeated imports.
    pub is_counted: bool,
    pub call: &'a Call,
    pub outcome: &'a Outcome,
}

/// A call of an earlier [`RunEvent::CallCompleted`] that shows a failure.
#[derive(Debug, Clone, Copy)]
pub struct ShownOccurrence<'a> {
    pub section: &'a SectionId,
    /// The scenario, as in [`CompletedCall`]; `None` for one of the latest calls outside of cells.
    pub scenario: Option<&'a str>,
    pub number: usize,
    pub failure: &'a FailureId,
}

#[derive(Debug, Clone, Copy)]
pub enum RunEvent<'a> {
    /// A cycle over this number of sections begins.
    PlanMade {
        sections: usize,
    },
    /// A stage begins. In depth the number of calls is an estimate.
    StageBegan {
        stage: CycleStage,
        calls: usize,
    },
    /// Sent in the order in which calls end, which differs from run to run.
    CallCompleted(CompletedCall<'a>),
    OccurrenceShown(ShownOccurrence<'a>),
    /// A rerun has shown a weakness again.
    FindingConfirmed(&'a Failure),
    /// A warning that the user should see at once.
    Warning(&'a str),
}

pub trait RunObserver {
    fn on_event(&mut self, event: RunEvent<'_>);
}

/// Ignores all events.
impl RunObserver for () {
    fn on_event(&mut self, _: RunEvent<'_>) {}
}
