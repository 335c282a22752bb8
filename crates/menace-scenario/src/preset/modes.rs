//! The failure modes: what each does, how often at which severity, and what does it.

use menace_model::FaultMode;
use menace_settings::{FailureMode, ScenarioSeverity, StubStrategy};

/// One failure mode.
#[derive(Debug)]
pub struct Mode {
    pub mode: FailureMode,
    pub meaning: &'static str,
    pub effect: Effect,
    /// As [`super::Key::held_by`].
    pub held_by: &'static str,
}

/// How a mode gets at the call.
#[derive(Debug, Clone, Copy)]
pub enum Effect {
    /// Faults strike this share of opportunities.
    Fault { mode: FaultMode, low: f64, high: f64, of: &'static str },
    /// The section runs in company of itself.
    Burst,
    /// Its inputs are made this way.
    Inputs(StubStrategy),
}

/// Threads and tasks of a burst for which nobody gave a number.
pub(super) const fn burst(severity: ScenarioSeverity) -> (u64, u64) {
    match severity {
        ScenarioSeverity::Low => (8, 32),
        ScenarioSeverity::High => (32, 128),
    }
}

/// Share of a processor that `cpu` leaves.
pub(super) const fn cpu_share(severity: ScenarioSeverity) -> f64 {
    match severity {
        ScenarioSeverity::Low => 0.5,
        ScenarioSeverity::High => 0.2,
    }
}

/// Rate of the link in bits per second, and share of packets lost, that `network` leaves.
pub(super) const fn bad_link(severity: ScenarioSeverity) -> (u64, f64) {
    match severity {
        ScenarioSeverity::Low => (1_000_000, 0.02),
        ScenarioSeverity::High => (128_000, 0.15),
    }
}

const fn fault(mode: FaultMode, low: f64, high: f64, of: &'static str) -> Effect {
    Effect::Fault { mode, low, high, of }
}

/// Every mode, in the order of the documentation.
pub static MODES: &[Mode] = &[
    Mode {
        mode: FailureMode::Disk,
        meaning: "The disk is full, slow, or fails to read: `ENOSPC`, short writes, `EIO`, delays.",
        effect: fault(FaultMode::Disk, 0.1, 0.5, "file operations"),
        held_by: "`system_calls`",
    },
    Mode {
        mode: FailureMode::DiskCorruption,
        meaning: "Bits are flipped in what is written, and the write succeeds.",
        effect: fault(FaultMode::DiskCorruption, 0.2, 0.8, "writes"),
        held_by: "`system_calls`",
    },
    Mode {
        mode: FailureMode::Network,
        meaning: "A bad link (1 Mbps and 2 % loss at `low`, 128 kbps and 15 % at `high`), and \
                  connections that fail.",
        effect: fault(FaultMode::Network, 0.1, 0.4, "connects, sends and receives"),
        held_by: "`nfqueue`, `system_calls`; `harness` for stubbed answers",
    },
    Mode {
        mode: FailureMode::NetworkPartition,
        meaning: "Some peers cannot be reached: those of `NETWORK_PARTITION`, else a share of \
                  them chosen by the seed.",
        effect: fault(FaultMode::NetworkPartition, 0.3, 0.7, "peers"),
        held_by: "`nfqueue`; `harness` for stubbed answers",
    },
    Mode {
        mode: FailureMode::Cpu,
        meaning: "Less of a processor: 0.5 of one at `low`, 0.2 at `high`, unless `CPU_SHARE` is \
                  less.",
        effect: fault(FaultMode::Cpu, 0.5, 0.8, "a processor taken away"),
        held_by: "`cgroup_v2` or `cgroup_v1`, else `freezer`",
    },
    Mode {
        mode: FailureMode::CpuSpike,
        meaning: "Moments in which the call gets next to no processor.",
        effect: fault(FaultMode::CpuSpike, 0.2, 0.6, "the time"),
        held_by: "`freezer`",
    },
    Mode {
        mode: FailureMode::ConcurrencySpike,
        meaning: "The section runs in `THREAD_BURST` threads or `ASYNC_TASK_BURST` tasks at once, \
                  with the same arguments: deadlocks, exceptions and differing results are told.",
        effect: Effect::Burst,
        held_by: "`harness`",
    },
    Mode {
        mode: FailureMode::Memory,
        meaning: "Allocations fail with `MemoryError`.",
        effect: fault(FaultMode::Memory, 0.1, 0.5, "demands for memory"),
        held_by: "`system_calls`",
    },
    Mode {
        mode: FailureMode::Timeout,
        meaning: "The call is killed before its time: at a moment chosen by the seed, or before one \
                  of its first changes of files.",
        effect: fault(FaultMode::Timeout, 0.5, 1.0, "calls"),
        held_by: "`monitor`, `system_calls`",
    },
    Mode {
        mode: FailureMode::HostileInput,
        meaning: "Inputs made to do harm; `THREAT_INTENSITY` says how many, and how bad.",
        effect: Effect::Inputs(StubStrategy::Hostile),
        held_by: "the inputs",
    },
    Mode {
        mode: FailureMode::UserMisuse,
        meaning: "Missing and superfluous arguments, wrong types, wrong order, forbidden files; \
                  `THREAT_INTENSITY` says how many inputs are so, at least one, and how many \
                  mistakes they make at once.",
        effect: Effect::Inputs(StubStrategy::Misuse),
        held_by: "the inputs",
    },
    Mode {
        mode: FailureMode::SchemaDrift,
        meaning: "Keys renamed, dropped or of another type: in arguments one of each object at \
                  `low` and half of them at `high`, in data files and answers one of each kind of \
                  record.",
        effect: fault(FaultMode::SchemaDrift, 0.1, 0.5, "data files and answers"),
        held_by: "the inputs; `harness` for files and answers",
    },
    Mode {
        mode: FailureMode::FlakyUpstream,
        meaning: "Whoever is called refuses, falls silent, or answers 5xx or nonsense.",
        effect: fault(FaultMode::FlakyUpstream, 0.2, 0.7, "calls out"),
        held_by: "`harness`",
    },
];

impl Mode {
    pub fn of(mode: FailureMode) -> Option<&'static Self> {
        MODES.iter().find(|one| one.mode == mode)
    }

