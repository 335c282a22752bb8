//! Files after a fault: the old one, the new one, or something in between.

use menace_model::{FaultMode, FileChange, Touched, Verdict};

use super::{Weakness, WeaknessKind, Witness, is_a};

/// Faults that stop a write half-way. Flipped bits are nobody's fault but the disk's.
const INTERRUPTS: [FaultMode; 3] = [FaultMode::Disk, FaultMode::Timeout, FaultMode::Memory];

pub(super) fn judge(witness: &Witness<'_>) -> Option<Weakness> {
    let (outcome, alone) = (witness.outcome, witness.alone?);
    let interrupted =
        outcome.felt.iter().any(|felt| INTERRUPTS.contains(&felt.mode) && felt.struck > 0);
    if !interrupted || alone.verdict != Verdict::Returned {
        return None;
    }
    let of_database = outcome.exception.as_ref().is_some_and(|one| is_a(one, "sqlite3.Error"));
    if of_database || mends_itself(&outcome.files.touched) {
        return None;
    }
    for (path, whole) in &alone.written {
        let now = outcome.files.touched.iter().find(|file| file.path == *path);
        match now {
            Some(now) if is_other(now, whole) => {
                return Some(Weakness::new(
                    WeaknessKind::PartialWrite,
                    format!("`{path}` is neither what it was nor what it should be"),
                ));
            }
            // It was never written, and nobody heard of it.
            None if outcome.verdict == Verdict::Returned && same_result(witness) => {
                return Some(Weakness::new(
                    WeaknessKind::SilentFailure,
                    format!("`{path}` was not written, and the section returned as if it were"),
                ));
            }
            _ => {}
        }
    }
    None
}

/// A journal beside a file: a database takes back what was not finished when it is opened again.
fn mends_itself(touched: &[Touched]) -> bool {
    touched.iter().any(|journal| {
        let base = ["-journal", "-wal"].iter().find_map(|end| journal.path.strip_suffix(end));
        base.is_some_and(|base| touched.iter().any(|file| file.path == base))
    })
}

/// Whether what is there is surely not what should be. Without a hash it may be what it was.
fn is_other(now: &Touched, whole: &str) -> bool {
    now.what == FileChange::Deleted || now.hash.as_ref().is_some_and(|now| now != whole)
}

fn same_result(witness: &Witness<'_>) -> bool {
    let value = witness.outcome.value.as_ref();
    let now = value.and_then(|value| value.hash.as_ref());
    witness.alone.is_some_and(|alone| alone.hash.as_ref() == now)
}
