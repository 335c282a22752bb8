//! The system calls that each part of [`SyscallInterposition`] interposes.

use menace_model::SyscallInterposition;
use seccompiler::BackendError;

use super::rules::{self, SyscallRules};

/// The interposed system calls, each with the rules under which it is allowed without init.
pub(super) fn interposed_syscalls(
    interposition: SyscallInterposition,
) -> Result<Vec<(i64, SyscallRules)>, BackendError> {
    let mut calls = Vec::new();
    if interposition.files {
        for number in DESCRIPTOR_SYSCALLS {
            calls.push((number, rules::harness_descriptor_rules()?));
        }
        for number in PATH_SYSCALLS {
            calls.push((*number, harness_open_rules(*number)?));
        }
    }
    if interposition.memory {
        calls.push((libc::SYS_mmap, rules::file_mapping_rules()?));
        calls.extend([libc::SYS_brk, libc::SYS_mremap].map(|number| (number, SyscallRules::new())));
    }
    if interposition.sockets {
        for number in SOCKET_SYSCALLS {
            calls.push((number, rules::harness_descriptor_rules()?));
        }
    }
    Ok(calls)
}

/// Lets the harness open files for the next call, which has not begun and must not meet a fault.
fn harness_open_rules(number: i64) -> Result<SyscallRules, BackendError> {
    match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => rules::harness_open_rules(1),
        libc::SYS_openat => rules::harness_open_rules(2),
        _ => Ok(SyscallRules::new()),
    }
}

/// System calls whose first argument is the descriptor of a file.
pub(crate) const DESCRIPTOR_SYSCALLS: [i64; 15] = [
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

/// System calls that change what a path leads to.
#[cfg(target_arch = "x86_64")]
pub(crate) const PATH_SYSCALLS: &[i64] = &[
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
pub(crate) const PATH_SYSCALLS: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
];

pub(crate) const SOCKET_SYSCALLS: [i64; 7] = [
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
];