    /// How hard it is at a severity, in words.
    pub fn strength(&self, severity: ScenarioSeverity) -> String {
        match self.effect {
            Effect::Fault { low, high, of, .. } => {
                let share = if severity == ScenarioSeverity::Low { low } else { high };
                format!("{} % of {of}", share * 100.0)
            }
            Effect::Burst => {
                let (threads, tasks) = burst(severity);
                format!("{threads} threads, {tasks} tasks")
            }
            Effect::Inputs(strategy) => format!("`{strategy}` inputs"),
        }
    }
}

/// The fault and the share of opportunities that it strikes, for what is a fault.
pub(super) fn fault_of(mode: FailureMode, severity: ScenarioSeverity) -> Option<(FaultMode, f64)> {
    match Mode::of(mode)?.effect {
        Effect::Fault { mode, low, high, .. } => {
            Some((mode, if severity == ScenarioSeverity::Low { low } else { high }))
        }
        Effect::Burst | Effect::Inputs(_) => None,
    }
}

/// How a mode wants inputs to be made.
pub(super) fn implied(mode: FailureMode) -> Option<StubStrategy> {
    match Mode::of(mode)?.effect {
        Effect::Inputs(strategy) => Some(strategy),
        Effect::Fault { .. } | Effect::Burst => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_described_once_and_every_fault_has_a_mode() {
        let described: Vec<FailureMode> = MODES.iter().map(|mode| mode.mode).collect();
        for mode in FailureMode::ALL {
            assert_eq!(described.iter().filter(|one| *one == mode).count(), 1, "{mode}");
        }
        for fault in FaultMode::ALL {
            let same = MODES.iter().find(|mode| mode.mode.as_str() == fault.as_str()).unwrap();
            assert!(matches!(same.effect, Effect::Fault { mode, .. } if mode == fault), "{fault}");
        }
    }

    #[test]
    fn high_is_harder_than_low() {
        for mode in MODES {
            if let Effect::Fault { low, high, .. } = mode.effect {
                assert!(0.0 < low && low < high && high <= 1.0, "{}", mode.mode);
            }
        }
        assert!(burst(ScenarioSeverity::Low) < burst(ScenarioSeverity::High));
    }
}
