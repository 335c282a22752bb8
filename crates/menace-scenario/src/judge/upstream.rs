//! What a section makes of the answers that it gets.

use menace_model::{FaultMode, Outcome, Verdict};

use super::{Weakness, WeaknessKind, Witness, is_a, is_meant, said};

/// In the body of every broken answer: who passes it on took it for good.
pub const SPOILT: &str = "menace spoilt answer";

/// Exceptions that tell the caller what happened: a connection, a protocol, a time.
const HONEST: [&str; 2] = ["OSError", "http.client.HTTPException"];

/// Exceptions of those who took an answer for what they wanted.
const STUMBLES: [&str; 4] = ["KeyError", "IndexError", "TypeError", "AttributeError"];

pub(super) fn judge(witness: &Witness<'_>) -> Option<Weakness> {
    let outcome = witness.outcome;
    let asked = outcome.upstream.as_ref()?;
    if asked.without_timeout > 0 {
        let evidence = match asked.requests.iter().find(|asked| asked.answer == "silence") {
            Some(asked) => format!("{}: no answer, and no timeout was set", asked.what),
            None => "no answer, and no timeout was set".to_owned(),
        };
        return Some(Weakness::new(WeaknessKind::NoTimeout, evidence));
    }
    if asked.requests.is_empty() {
        return None;
    }
    match outcome.verdict {
        Verdict::Returned if flaky(outcome) && passes_on(outcome) => Some(Weakness::new(
            WeaknessKind::UncheckedResponse,
            "it returned what a failing service answered",
        )),
        Verdict::Raised => {
            let exception = outcome.exception.as_ref()?;
            // Without trouble, an answer is of no use to the section, and still well-formed.
            let stumbled = flaky(outcome) || STUMBLES.iter().any(|class| is_a(exception, class));
            let honest = is_meant(exception) || HONEST.iter().any(|class| is_a(exception, class));
            let own = exception.frames.iter().any(|frame| frame.own);
            (own && stumbled && !honest).then(|| {
                Weakness::new(WeaknessKind::UncheckedResponse, said(exception)).at(exception)
            })
        }
        _ => None,
    }
}

fn flaky(outcome: &Outcome) -> bool {
    outcome.felt.iter().any(|felt| felt.mode == FaultMode::FlakyUpstream && felt.struck > 0)
}

fn passes_on(outcome: &Outcome) -> bool {
    outcome.value.as_ref().is_some_and(|value| value.repr.contains(SPOILT))
}
