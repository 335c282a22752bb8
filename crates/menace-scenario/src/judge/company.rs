//! Many runs at once.

use super::{Weakness, WeaknessKind, Witness};

pub(super) fn judge(witness: &Witness<'_>) -> Option<Weakness> {
    let burst = witness.outcome.burst.as_ref()?;
    let of = burst.threads_spawned + burst.tasks_spawned;
    if burst.deadlocked {
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
    let value = witness.alone.and_then(|alone| alone.value.as_ref());
    let comparable = value.is_none_or(|value| value.value.is_some());
    (burst.differs && comparable).then(|| {
        Weakness::new(
            WeaknessKind::Race,
            format!("{of} runs at once gave other results than one after the other"),
        )
    })
}
