//! The `memory` fault: allocations that fail.

use nix::errno::Errno;

use crate::confine::{SyscallNotification, SyscallResponse};

/// What is asked for, and how the kernel says no to it.
pub(super) fn allocation_request(
    notice: &SyscallNotification,
) -> Option<(String, SyscallResponse)> {
    let refuse = SyscallResponse::Refuse(Errno::ENOMEM);
    match notice.number {
        libc::SYS_mmap => Some((format!("{} bytes", notice.arguments[1]), refuse)),
        libc::SYS_mremap if notice.arguments[2] > notice.arguments[1] => {
            Some((format!("{} bytes", notice.arguments[2]), refuse))
        }
        // It has no error: the C library takes an end below the one it asked for as one, and asks
        // again where the end is when it gets zero.
        libc::SYS_brk if notice.arguments[0] != 0 => {
            Some(("a larger heap".to_owned(), SyscallResponse::Return(0)))
        }
        _ => None,
    }
}
