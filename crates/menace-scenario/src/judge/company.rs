//! Many runs at once.

use super::effects::says;
use super::{Weakness, WeaknessKind, Witness};

/// Words in the name of a section that is meant to wait until somebody else does something.
const WAITS: [&str; 9] = ["acquire", "wait", "get", "put", "join", "take", "lock", "enter", "recv"];

pub(super) fn judge(witness: &Witness<'_>) -> Option<Weakness> {
    let burst = witness.outcome.burst.as_ref()?;
    let of = burst.threads_spawned + burst.tasks_spawned;
    // Nobody is meant to wait because somebody else was refused.
    let refused = witness.alone.is_some_and(|alone| alone.is_refusal);
    if burst.deadlocked && (refused || !says(witness.section, &WAITS)) {
        return Some(Weakness::new(
            WeaknessKind::Deadlock,
            format!("{} of {of} runs at once never ended", of.saturating_sub(burst.finished)),
        ));
    }
    if let Some(exception) = burst.raised.first() {
        return Some(Weakness::new(
            WeaknessKind::Race,
            format!("{exception}, which a run alone does not raise"),
        ));
    }
    // Addresses and the like differ between objects that are the same.
    let comparable = witness.alone.is_none_or(|alone| alone.is_comparable);
    (burst.differs && comparable).then(|| {
        Weakness::new(
            WeaknessKind::Race,
            format!("{of} runs at once gave other results than one after the other"),
        )
    })
}
