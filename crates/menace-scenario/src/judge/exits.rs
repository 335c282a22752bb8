//! Oracles for how a call ended: unhandled exceptions, crashes, hangs, exhausted memory.

use menace_model::{CallStage, InputIntent, RaisedException, Verdict};

use super::input_traits::InputTraits;
use super::{
    JudgeInput, SectionWeakness, WeaknessKind, exception_line, is_exception_of,
    is_raised_on_purpose, was_fault_injected,
};

/// A function with this many frames on the stack counts as recursive.
const MIN_RECURSION_FRAMES: usize = 3;

/// Exceptions of Python itself for code that did not expect its input.
const UNEXPECTED_EXCEPTIONS: [&str; 7] = [
    "IndexError",
    "KeyError",
    "AttributeError",
    "TypeError",
    "ArithmeticError",
    "NameError",
    "StopIteration",
];

pub(super) fn judge_exception(
    judge_input: &JudgeInput<'_>,
    traits: &InputTraits,
) -> Option<SectionWeakness> {
    let JudgeInput { call, outcome, .. } = judge_input;
    let in_section = matches!(outcome.stage, CallStage::Call | CallStage::Consume);
    if outcome.verdict != Verdict::Raised || !in_section || was_fault_injected(outcome) {
        return None;
    }
    if matches!(call.intent, InputIntent::Misuse | InputIntent::Drifted) || traits.has_cycle {
        return None;
    }
    let exception = outcome.exception.as_ref()?;
    if is_raised_on_purpose(exception) {
        return None;
    }
    if is_exception_of(exception, "RecursionError") {
        let kind = WeaknessKind::Recursion;
        let evidence = "the recursion depth follows the input, until the stack is exhausted";
        return is_recursive(exception)
            .then(|| SectionWeakness::new(kind, evidence).with_place_of(exception));
    }
    if is_exception_of(exception, "UnicodeError") {
        let is_encodable = !traits.has_surrogates;
        return is_encodable.then(|| {
            SectionWeakness::new(WeaknessKind::Encoding, exception_line(exception))
                .with_place_of(exception)
        });
    }
    if traits.has_extreme_number
        || traits.has_raising_callable
        || !is_input_valid(judge_input, exception, traits)
    {
        return None;
    }
    Some(
        SectionWeakness::new(WeaknessKind::Unhandled, exception_line(exception))
            .with_place_of(exception),
    )
}

/// Was the input of the expected types, and the exception no refusal of it?
fn is_input_valid(
    judge_input: &JudgeInput<'_>,
    exception: &RaisedException,
    traits: &InputTraits,
) -> bool {
    // A wrongly guessed type fails in the same way: only declared types, or call shapes that were
    // accepted before, count.
    let declared =
        judge_input.is_fully_annotated && !traits.has_object && judge_input.call.receiver.is_none();
    let of_type = declared || judge_input.is_shape_accepted && !traits.has_invented_object;
    let in_own_code = exception.frames.last().is_some_and(|frame| frame.in_repository);
    if is_exception_of(exception, "ValueError") {
        // Python itself refuses malformed text with a `ValueError`.
        return of_type && in_own_code && !traits.has_text;
    }
    if is_exception_of(exception, "KeyError") && (traits.has_mapping || traits.has_object) {
        return judge_input.is_shape_accepted;
    }
    let is_about_nothing = exception.message.contains("'NoneType'");
    if traits.has_returned_value && is_about_nothing {
        // A method returned `None`, which became a part of the input.
        return false;
    }
    if is_exception_of(exception, "TypeError") || is_exception_of(exception, "AttributeError") {
        return of_type && judge_input.is_shape_accepted
            || declared && in_own_code && !traits.has_mapping;
    }
    of_type && UNEXPECTED_EXCEPTIONS.iter().any(|class| is_exception_of(exception, class))
}

fn is_recursive(exception: &RaisedException) -> bool {
    let own: Vec<_> = exception.frames.iter().filter(|frame| frame.in_repository).collect();
    own.last().is_some_and(|last| {
        let same = |frame: &&&menace_model::StackFrame| {
            frame.function == last.function && frame.file == last.file
        };
        own.iter().filter(same).count() >= MIN_RECURSION_FRAMES
    })
}

pub(super) fn judge_abnormal_exit(
    judge_input: &JudgeInput<'_>,
    traits: &InputTraits,
) -> Option<SectionWeakness> {
    let JudgeInput { call, outcome, .. } = judge_input;
    let reason = || outcome.reason.clone().unwrap_or_else(|| outcome.verdict.to_string());
    if outcome.verdict == Verdict::Crashed
        && outcome.exit.signal.is_some()
        && !was_fault_injected(outcome)
    {
        return Some(SectionWeakness::new(WeaknessKind::Crash, reason()));
    }
    // Misuse, cycles, huge numbers and endless files may take long or exhaust the memory.
    let is_reasonable = call.intent != InputIntent::Misuse
        && traits.is_small()
        && !traits.has_cycle
        && !traits.has_endless_device;
    if !is_reasonable || !call.conditions.is_fault_free() {
        return None;
    }
    match outcome.verdict {
        Verdict::TimedOut => Some(SectionWeakness::new(
            WeaknessKind::Hang,
            format!(
                "a small input, and the call was still running after {} ms",
                call.limits.timeout_ms
            ),
        )),
        Verdict::Returned if judge_input.has_ended_before && traits.is_tiny() => {
            let value = outcome.value.as_ref().filter(|value| value.more)?;
            let items = value.items.unwrap_or_default();
            let evidence =
                format!("a tiny input, and the generator had not ended after {items} items");
            Some(SectionWeakness::new(WeaknessKind::Hang, evidence))
        }
        Verdict::OutOfMemory => Some(SectionWeakness::new(WeaknessKind::Memory, reason())),
        _ => None,
    }
}
