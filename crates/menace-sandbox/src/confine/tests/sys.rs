//! The `unsafe` that tries things out.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

/// Makes a system call; an error is its negative number.
pub(super) fn syscall(number: i64, arguments: [u64; 6]) -> i64 {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: the tests pass numbers, null pointers or pointers to what they keep alive.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    if result == -1 { -i64::from(nix::errno::Errno::last_raw()) } else { result }
}

/// Makes a 32-bit system call without arguments.
#[cfg(target_arch = "x86_64")]
pub(super) fn syscall_32_bit(number: u32) -> i32 {
    let result: u32;
    // SAFETY: the calls that the tests make touch no memory; the kernel keeps the other registers
    // but r8 to r11.
    unsafe {
        std::arch::asm!(
            "int 0x80", inlateout("eax") number => result,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    result.cast_signed()
}

/// Runs `body` in a new process, which ends with its result.
pub(crate) fn spawn(body: impl FnOnce() -> i32) -> Pid {
    // SAFETY: the child only runs `body` and ends without returning into the test's frames. Its one
    // thread may allocate: glibc's allocator survives a fork.
    match unsafe { fork() }.expect("fork") {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let code = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
            // SAFETY: ends the process at once, without running the test harness's exit handlers.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Runs `body` in a new process and returns how that ended.
pub(super) fn in_child(body: impl FnOnce() -> i32) -> WaitStatus {
    waitpid(spawn(body), None).expect("the child")
}

/// Takes over a descriptor that has just been received.
pub(super) fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made it for us; it has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
