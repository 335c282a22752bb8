//! The failure modes: the effect of each, its rate at each severity, and the mechanism that applies
//! it.

use menace_model::{FailureMode, FaultMode, InputStrategy, ScenarioSeverity};

/// One failure mode.
#[derive(Debug)]
pub struct FailureModeInfo {
    pub mode: FailureMode,
    pub meaning: &'static str,
    pub effect: FailureModeEffect,
    /// Like [`super::PresetKey::enforced_by`].
    pub enforced_by: &'static str,
}

/// How a mode affects the call.
#[derive(Debug, Clone, Copy)]
pub enum FailureModeEffect {
    /// A fault is injected at this share of opportunities.
    Fault { low: f64, high: f64, opportunities: &'static str },
    /// Concurrent runs of the section.
    Burst,
    /// Inputs of this strategy.
    Inputs(InputStrategy),
}

/// Default numbers of threads and tasks of a burst.
pub(super) const fn default_burst(severity: ScenarioSeverity) -> (u64, u64) {
    match severity {
        ScenarioSeverity::Low => (8, 32),
        ScenarioSeverity::High => (32, 128),
    }
}

/// Share of a processor that `cpu` leaves.
pub(super) const fn reduced_cpu_share(severity: ScenarioSeverity) -> f64 {
    match severity {
        ScenarioSeverity::Low => 0.5,
        ScenarioSeverity::High => 0.2,
    }
}

/// Rate of the link in bits per second, and share of packets lost, that `network` leaves.
pub(super) const fn degraded_link(severity: ScenarioSeverity) -> (u64, f64) {
    match severity {
        ScenarioSeverity::Low => (1_000_000, 0.02),
        ScenarioSeverity::High => (128_000, 0.15),
    }
}

const fn fault_effect(low: f64, high: f64, opportunities: &'static str) -> FailureModeEffect {
    FailureModeEffect::Fault { low, high, opportunities }
}

/// All modes, in the order of the documentation.
pub static FAILURE_MODES: &[FailureModeInfo] = &[
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::Disk),
        meaning: "The disk is full, slow, or fails to read: `ENOSPC`, short writes, `EIO`, delays.",
        effect: fault_effect(0.1, 0.5, "file operations"),
        enforced_by: "`system_calls`",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::DiskCorruption),
        meaning: "Bits are flipped in what is written, and the write succeeds.",
        effect: fault_effect(0.2, 0.8, "writes"),
        enforced_by: "`system_calls`",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::Network),
        meaning: "A bad link (1 Mbps and 2 % loss at `low`, 128 kbps and 15 % at `high`), and \
                  connections that fail.",
        effect: fault_effect(0.1, 0.4, "connects, sends and receives"),
        enforced_by: "`nfqueue`, `system_calls`; `harness` for mocked answers",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::NetworkPartition),
        meaning: "Some peers cannot be reached: those of `NETWORK_PARTITION`, else a share of \
                  them chosen by the seed.",
        effect: fault_effect(0.3, 0.7, "peers"),
        enforced_by: "`nfqueue`; `harness` for mocked answers",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::Cpu),
        meaning: "Less of a processor: 0.5 of one at `low`, 0.2 at `high`, unless `CPU_SHARE` is \
                  less.",
        effect: fault_effect(0.5, 0.8, "a processor taken away"),
        enforced_by: "`cgroup_v2` or `cgroup_v1`, else `freezer`",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::CpuSpike),
        meaning: "Moments in which the call gets next to no processor.",
        effect: fault_effect(0.2, 0.6, "the time"),
        enforced_by: "`freezer`",
    },
    FailureModeInfo {
        mode: FailureMode::ConcurrencySpike,
        meaning: "The section runs in `THREAD_BURST` threads or `ASYNC_TASK_BURST` tasks at once, \
                  with the same arguments: deadlocks, exceptions and differing results are \
                  reported.",
        effect: FailureModeEffect::Burst,
        enforced_by: "`harness`",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::Memory),
        meaning: "Allocations fail with `MemoryError`.",
        effect: fault_effect(0.1, 0.5, "demands for memory"),
        enforced_by: "`system_calls`",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::Timeout),
        meaning: "The call is killed before its time: at a moment chosen by the seed, or before \
                  one of its first changes of files.",
        effect: fault_effect(0.5, 1.0, "calls"),
        enforced_by: "`monitor`, `system_calls`",
    },
    FailureModeInfo {
        mode: FailureMode::HostileInput,
        meaning: "Inputs made to do harm; `THREAT_INTENSITY` says how many, and how bad.",
        effect: FailureModeEffect::Inputs(InputStrategy::Hostile),
        enforced_by: "the inputs",
    },
    FailureModeInfo {
        mode: FailureMode::UserMisuse,
        meaning: "Missing and superfluous arguments, wrong types, wrong order, forbidden files; \
                  `THREAT_INTENSITY` says how many inputs are so, at least one, and how many \
                  mistakes they make at once.",
        effect: FailureModeEffect::Inputs(InputStrategy::Misuse),
        enforced_by: "the inputs",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::SchemaDrift),
        meaning: "Keys renamed, dropped or of another type: in arguments one of each object at \
                  `low` and half of them at `high`, in data files and answers one of each kind of \
                  record.",
        effect: fault_effect(0.1, 0.5, "data files and answers"),
        enforced_by: "the inputs; `harness` for files and answers",
    },
    FailureModeInfo {
        mode: FailureMode::Fault(FaultMode::FlakyUpstream),
        meaning: "Upstreams refuse, do not answer, or answer 5xx or corrupted data.",
        effect: fault_effect(0.2, 0.7, "calls out"),
        enforced_by: "`harness`",
    },
];

