//! The resources that calls used, and what they leaked.

use std::time::Duration;

use menace_model::{Outcome, RuntimeMetrics};
use serde::{Deserialize, Serialize};

use super::QuantileSketch;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCosts {
    /// User and system time.
    pub cpu_ns: QuantileSketch,
    pub wall_ns: QuantileSketch,
    pub memory_bytes: QuantileSketch,
    /// Bytes read and written.
    pub io_bytes: QuantileSketch,
}

impl CallCosts {
    pub(super) fn add(&mut self, usage: &RuntimeMetrics) {
        self.cpu_ns.add(ms_to_ns(usage.user_cpu_ms + usage.system_cpu_ms));
        self.wall_ns.add(ms_to_ns(usage.wall_ms));
        self.memory_bytes.add(usage.peak_memory_bytes);
        self.io_bytes.add(usage.bytes_read.saturating_add(usage.bytes_written));
    }

    pub fn merge(&mut self, other: &Self) {
        self.cpu_ns.merge(&other.cpu_ns);
        self.wall_ns.merge(&other.wall_ns);
        self.memory_bytes.merge(&other.memory_bytes);
        self.io_bytes.merge(&other.io_bytes);
    }
}

/// What calls leaked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakCounts {
    pub threads: u64,
    pub processes: u64,
    pub descriptors: u64,
    /// Files that were created, changed or deleted.
    pub files: u64,
    /// Calls that changed the state of the interpreter.
    pub state: u64,
}

impl LeakCounts {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        let changed = &outcome.state_changes;
        let has_changed = !changed.environment.is_empty()
            || changed.working_directory.is_some()
            || !changed.signals.is_empty()
            || changed.recursion_limit.is_some()
            || !changed.defaults.is_empty();
        self.threads += outcome.leaked.threads.len() as u64;
        self.processes += outcome.leaked.processes.len() as u64;
        self.descriptors += outcome.leaked.descriptors.len() as u64;
        self.files = self.files.saturating_add(outcome.files.total);
        self.state += u64::from(has_changed);
    }

    pub fn merge(&mut self, other: &Self) {
        let Self { threads, processes, descriptors, files, state } = other;
        self.threads += threads;
        self.processes += processes;
        self.descriptors += descriptors;
        self.files = self.files.saturating_add(*files);
        self.state += state;
    }
}

/// Converts to nanoseconds; 0 for NaN and negative values, since the guest reports it and is not
/// trusted.
pub(super) fn ms_to_ns(milliseconds: f64) -> u64 {
    if milliseconds.is_nan() || milliseconds <= 0.0 {
        return 0;
    }
    Duration::try_from_secs_f64(milliseconds / 1000.0)
        .ok()
        .and_then(|time| u64::try_from(time.as_nanos()).ok())
        .unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::ms_to_ns;

    #[test]
    fn times_that_cannot_be_are_bounded() {
        assert_eq!(ms_to_ns(1.5), 1_500_000);
        assert_eq!(ms_to_ns(-1.0), 0);
        assert_eq!(ms_to_ns(f64::NAN), 0);
        assert_eq!(ms_to_ns(f64::INFINITY), u64::MAX);
    }
}
