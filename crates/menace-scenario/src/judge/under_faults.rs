//! Oracles for calls under faults: concurrency bursts, interrupted writes, failing upstreams.

use menace_model::{FaultMode, FileChangeKind, Outcome, TouchedFile, Verdict};

use super::side_effects::name_has_word;
use super::{
    JudgeInput, SectionWeakness, WeaknessKind, exception_line, is_exception_of,
    is_raised_on_purpose,
};

/// Words in the names of sections that wait for another thread by design.
const WAITING_WORDS: [&str; 9] =
    ["acquire", "wait", "get", "put", "join", "take", "lock", "enter", "recv"];

pub(super) fn judge_concurrency(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let burst = judge_input.outcome.burst.as_ref()?;
    let run_count = burst.threads_spawned + burst.tasks_spawned;
    // A section must not wait because another run was refused.
    let refused = judge_input.baseline.is_some_and(|baseline| baseline.raised_on_purpose);
    if burst.deadlocked && (refused || !name_has_word(judge_input.section, &WAITING_WORDS)) {
        return Some(SectionWeakness::new(
            WeaknessKind::Deadlock,
            format!(
                "{} of {run_count} concurrent runs never ended",
                run_count.saturating_sub(burst.finished)
            ),
        ));
    }
    if let Some(exception) = burst.raised.first() {
        return Some(SectionWeakness::new(
            WeaknessKind::Race,
            format!("{exception}, which a single run does not raise"),
        ));
    }
    // Addresses differ between equal objects.
    let comparable = judge_input.baseline.is_none_or(|baseline| baseline.is_comparable);
    (burst.differs && comparable).then(|| {
        SectionWeakness::new(
            WeaknessKind::Race,
            format!("{run_count} concurrent runs gave other results than sequential runs"),
        )
    })
}

/// Faults that interrupt a write. Flipped bits are not the section's responsibility.
const INTERRUPTING_FAULTS: [FaultMode; 3] =
    [FaultMode::Disk, FaultMode::Timeout, FaultMode::Memory];

pub(super) fn judge_partial_writes(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let outcome = judge_input.outcome;
    let baseline = judge_input.baseline?;
    let interrupted = outcome
        .fault_stats
        .iter()
        .any(|stats| INTERRUPTING_FAULTS.contains(&stats.mode) && stats.injected > 0);
    if !interrupted || baseline.verdict != Verdict::Returned {
        return None;
    }
    let of_database =
        outcome.exception.as_ref().is_some_and(|one| is_exception_of(one, "sqlite3.Error"));
    if of_database || has_journal(&outcome.files.touched) {
        return None;
    }
    for (path, whole) in &baseline.written {
        let now = outcome.files.touched.iter().find(|file| file.path == *path);
        match now {
            Some(now) if differs_from(now, whole) => {
                return Some(SectionWeakness::new(
                    WeaknessKind::PartialWrite,
                    format!("`{path}` has neither its old nor its complete new content"),
                ));
            }
            // The file was not written, and the caller is not informed.
            None if outcome.verdict == Verdict::Returned && has_baseline_result(judge_input) => {
                return Some(SectionWeakness::new(
                    WeaknessKind::SilentFailure,
                    format!("`{path}` was not written, and the section returned without an error"),
                ));
            }
            _ => {}
        }
    }
    None
}

/// With a journal, a database rolls back an unfinished transaction when it is opened again.
fn has_journal(touched: &[TouchedFile]) -> bool {
    touched.iter().any(|journal| {
        let base = ["-journal", "-wal"].iter().find_map(|end| journal.path.strip_suffix(end));
        base.is_some_and(|base| touched.iter().any(|file| file.path == base))
    })
}

/// Is the file certainly not the complete one? Without a hash it may be unchanged.
fn differs_from(now: &TouchedFile, whole: &str) -> bool {
    now.change == FileChangeKind::Deleted || now.hash.as_ref().is_some_and(|now| now != whole)
}

fn has_baseline_result(judge_input: &JudgeInput<'_>) -> bool {
    let value = judge_input.outcome.value.as_ref();
    let now = value.and_then(|value| value.hash.as_ref());
    judge_input.baseline.is_some_and(|baseline| baseline.hash.as_ref() == now)
}

/// The marker in the body of every corrupted answer: a section that returns it did not check the
/// response.
pub const CORRUPTED_ANSWER_MARKER: &str = "menace corrupted reply";

/// Exceptions that inform the caller about the network.
const NETWORK_EXCEPTIONS: [&str; 2] = ["OSError", "http.client.HTTPException"];

/// Exceptions of code that did not check the response.
const UNCHECKED_DATA_EXCEPTIONS: [&str; 4] =
    ["KeyError", "IndexError", "TypeError", "AttributeError"];

pub(super) fn judge_upstream(judge_input: &JudgeInput<'_>) -> Option<SectionWeakness> {
    let outcome = judge_input.outcome;
    let asked = outcome.upstream.as_ref()?;
    if asked.without_timeout > 0 {
        let evidence = match asked.requests.iter().find(|asked| asked.answer == "silence") {
            Some(asked) => format!("{}: no answer, and no timeout was set", asked.request),
            None => "no answer, and no timeout was set".to_owned(),
        };
        return Some(SectionWeakness::new(WeaknessKind::NoTimeout, evidence));
    }
    if asked.requests.is_empty() {
        return None;
    }
    match outcome.verdict {
        Verdict::Returned if is_upstream_faulty(outcome) && returns_corrupted_answer(outcome) => {
            Some(SectionWeakness::new(
                WeaknessKind::UncheckedResponse,
                "it returned the corrupted answer of a failing service",
            ))
        }
        Verdict::Raised => {
            let exception = outcome.exception.as_ref()?;
            // Without a fault, the answer is well-formed but may not have the fields that the
            // section needs.
            let is_unchecked = is_upstream_faulty(outcome)
                || UNCHECKED_DATA_EXCEPTIONS.iter().any(|class| is_exception_of(exception, class));
            let is_reported = is_raised_on_purpose(exception)
                || NETWORK_EXCEPTIONS.iter().any(|class| is_exception_of(exception, class));
            let is_own = exception.frames.iter().any(|frame| frame.in_repository);
            (is_own && is_unchecked && !is_reported).then(|| {
                SectionWeakness::new(WeaknessKind::UncheckedResponse, exception_line(exception))
                    .with_place_of(exception)
            })
        }
        _ => None,
    }
}

fn is_upstream_faulty(outcome: &Outcome) -> bool {
    outcome
        .fault_stats
        .iter()
        .any(|stats| stats.mode == FaultMode::FlakyUpstream && stats.injected > 0)
}

fn returns_corrupted_answer(outcome: &Outcome) -> bool {
    outcome.value.as_ref().is_some_and(|value| value.repr.contains(CORRUPTED_ANSWER_MARKER))
}
