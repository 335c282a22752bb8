//! What a call may use of the machine, and what holds it to that.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::FaultMode;

const MIB: u64 = 1 << 20;

/// What one call may use, all of its processes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallLimits {
    /// Wall time.
    pub timeout_ms: u64,
    /// Processor time.
    pub cpu_ms: Option<u64>,
    /// Processors at once: 0.5 is half of one.
    pub cpu_share: Option<f64>,
    /// Memory beyond what the imported module takes already.
    pub memory_bytes: Option<u64>,
    /// What may be written: repository, home and temporary directory together.
    pub disk_bytes: Option<u64>,
    /// Processes and threads beside the first.
    pub processes: u64,
    pub open_files: u64,
    /// How much of each output stream is kept; the rest is counted only.
    pub output_bytes: u64,
    /// How many of them it asks to see; nothing here can give it any.
    #[serde(default)]
    pub gpus: u64,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            timeout_ms: 10_000,
            cpu_ms: None,
            cpu_share: None,
            memory_bytes: Some(512 * MIB),
            disk_bytes: Some(256 * MIB),
            processes: 64,
            open_files: 1024,
            output_bytes: 64 << 10,
            gpus: 0,
        }
    }
}

/// A limit, a fault or a network condition of a call, as an outcome names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Timeout,
    Cpu,
    CpuShare,
    Memory,
    Disk,
    Processes,
    OpenFiles,
    Output,
    Gpu,
    NetworkLatency,
    NetworkJitter,
    PacketLoss,
    PacketDuplication,
    Bandwidth,
    Partition,
    Burst,
    Upstream,
    FaultDisk,
    FaultDiskCorruption,
    FaultNetwork,
    FaultNetworkPartition,
    FaultCpu,
    FaultCpuSpike,
    FaultMemory,
    FaultTimeout,
    FaultSchemaDrift,
    FaultFlakyUpstream,
}

impl Limit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Cpu => "cpu",
            Self::CpuShare => "cpu_share",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Processes => "processes",
            Self::OpenFiles => "open_files",
            Self::Output => "output",
            Self::Gpu => "gpu",
            Self::NetworkLatency => "network_latency",
            Self::NetworkJitter => "network_jitter",
            Self::PacketLoss => "packet_loss",
            Self::PacketDuplication => "packet_duplication",
            Self::Bandwidth => "bandwidth",
            Self::Partition => "partition",
            Self::Burst => "burst",
            Self::Upstream => "upstream",
            Self::FaultDisk => "fault_disk",
            Self::FaultDiskCorruption => "fault_disk_corruption",
            Self::FaultNetwork => "fault_network",
            Self::FaultNetworkPartition => "fault_network_partition",
            Self::FaultCpu => "fault_cpu",
            Self::FaultCpuSpike => "fault_cpu_spike",
            Self::FaultMemory => "fault_memory",
            Self::FaultTimeout => "fault_timeout",
            Self::FaultSchemaDrift => "fault_schema_drift",
            Self::FaultFlakyUpstream => "fault_flaky_upstream",
        }
    }
}

impl From<FaultMode> for Limit {
    fn from(mode: FaultMode) -> Self {
        match mode {
            FaultMode::Disk => Self::FaultDisk,
            FaultMode::DiskCorruption => Self::FaultDiskCorruption,
            FaultMode::Network => Self::FaultNetwork,
            FaultMode::NetworkPartition => Self::FaultNetworkPartition,
            FaultMode::Cpu => Self::FaultCpu,
            FaultMode::CpuSpike => Self::FaultCpuSpike,
            FaultMode::Memory => Self::FaultMemory,
            FaultMode::Timeout => Self::FaultTimeout,
            FaultMode::SchemaDrift => Self::FaultSchemaDrift,
            FaultMode::FlakyUpstream => Self::FaultFlakyUpstream,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What keeps a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitMechanism {
    CgroupV2,
    CgroupV1,
    Rlimit,
    TmpfsSize,
    /// Menace itself watches and kills.
    Monitor,
    /// The kernel's own emulation of a bad link.
    Netem,
    /// Packets wait in a queue until Menace lets them go.
    Nfqueue,
    /// System calls of the guest are answered by Menace.
    SystemCalls,
    /// Processes are stopped and woken by signals.
    #[serde(rename = "freezer")]
    Sigstop,
    /// The harness does it, inside of the interpreter.
    Harness,
}

impl LimitMechanism {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CgroupV2 => "cgroup_v2",
            Self::CgroupV1 => "cgroup_v1",
            Self::Rlimit => "rlimit",
            Self::TmpfsSize => "tmpfs_size",
            Self::Monitor => "monitor",
            Self::Netem => "netem",
            Self::Nfqueue => "nfqueue",
            Self::SystemCalls => "system_calls",
            Self::Sigstop => "freezer",
            Self::Harness => "harness",
        }
    }
}

impl fmt::Display for LimitMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which mechanisms hold which limit.
pub type LimitEnforcement = BTreeMap<Limit, Vec<LimitMechanism>>;
