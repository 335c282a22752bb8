//! One control group per sandbox, made by Menace before the sandbox starts and used by all its
//! calls.
//!
//! A group is one directory per hierarchy: several in version 1, one in version 2, both on hybrid
//! machines (controllers in version 1, `cgroup.kill` in version 2). The group is made on the host;
//! its files are opened there and inherited by PID 1 of the sandbox, which could not open them
//! itself. What a limit means for a verdict, and what replaces a missing controller, is up to the
//! caller.
//!
//! Invariants: a group lies below the cgroup of Menace wherever the kernel allows it, so that outer
//! limits stay in force; a dropped group leaves neither directory nor process; groups of a Menace
//! that was killed are removed by [`purge_leftovers`], those of a living one are never touched.

mod available;
mod control_file;
mod counters;
mod group;
mod group_files;
mod kill;
mod leftovers;
mod limits;
mod mounts;
mod v1;
mod v2;

#[cfg(test)]
mod plain_file_tests;
#[cfg(test)]
mod real_tests;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use available::{AvailableCgroups, detect_cgroups};
pub(crate) use counters::CgroupCpuUsage;
pub(crate) use group::SandboxCgroup;
pub(crate) use group_files::{CgroupAttachTask, CgroupFiles, InheritedCgroupFile};
pub(crate) use leftovers::{PurgedCgroups, next_name, owner_is_alive, purge_leftovers};

/// Which of the two kernel interfaces a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CgroupVersion {
    CgroupV1,
    CgroupV2,
}

/// What a group can do for a sandbox; all but [`Self::Kill`] are controllers of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CgroupController {
    /// Limits memory and counts processes that the OOM killer killed.
    Memory,
    /// Limits the share of the processors.
    Cpu,
    /// Counts processor time.
    Cpuacct,
    /// Limits the number of processes and threads.
    Pids,
    /// Kills everything in the group at once: `cgroup.kill`, or the freezer of version 1.
    Kill,
}

impl CgroupController {
    pub(crate) const ALL: [Self; 5] =
        [Self::Memory, Self::Cpu, Self::Cpuacct, Self::Pids, Self::Kill];

    /// The name in messages and in `menace doctor`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Cpuacct => "cpuacct",
            Self::Pids => "pids",
            Self::Kill => "kill",
        }
    }
}

/// An error of Menace or of the machine, never of the guest.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CgroupError {
    #[error("failed to read `{path}`")]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to create the control group `{path}`")]
    Create { path: PathBuf, source: io::Error },
    #[error("failed to open `{path}`")]
    Open { path: PathBuf, source: io::Error },
    #[error("failed to lock the control group `{path}`")]
    Lock { path: PathBuf, source: io::Error },
    #[error("failed to remove the control group `{path}`")]
    Remove { path: PathBuf, source: io::Error },
    #[error("failed to read `{file}` of the control group")]
    Get { file: &'static str, source: io::Error },
    #[error("failed to write `{value}` to `{file}` of the control group")]
    Set { file: &'static str, value: String, source: io::Error },
    #[error("cannot understand `{file}` of the control group: {text:?}")]
    Malformed { file: &'static str, text: String },
    #[error("cannot understand `{path}`")]
    MalformedStat { path: PathBuf },
    #[error(
        "cannot limit memory to {limit} bytes: the group holds {usage} bytes that cannot be \
         reclaimed"
    )]
    MemoryInUse { limit: u64, usage: u64 },
    #[error("a processor share must be a positive number of cores, not {cores}")]
    InvalidCpuShare { cores: f64 },
    #[error("the control group cannot do this: {what} is not available on this machine")]
    Unavailable { what: &'static str },
}

pub(crate) type CgroupResult<T, E = CgroupError> = std::result::Result<T, E>;
