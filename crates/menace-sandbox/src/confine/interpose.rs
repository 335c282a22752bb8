//! Which system calls Menace wants to be asked about although the policy allows them, so that it can
//! let them fail.

use menace_model::{Conditions, FaultMode};
use seccompiler::BackendError;
use serde::{Deserialize, Serialize};

use super::rules::{self, Rules};

/// Which system calls ask Menace before they happen, so that it can let them fail. Decided when the
/// interpreter starts, and not for free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interpose {
    /// Opening, reading, writing files.
    pub files: bool,
    /// Asking for memory.
    pub memory: bool,
    /// Connecting, sending, receiving.
    pub sockets: bool,
}

impl Interpose {
    /// What the faults of these conditions need.
    pub fn of(conditions: &Conditions) -> Self {
        let mut wanted = Self::default();
        for fault in &conditions.faults {
            match fault.mode {
                FaultMode::Disk | FaultMode::DiskCorruption | FaultMode::Timeout => {
                    wanted.files = true;
                }
                FaultMode::Memory => wanted.memory = true,
                FaultMode::Network => wanted.sockets = true,
                FaultMode::NetworkPartition
                | FaultMode::Cpu
                | FaultMode::CpuSpike
                | FaultMode::SchemaDrift
                | FaultMode::FlakyUpstream => {}
            }
        }
        wanted
    }

    pub(super) fn nothing(self) -> bool {
        self == Self::default()
    }

    /// The calls, each with the rules under which nobody has to be asked.
    pub(super) fn calls(self) -> Result<Vec<(i64, Rules)>, BackendError> {
        let mut calls = Vec::new();
        if self.files {
            for number in BY_DESCRIPTOR {
                calls.push((number, rules::descriptor_of_ours()?));
            }
            for number in BY_PATH {
                calls.push((*number, by_path_unasked(*number)?));
            }
        }
        if self.memory {
            calls.push((libc::SYS_mmap, rules::mapping_of_file()?));
            calls.extend([libc::SYS_brk, libc::SYS_mremap].map(|number| (number, Rules::new())));
        }
        if self.sockets {
            for number in ON_SOCKETS {
                calls.push((number, rules::descriptor_of_ours()?));
            }
        }
        Ok(calls)
    }
}

/// The files that the harness opens for a call, which is not there yet to meet a fault.
fn by_path_unasked(number: i64) -> Result<Rules, BackendError> {
    match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => rules::opening_by_harness(1),
        libc::SYS_openat => rules::opening_by_harness(2),
        _ => Ok(Rules::new()),
    }
}

/// Calls that take a file by its descriptor, first of all arguments.
pub(crate) const BY_DESCRIPTOR: [i64; 15] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sendfile,
    libc::SYS_copy_file_range,
];

/// Calls that change what a path leads to.
#[cfg(target_arch = "x86_64")]
pub(crate) const BY_PATH: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    libc::SYS_mkdir,
    libc::SYS_unlinkat,
    libc::SYS_unlink,
    libc::SYS_rmdir,
    libc::SYS_renameat2,
    libc::SYS_renameat,
    libc::SYS_rename,
    libc::SYS_linkat,
    libc::SYS_link,
    libc::SYS_symlinkat,
    libc::SYS_symlink,
];
#[cfg(target_arch = "aarch64")]
pub(crate) const BY_PATH: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
];

pub(crate) const ON_SOCKETS: [i64; 7] = [
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
];
