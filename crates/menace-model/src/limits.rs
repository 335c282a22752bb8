//! The limits of a call, and the mechanisms that enforce them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::FaultMode;

const MIB: u64 = 1 << 20;

/// Limits of one call, for all of its processes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallLimits {
    /// Wall time.
    pub timeout_ms: u64,
    /// Processor time.
    pub cpu_ms: Option<u64>,
    /// Share of the processors: 0.5 is half of one.
    pub cpu_share: Option<f64>,
    /// Memory in addition to what the imported module uses.
    pub memory_bytes: Option<u64>,
    /// Bytes that may be written: repository, home and temporary directory together.
    pub disk_bytes: Option<u64>,
    /// Processes and threads in addition to the first.
    pub processes: u64,
    pub open_files: u64,
    /// How many bytes of each output stream are kept; the rest is only counted.
    pub output_bytes: u64,
    /// The number of requested GPUs; no backend provides any.
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

crate::named_enum! {
    /// A limit, fault or network condition of a call, as an outcome names it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Limit {
        Timeout = "timeout",
        Cpu = "cpu",
        CpuShare = "cpu_share",
        Memory = "memory",
        Disk = "disk",
        Processes = "processes",
        OpenFiles = "open_files",
        Output = "output",
        Gpu = "gpu",
        NetworkLatency = "network_latency",
        NetworkJitter = "network_jitter",
        PacketLoss = "packet_loss",
        PacketDuplication = "packet_duplication",
        Bandwidth = "bandwidth",
        Partition = "partition",
        Burst = "burst",
        Upstream = "upstream",
        FaultDisk = "fault_disk",
        FaultDiskCorruption = "fault_disk_corruption",
        FaultNetwork = "fault_network",
        FaultNetworkPartition = "fault_network_partition",
        FaultCpu = "fault_cpu",
        FaultCpuSpike = "fault_cpu_spike",
        FaultMemory = "fault_memory",
        FaultTimeout = "fault_timeout",
        FaultSchemaDrift = "fault_schema_drift",
        FaultFlakyUpstream = "fault_flaky_upstream",
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

crate::named_enum! {
    /// A mechanism that enforces a limit.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LimitMechanism {
        CgroupV2 = "cgroup_v2",
        CgroupV1 = "cgroup_v1",
        Rlimit = "rlimit",
        TmpfsSize = "tmpfs_size",
        /// Menace measures the usage and kills the call.
        Monitor = "monitor",
        /// The kernel's network emulator.
        Netem = "netem",
        /// Packets wait in a queue until Menace releases them.
        Nfqueue = "nfqueue",
        /// Menace answers system calls of the guest.
        SystemCalls = "system_calls",
        /// Processes are stopped and continued by signals; the stored word is older than that.
        #[serde(rename = "freezer")]
        Sigstop = "freezer",
        /// The harness, inside of the interpreter.
        Harness = "harness",
    }
}

/// The mechanisms that enforce each limit.
pub type LimitEnforcement = BTreeMap<Limit, Vec<LimitMechanism>>;
