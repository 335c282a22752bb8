//! What calls used of the machine.

use std::time::Duration;

use menace_model::RuntimeMetrics;
use serde::{Deserialize, Serialize};

use super::Sketch;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Costs {
    /// User and system time.
    pub cpu_ns: Sketch,
    pub wall_ns: Sketch,
    pub memory_bytes: Sketch,
    /// Read and written.
    pub io_bytes: Sketch,
}

impl Costs {
    pub(super) fn add(&mut self, usage: &RuntimeMetrics) {
        self.cpu_ns.add(nanoseconds(usage.user_cpu_ms + usage.system_cpu_ms));
        self.wall_ns.add(nanoseconds(usage.wall_ms));
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

/// Nothing for what is no time at all: guests say what they like.
pub(super) fn nanoseconds(milliseconds: f64) -> u64 {
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
    use super::nanoseconds;

    #[test]
    fn times_that_cannot_be_are_bounded() {
        assert_eq!(nanoseconds(1.5), 1_500_000);
        assert_eq!(nanoseconds(-1.0), 0);
        assert_eq!(nanoseconds(f64::NAN), 0);
        assert_eq!(nanoseconds(f64::INFINITY), u64::MAX);
    }
}
