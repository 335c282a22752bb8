//! The `memory` fault: allocations that fail.

use nix::errno::Errno;

use crate::confine::{SyscallNotification, SyscallResponse};

/// For `mmap`, `mremap` that grows, and `brk`: what was requested, for the report, and the answer
/// that makes it fail.
pub(super) fn allocation_request(
    notice: &SyscallNotification,
) -> Option<(String, SyscallResponse)> {
    let refuse = SyscallResponse::Refuse(Errno::ENOMEM);
    match notice.number {
        libc::SYS_mmap => Some((format!("{} bytes", notice.arguments[1]), refuse)),
        libc::SYS_mremap if notice.arguments[2] > notice.arguments[1] => {
            Some((format!("{} bytes", notice.arguments[2]), refuse))
        }
        // `brk` has no error: it returns the current end of the heap, and the C library takes an
        // end below the one it requested as a failure. A result of zero makes it query the end
        // again.
        libc::SYS_brk if notice.arguments[0] != 0 => {
            Some(("a larger heap".to_owned(), SyscallResponse::Return(0)))
        }
        _ => None,
    }
}
