//! Compares what an import used with the limits of the call that it was made for.
//!
//! Many calls share one import, which has wider limits of its own. Invariant: where an import used
//! more than the call's limits allow, the outcome lists the limit as unenforced.

use menace_model::{CallLimits, Limit, Outcome};

/// Imports that exceed the limit by less are not reported: memory cannot be measured more exactly.
const MEMORY_TOLERANCE_BYTES: u64 = 1 << 20;
/// Units of figures in messages: name, and size in the measured unit.
const UNIT_MS: (&str, f64) = ("ms", 1.0);
const UNIT_KIB: (&str, f64) = ("KiB", 1024.0);

/// Time, memory and disk that an import used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ImportUsage {
    wall_ms: f64,
    cpu_ms: f64,
    memory_bytes: u64,
    disk_bytes: u64,
}

impl ImportUsage {
    pub(crate) fn from_outcome(import: &Outcome) -> Self {
        let metrics = &import.runtime_metrics;
        Self {
            wall_ms: metrics.total_ms,
            cpu_ms: metrics.user_cpu_ms + metrics.system_cpu_ms,
            memory_bytes: metrics.peak_memory_bytes,
            disk_bytes: import.files.touched.iter().map(|file| file.bytes).sum(),
        }
    }

    /// The limits of the call that the import exceeded, with a description of usage and limit.
    fn exceeded_limits(self, of_import: &CallLimits, asked: &CallLimits) -> Vec<(Limit, String)> {
        let Self { wall_ms, cpu_ms, memory_bytes, disk_bytes } = self;
        let timeout = (Some(of_import.timeout_ms), Some(asked.timeout_ms));
        let memory = (of_import.memory_bytes, asked.memory_bytes);
        let disk = (of_import.disk_bytes, asked.disk_bytes);
        [
            (Limit::Timeout, timeout, wall_ms, 0, UNIT_MS),
            (Limit::Cpu, (of_import.cpu_ms, asked.cpu_ms), cpu_ms, 0, UNIT_MS),
            (Limit::Memory, memory, memory_bytes as f64, MEMORY_TOLERANCE_BYTES, UNIT_KIB),
            (Limit::Disk, disk, disk_bytes as f64, 0, UNIT_KIB),
        ]
        .into_iter()
        .filter_map(|(limit, (own, asked), took, slack, (unit, size))| {
            let asked = asked?;
            let is_wider = own.is_none_or(|own| own > asked);
            let description = || {
                let (took, asked) = (took / size, asked as f64 / size);
                format!("{limit} ({took:.0} {unit} instead of {asked:.0} {unit})")
            };
            (is_wider && took > (asked + slack) as f64).then(|| (limit, description()))
        })
        .collect()
    }

    /// Adds exceeded limits to the outcome of a call, or of an import that failed before its call.
    pub(crate) fn add_to_outcome(
        self,
        outcome: &mut Outcome,
        of_import: &CallLimits,
        asked: &CallLimits,
    ) {
        let beyond = self.exceeded_limits(of_import, asked);
        if beyond.is_empty() {
            return;
        }
        let descriptions: Vec<&str> =
            beyond.iter().map(|(_, description)| description.as_str()).collect();
        outcome.notes.push(format!(
            "its import was held to wider limits than the call, and took more than was asked \
             for: {}",
            descriptions.join(", ")
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
    use menace_model::{CallStage, Verdict};

    use super::*;

    const MIB: u64 = 1 << 20;

    fn outcome_with_usage(
        took: ImportUsage,
        of_import: &CallLimits,
        asked: &CallLimits,
    ) -> Outcome {
        let mut outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        took.add_to_outcome(&mut outcome, of_import, asked);
        outcome
    }

    #[test]
    fn what_an_import_took_beyond_the_call_is_listed_once_and_in_figures() {
        let asked = CallLimits {
            timeout_ms: 1000,
            cpu_ms: Some(500),
            memory_bytes: Some(64 * MIB),
            disk_bytes: Some(MIB),
            ..CallLimits::default()
        };
        let took = ImportUsage {
            wall_ms: 9000.0,
            cpu_ms: 800.0,
            memory_bytes: 200 * MIB,
            disk_bytes: 2 * MIB,
        };
        let outcome = outcome_with_usage(took, &CallLimits::default(), &asked);
        let all = [Limit::Timeout, Limit::Cpu, Limit::Memory, Limit::Disk];
        assert_eq!(outcome.unenforced, all);
        let [note] = &outcome.notes[..] else { panic!("{:?}", outcome.notes) };
        assert!(note.contains("timeout (9000 ms instead of 1000 ms)"), "{note}");
        assert!(note.contains("memory (204800 KiB instead of 65536 KiB)"), "{note}");
    }

    #[test]
    fn an_import_within_the_limits_of_its_call_gets_no_note() {
        let asked = CallLimits { timeout_ms: 1000, cpu_ms: Some(500), ..CallLimits::default() };
        let modest = ImportUsage { wall_ms: 999.0, cpu_ms: 10.0, ..ImportUsage::default() };
        assert_eq!(outcome_with_usage(modest, &CallLimits::default(), &asked).unenforced, []);
        // A process may run for up to 250 ms beyond its deadline.
        let ended = ImportUsage { wall_ms: 1100.0, cpu_ms: 520.0, ..ImportUsage::default() };
        assert_eq!(outcome_with_usage(ended, &asked, &asked).unenforced, []);
    }
}
