//! Calls that did not end by themselves.

use menace_model::{Intent, Verdict};

use super::given::Given;
use super::{Weakness, WeaknessKind, Witness, was_struck};

pub(super) fn judge(witness: &Witness<'_>, given: &Given) -> Option<Weakness> {
    let Witness { call, outcome, .. } = witness;
    let reason = || outcome.reason.clone().unwrap_or_else(|| outcome.verdict.to_string());
    if outcome.verdict == Verdict::Crashed && outcome.exit.signal.is_some() && !was_struck(outcome)
    {
        return Some(Weakness::new(WeaknessKind::Crash, reason()));
    }
    // Whoever passes nonsense, a cycle, a huge number or a file without end may have to wait.
    let fair = call.intent != Intent::Misuse && given.is_small() && !given.cycle && !given.endless;
    if !fair || !call.conditions.is_untroubled() {
        return None;
    }
    match outcome.verdict {
        Verdict::TimedOut => Some(Weakness::new(
            WeaknessKind::Hang,
            format!("a small input, and after {} ms it was still at it", call.limits.timeout_ms),
        )),
        Verdict::Returned if witness.ends && given.is_tiny() => {
            let value = outcome.value.as_ref().filter(|value| value.more)?;
            let items = value.items.unwrap_or_default();
            let evidence = format!("a tiny input, and after {items} items there were still more");
            Some(Weakness::new(WeaknessKind::Hang, evidence))
        }
        Verdict::OutOfMemory => Some(Weakness::new(WeaknessKind::Memory, reason())),
        _ => None,
    }
}
