//! Exceptions that nobody meant.

use menace_model::{Intent, Raised, Stage, Verdict};

use super::given::Given;
use super::{Weakness, WeaknessKind, Witness, is_a, is_meant, said, was_struck};

/// A function that is on the stack so often calls itself.
const OWN_RECURSION: usize = 3;

/// What Python finds by itself when code did not expect its input.
const UNEXPECTED: [&str; 7] = [
    "IndexError",
    "KeyError",
    "AttributeError",
    "TypeError",
    "ArithmeticError",
    "NameError",
    "StopIteration",
];

pub(super) fn judge(witness: &Witness<'_>, given: &Given) -> Option<Weakness> {
    let Witness { call, outcome, .. } = witness;
    let in_section = matches!(outcome.stage, Stage::Call | Stage::Consume);
    if outcome.verdict != Verdict::Raised || !in_section || was_struck(outcome) {
        return None;
    }
    if matches!(call.intent, Intent::Misuse | Intent::Drifted) || given.cycle {
        return None;
    }
    let exception = outcome.exception.as_ref()?;
    if is_meant(exception) {
        return None;
    }
    if is_a(exception, "RecursionError") {
        let kind = WeaknessKind::Recursion;
        let evidence = "it calls itself as often as its input says, until the stack is used up";
        return calls_itself(exception).then(|| Weakness::new(kind, evidence).at(exception));
    }
    if is_a(exception, "UnicodeError") {
        let ours = !given.surrogates;
        return ours.then(|| Weakness::new(WeaknessKind::Encoding, said(exception)).at(exception));
    }
    if given.extreme_number || given.raises || !fits(witness, exception, given) {
        return None;
    }
    Some(Weakness::new(WeaknessKind::Unhandled, said(exception)).at(exception))
}

/// Was the input what the section asks for, and the exception not an answer to it?
fn fits(witness: &Witness<'_>, exception: &Raised, given: &Given) -> bool {
    // A wrong guess of a type fails like this too: only what was declared, or worked before, counts.
    let declared = witness.annotated && !given.object && witness.call.receiver.is_none();
    let of_type = declared || witness.accepted && !given.made_up;
    let in_own_code = exception.frames.last().is_some_and(|frame| frame.own);
    if is_a(exception, "ValueError") {
        // Text that cannot be read is refused that way by Python itself.
        return of_type && in_own_code && !given.text;
    }
    if is_a(exception, "KeyError") && (given.mapping || given.object) {
        return witness.accepted;
    }
    let is_about_nothing = exception.message.contains("'NoneType'");
    if given.returned && is_about_nothing {
        // What a method returned was nothing, and became a part of the input all the same.
        return false;
    }
    if is_a(exception, "TypeError") || is_a(exception, "AttributeError") {
        return of_type && witness.accepted || declared && in_own_code && !given.mapping;
    }
    of_type && UNEXPECTED.iter().any(|class| is_a(exception, class))
}

fn calls_itself(exception: &Raised) -> bool {
    let own: Vec<_> = exception.frames.iter().filter(|frame| frame.own).collect();
    own.last().is_some_and(|last| {
        let same = |frame: &&&menace_model::Frame| {
            frame.function == last.function && frame.file == last.file
        };
        own.iter().filter(same).count() >= OWN_RECURSION
    })
}
