//! What a call may use of the machine, and what holds it to that.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

/// What one call may use, all of its processes together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
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
}

impl Default for Limits {
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
        }
    }
}

/// The limits by name, as an outcome lists them.
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
pub enum Mechanism {
    CgroupV2,
    CgroupV1,
    Rlimit,
    TmpfsSize,
    /// Menace itself watches and kills.
    Monitor,
}

impl Mechanism {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CgroupV2 => "cgroup_v2",
            Self::CgroupV1 => "cgroup_v1",
            Self::Rlimit => "rlimit",
            Self::TmpfsSize => "tmpfs_size",
            Self::Monitor => "monitor",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which mechanisms hold which limit.
pub type EnforcedBy = BTreeMap<Limit, Vec<Mechanism>>;
