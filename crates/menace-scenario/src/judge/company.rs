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
    burst.differs.then(|| {
        Weakness::new(
            WeaknessKind::Race,
            format!("{of} runs at once gave other results than one after the other"),
        )
    })
}