impl FailureModeInfo {
    pub fn find(mode: FailureMode) -> Option<&'static Self> {
        FAILURE_MODES.iter().find(|one| one.mode == mode)
    }

    /// Describes the strength at a severity.
    pub fn describe_strength(&self, severity: ScenarioSeverity) -> String {
        match self.effect {
            FailureModeEffect::Fault { low, high, opportunities: of, .. } => {
                let share = if severity == ScenarioSeverity::Low { low } else { high };
                format!("{} % of {of}", share * 100.0)
            }
            FailureModeEffect::Burst => {
                let (threads, tasks) = default_burst(severity);
                format!("{threads} threads, {tasks} tasks")
            }
            FailureModeEffect::Inputs(strategy) => format!("`{strategy}` inputs"),
        }
    }
}

/// The fault of a mode and its share of opportunities; none for other effects.
pub(super) fn fault_with_rate(
    mode: FailureMode,
    severity: ScenarioSeverity,
) -> Option<(FaultMode, f64)> {
    match (mode, &FailureModeInfo::find(mode)?.effect) {
        (FailureMode::Fault(fault), FailureModeEffect::Fault { low, high, .. }) => {
            Some((fault, if severity == ScenarioSeverity::Low { *low } else { *high }))
        }
        _ => None,
    }
}

/// The input strategy of a mode.
pub(super) fn implied_strategy(mode: FailureMode) -> Option<InputStrategy> {
    match FailureModeInfo::find(mode)?.effect {
        FailureModeEffect::Inputs(strategy) => Some(strategy),
        FailureModeEffect::Fault { .. } | FailureModeEffect::Burst => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_described_once_and_every_fault_has_a_mode() {
        let described: Vec<FailureMode> = FAILURE_MODES.iter().map(|mode| mode.mode).collect();
        for mode in FailureMode::ALL {
            assert_eq!(described.iter().filter(|one| **one == mode).count(), 1, "{mode}");
        }
        for fault in FaultMode::ALL {
            let info = FailureModeInfo::find(FailureMode::Fault(fault)).unwrap();
            assert!(matches!(info.effect, FailureModeEffect::Fault { .. }), "{fault}");
        }
    }

    #[test]
    fn high_is_harder_than_low() {
        for mode in FAILURE_MODES {
            if let FailureModeEffect::Fault { low, high, .. } = mode.effect {
                assert!(0.0 < low && low < high && high <= 1.0, "{}", mode.mode);
            }
        }
        assert!(default_burst(ScenarioSeverity::Low) < default_burst(ScenarioSeverity::High));
    }
}
