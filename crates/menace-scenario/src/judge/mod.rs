//! Oracles: from the outcome of a call to a weakness, or none.
//!
//! A correct section answers every input of its declared types: it returns, or it raises on
//! purpose. It leaks nothing, leaves no half-written files, and gives the same results in
//! concurrent runs. The rules are described in docs/weaknesses.md.
//!
//! Invariant: a weakness is a [`Candidate`] until the rerun of its call has confirmed it.

mod confirmation;
mod exits;
mod growth;
mod injection;
mod input_traits;
mod oracle_context;
mod side_effects;
#[cfg(test)]
mod tests;
mod under_faults;

pub use menace_model::WeaknessKind;
use menace_model::{Call, CallStage, Outcome, RaisedException, Verdict};
use serde::{Deserialize, Serialize};

pub(crate) use confirmation::CONFIRM_TIMEOUT_MS;
pub use confirmation::{Candidate, CandidateRerun, ConfirmedFinding, rerun_call};
pub use growth::{GrowthSample, steep_growth_exponent};
pub(crate) use growth::{MIN_MEASURABLE_CPU_MS, may_be_steep};
pub use oracle_context::{BaselineOutcome, OracleContext};
pub use under_faults::CORRUPTED_ANSWER_MARKER;

use input_traits::InputTraits;

/// A weakness of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionWeakness {
    pub kind: WeaknessKind,
    /// A sentence that describes what the oracle observed.
    pub evidence: String,
    /// File and line in the repository, if known.
    pub place: Option<(String, u32)>,
}

/// Everything that the oracles use to judge a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgeInput<'a> {
    /// Qualified name of the section.
    pub section: &'a str,
    pub params: &'a [String],
    pub call: &'a Call,
    pub outcome: &'a Outcome,
    /// Outcome of the same input without faults, for a call under faults.
    pub baseline: Option<&'a BaselineOutcome>,
    /// Another input of the same shape was answered.
    pub is_shape_accepted: bool,
    /// Every parameter has a declared type, and the arguments are of these types.
    pub is_fully_annotated: bool,
    /// Another input made it yield items and end.
    pub has_ended_before: bool,
}

/// The weakness that the outcome of this call shows.
pub(crate) fn find_weakness(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let was_not_called = matches!(
        judge_input.outcome.stage,
        CallStage::Resolve | CallStage::Construct | CallStage::Arguments
    );
    if was_not_called && judge_input.outcome.burst.is_none() {
        // The section was not called: constructing its receiver or arguments failed.
        return None;
    }
    let traits = InputTraits::from_call(judge_input.call);
    let rules: [&dyn Fn() -> Option<SectionWeakness>; 9] = [
        &|| under_faults::judge_concurrency(judge_input),
        &|| under_faults::judge_upstream(judge_input),
        &|| injection::judge(judge_input),
        &|| under_faults::judge_partial_writes(judge_input),
        &|| exits::judge_abnormal_exit(judge_input, &traits),
        &|| exits::judge_exception(judge_input, &traits),
        &|| side_effects::judge_shared_state(judge_input),
        &|| side_effects::judge_resource_leak(judge_input),
        &|| side_effects::judge_memory_leak(judge_input),
    ];
    rules.iter().find_map(|rule| rule())
}

/// The weakness of a module whose import ended like this.
pub fn find_import_weakness(outcome: &Outcome) -> Option<SectionWeakness> {
    let evidence = format!("it cannot be imported: {}", import_error(outcome)?);
    let weakness = SectionWeakness::new(WeaknessKind::Import, evidence);
    let raised = outcome.exception.as_ref();
    Some(raised.map_or(weakness.clone(), |raised| weakness.with_place_of(raised)))
}

/// Why an import failed, on one line.
pub fn import_error(outcome: &Outcome) -> Option<String> {
    let raised = outcome.exception.as_ref().map(exception_line);
    let why = raised.or_else(|| outcome.reason.clone());
    let has_failed = outcome.verdict != Verdict::Returned;
    has_failed.then(|| why.unwrap_or_else(|| outcome.verdict.to_string()))
}

impl SectionWeakness {
    fn new(kind: WeaknessKind, evidence: impl Into<String>) -> Self {
        Self { kind, evidence: evidence.into(), place: None }
    }

    /// Sets the place to the innermost frame of the repository.
    fn with_place_of(mut self, exception: &RaisedException) -> Self {
        let own = exception.frames.iter().rev().find(|frame| frame.in_repository);
        self.place = own.map(|frame| (frame.file.clone(), frame.line));
        self
    }
}

/// Class and first line of the message.
fn exception_line(exception: &RaisedException) -> String {
    let message = exception.message.lines().next().unwrap_or_default();
    if message.is_empty() {
        exception.kind.clone()
    } else {
        format!("{}: {message}", exception.kind)
    }
}

/// Is the exception of this class or of a subclass?
fn is_exception_of(exception: &RaisedException, class: &str) -> bool {
    exception.kind == class || exception.bases.iter().any(|base| base == class)
}

/// The section raised on purpose.
pub(crate) fn raised_on_purpose(outcome: &Outcome) -> bool {
    outcome.exception.as_ref().is_some_and(is_raised_on_purpose)
}

/// A `raise` statement of the repository is an answer to the input.
fn is_raised_on_purpose(exception: &RaisedException) -> bool {
    exception.explicit && exception.frames.last().is_some_and(|frame| frame.in_repository)
}

/// Was a fault injected during the call?
fn was_fault_injected(outcome: &Outcome) -> bool {
    outcome.fault_stats.iter().any(|stats| stats.injected > 0)
}
