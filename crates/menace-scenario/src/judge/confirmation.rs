//! Candidate → rerun → finding: the same way for imports, for the breadth phase, for exploring,
//! and for `menace repro` and `menace shrink`.
//!
//! The caller makes the call of the rerun. Invariant: the rerun of a rerun's call is that call
//! itself, so `menace repro` makes the call that confirmed the failure.

use menace_model::{Call, Outcome, WeaknessKind};

use super::{BaselineOutcome, OracleContext, SectionWeakness, find_import_weakness};

/// The least time limit of a rerun. It is longer than that of a first call, so that a call that was
/// only slowed down by a busy machine is not confirmed as a hang.
pub(crate) const CONFIRM_TIMEOUT_MS: u64 = 3_000;
/// The fewest repetitions in the rerun of a call that is repeated in one process: a bounded cache
/// may grow during the first ones, and stops growing later.
const CONFIRM_REPEATS: u32 = 360;

/// The rerun of a candidate's call, and of the call of a failure.
pub fn rerun_call(call: &Call) -> Call {
    let mut rerun = call.clone();
    rerun.limits.timeout_ms = rerun.limits.timeout_ms.max(CONFIRM_TIMEOUT_MS);
    rerun.coverage = false;
    if rerun.repeats > 0 {
        rerun.repeats = rerun.repeats.max(CONFIRM_REPEATS);
    }
    rerun
}

/// A weakness that one call has shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub call: Call,
    pub weakness: SectionWeakness,
    /// Set only where the finding may have to describe this call instead of its rerun.
    outcome: Option<Box<Outcome>>,
}

/// The rerun of a candidate's call, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateRerun {
    pub call: Call,
    pub outcome: Outcome,
    pub weakness: Option<SectionWeakness>,
}

/// A weakness that was seen again, with the call and the outcome that show it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmedFinding {
    pub weakness: SectionWeakness,
    pub call: Call,
    pub outcome: Outcome,
}

impl Candidate {
    pub fn new(weakness: SectionWeakness, call: &Call, outcome: &Outcome) -> Self {
        let may_be_described = weakness.kind.takes_precedence_over(WeaknessKind::Hang);
        let outcome = may_be_described.then(|| Box::new(outcome.clone()));
        Self { call: call.clone(), weakness, outcome }
    }

    /// `None` if the rerun does not show the weakness again. The finding describes the rerun; or
    /// the first call, if that ran out of memory and the rerun timed out before it did.
    pub fn confirm(self, rerun: CandidateRerun) -> Option<ConfirmedFinding> {
        let Self { call, weakness, outcome } = self;
        if !rerun.confirms(weakness.kind) {
            return None;
        }
        let shown = rerun.weakness?;
        let outcome = outcome.filter(|_| weakness.kind.takes_precedence_over(shown.kind));
        Some(match outcome {
            Some(outcome) => ConfirmedFinding { weakness, call, outcome: *outcome },
            None => ConfirmedFinding { weakness: shown, call: rerun.call, outcome: rerun.outcome },
        })
    }
}

impl CandidateRerun {
    /// Judges the outcome of a rerun; `baseline` is the outcome of the same input without faults.
    pub fn judge(
        call: Call,
        outcome: Outcome,
        oracle_context: &OracleContext<'_>,
        baseline: Option<&BaselineOutcome>,
    ) -> Self {
        let weakness = oracle_context.find_weakness(&call, &outcome, baseline);
        Self { call, outcome, weakness }
    }

    /// Judges the outcome of a module's import.
    pub fn judge_import(call: Call, outcome: Outcome) -> Self {
        let weakness = find_import_weakness(&outcome);
        Self { call, outcome, weakness }
    }

    /// Whether it shows a weakness of this kind again.
    pub fn confirms(&self, kind: WeaknessKind) -> bool {
        self.weakness.as_ref().is_some_and(|weakness| kind.is_confirmed_by(weakness.kind))
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{CallStage, CallTarget, ModuleRef, TargetKind, Verdict};

    use super::*;

    fn call(timeout_ms: u64, repeats: u32) -> Call {
        let module = ModuleRef { name: "desk".to_owned(), path: None };
        let target = CallTarget { module, qualname: "half".to_owned(), kind: TargetKind::Function };
        let mut call = Call { repeats, coverage: true, ..Call::new(target) };
        call.limits.timeout_ms = timeout_ms;
        call
    }

    /// The finding's kind of weakness and its time limit.
    fn confirm(
        candidate: WeaknessKind,
        rerun: Option<WeaknessKind>,
    ) -> Option<(WeaknessKind, u64)> {
        let first = call(1_000, 0);
        let outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        let candidate = Candidate::new(SectionWeakness::new(candidate, ""), &first, &outcome);
        let weakness = rerun.map(|kind| SectionWeakness::new(kind, ""));
        let finding =
            candidate.confirm(CandidateRerun { call: rerun_call(&first), outcome, weakness })?;
        Some((finding.weakness.kind, finding.call.limits.timeout_ms))
    }

    #[test]
    fn a_rerun_confirms_the_same_kind_and_memory_wins_over_a_hang() {
        use WeaknessKind::{Hang, Leak, Memory};
        for (candidate, rerun, finding) in [
            (Leak, None, None),
            (Leak, Some(Hang), None),
            (Leak, Some(Leak), Some((Leak, CONFIRM_TIMEOUT_MS))),
            (Memory, Some(Memory), Some((Memory, CONFIRM_TIMEOUT_MS))),
            (Hang, Some(Memory), Some((Memory, CONFIRM_TIMEOUT_MS))),
            // The first call, which ran out of memory.
            (Memory, Some(Hang), Some((Memory, 1_000))),
        ] {
            assert_eq!(confirm(candidate, rerun), finding, "{candidate} {rerun:?}");
        }
    }

    #[test]
    fn the_rerun_of_a_rerun_is_the_same_call() {
        for (timeout_ms, repeats, expected) in
            [(1_000, 0, (3_000, 0)), (30_000, 15, (30_000, 360)), (3_000, 999, (3_000, 999))]
        {
            let rerun = rerun_call(&call(timeout_ms, repeats));
            assert_eq!((rerun.limits.timeout_ms, rerun.repeats), expected);
            assert!(!rerun.coverage);
            assert_eq!(rerun_call(&rerun), rerun);
        }
    }
}
