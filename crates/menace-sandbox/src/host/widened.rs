//! An import that took more than the call may: it was held to limits of its own, and wider ones.
//!
//! The limits of a call are about the call; many calls share one import. Invariant: where that lets
//! something be exceeded that was asked for, the outcome says so.

use menace_model::{Limit, Limits, Outcome};

/// Memory is told no more exactly than that.
const GRAIN: u64 = 1 << 20;
/// How figures are told: the unit, and how many of ours are in it.
const MS: (&str, f64) = ("ms", 1.0);
const KIB: (&str, f64) = ("KiB", 1024.0);

/// What an import took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Took {
    wall_ms: f64,
    cpu_ms: f64,
    memory_bytes: u64,
    disk_bytes: u64,
}

impl Took {
    pub(crate) fn of(import: &Outcome) -> Self {
        let metrics = &import.runtime_metrics;
        Self {
            wall_ms: metrics.total_ms,
            cpu_ms: metrics.user_cpu_ms + metrics.system_cpu_ms,
            memory_bytes: metrics.peak_memory_bytes,
            disk_bytes: import.files.touched.iter().map(|file| file.bytes).sum(),
        }
    }

    /// Which limits of the call it exceeded because its own were wider, and by how much.
    fn beyond(self, held_to: &Limits, asked: &Limits) -> Vec<(Limit, String)> {
        let Self { wall_ms, cpu_ms, memory_bytes, disk_bytes } = self;
        let timeout = (Some(held_to.timeout_ms), Some(asked.timeout_ms));
        let memory = (held_to.memory_bytes, asked.memory_bytes);
        let disk = (held_to.disk_bytes, asked.disk_bytes);
        [
            (Limit::Timeout, timeout, wall_ms, 0, MS),
            (Limit::Cpu, (held_to.cpu_ms, asked.cpu_ms), cpu_ms, 0, MS),
            (Limit::Memory, memory, memory_bytes as f64, GRAIN, KIB),
            (Limit::Disk, disk, disk_bytes as f64, 0, KIB),
        ]
        .into_iter()
        .filter_map(|(limit, (held, asked), took, slack, (unit, size))| {
            let asked = asked?;
            let is_wider = held.is_none_or(|held| held > asked);
            let told = || {
                let (took, asked) = (took / size, asked as f64 / size);
                format!("{limit} ({took:.0} {unit} instead of {asked:.0} {unit})")
            };
            (is_wider && took > (asked + slack) as f64).then(|| (limit, told()))
        })
        .collect()
    }

    /// Adds it to the outcome of a call, or of an import that the call was meant to follow.
    pub(crate) fn tell(self, outcome: &mut Outcome, held_to: &Limits, asked: &Limits) {
        let beyond = self.beyond(held_to, asked);
        if beyond.is_empty() {
            return;
        }
        let told: Vec<&str> = beyond.iter().map(|(_, told)| told.as_str()).collect();
        outcome.notes.push(format!(
            "its import was held to wider limits than the call, and took more than was asked for: {}",
            told.join(", ")
        ));
        for (limit, _) in beyond {
            if !outcome.unenforced.contains(&limit) {
                outcome.unenforced.push(limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{Stage, Verdict};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn told(took: Took, held_to: &Limits, asked: &Limits) -> Outcome {
        let mut outcome = Outcome::of(Verdict::Returned, Stage::Call);
        took.tell(&mut outcome, held_to, asked);
        outcome
    }

    #[test]
    fn what_an_import_took_beyond_the_call_is_listed_once_and_in_figures() {
        let asked = Limits {
            timeout_ms: 1000,
            cpu_ms: Some(500),
            memory_bytes: Some(64 * MIB),
            disk_bytes: Some(MIB),
            ..Limits::default()
        };
        let took =
            Took { wall_ms: 9000.0, cpu_ms: 800.0, memory_bytes: 200 * MIB, disk_bytes: 2 * MIB };
        let outcome = told(took, &Limits::default(), &asked);
        let all = [Limit::Timeout, Limit::Cpu, Limit::Memory, Limit::Disk];
        assert_eq!(outcome.unenforced, all);
        let [note] = &outcome.notes[..] else { panic!("{:?}", outcome.notes) };
        assert!(note.contains("timeout (9000 ms instead of 1000 ms)"), "{note}");
        assert!(note.contains("memory (204800 KiB instead of 65536 KiB)"), "{note}");
    }

    #[test]
    fn nothing_is_told_of_an_import_that_kept_to_the_call_s_limits_or_was_held_to_them() {
        let asked = Limits { timeout_ms: 1000, cpu_ms: Some(500), ..Limits::default() };
        let modest = Took { wall_ms: 999.0, cpu_ms: 10.0, ..Took::default() };
        assert_eq!(told(modest, &Limits::default(), &asked).unenforced, []);
        // A quarter of a second may pass until it is dead.
        let ended = Took { wall_ms: 1100.0, cpu_ms: 520.0, ..Took::default() };
        assert_eq!(told(ended, &asked, &asked).unenforced, []);
    }
}
