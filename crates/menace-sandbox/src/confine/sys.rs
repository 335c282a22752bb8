//! System calls that no library offers: all `unsafe` of the confinement is here.
//!
//! Each function checks the kernel's result and hides the raw types; the callers decide what to
//! call.
#![allow(unsafe_code)]

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long, c_uint, c_ulong};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::process::PidfdGetfdFlags;
use seccompiler::sock_filter;

use crate::sys::check_result;

const LANDLOCK_CREATE_RULESET_VERSION: c_uint = 1;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`, since Linux 6.6.
const NOTIF_SYNC_WAKE_UP: c_ulong = 1;

/// The Landlock ABI of this kernel.
pub(super) fn landlock_abi() -> io::Result<u32> {
    // SAFETY: with this flag the kernel expects a null pointer and size 0, and only returns a
    // number.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    check_result(result).map(|abi| u32::try_from(abi).unwrap_or(0))
}

/// Installs a filter for this thread and returns the kernel's result: 0, or the descriptor of a
/// listener where the flags request one.
fn set_filter(program: &[sock_filter], flags: c_ulong) -> io::Result<c_int> {
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut().cast::<libc::sock_filter>(),
    };
    // SAFETY: `sock_filter` of seccompiler has the C layout of the kernel's; the program outlives
    // the call, and the kernel only reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    check_result(result).map(|value| value as c_int)
}

/// Installs a filter with a listener, and returns the listener.
pub(super) fn install_filter(program: &[sock_filter]) -> io::Result<OwnedFd> {
    let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // With this flag a signal does not interrupt a call that waits for its answer, unless it kills;
    // otherwise the guest's signal handlers would see calls restarted. Kernels before 5.19 lack the
    // flag.
    let patient = listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let fd = match set_filter(program, patient) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(program, listening)?,
        other => other?,
    };
    // SAFETY: the kernel has just made this descriptor for us; it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Lets the notified process and init run on one processor in turns: each waits for the other, and
/// waking another processor takes longer than most answers.
pub(super) fn set_sync_wakeup(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the kernel takes the flags by value.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, NOTIF_SYNC_WAKE_UP)
    };
    check_result(c_long::from(result)).map(drop)
}

/// Receives one notification, and waits for one if there is none.
pub(super) fn receive_notification(listener: BorrowedFd<'_>) -> io::Result<libc::seccomp_notif> {
    let mut notification = MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the kernel asks for a zeroed, writable `seccomp_notif`.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, notification.as_mut_ptr())
    };
    check_result(c_long::from(result))?;
    // SAFETY: all bits zero is a valid `seccomp_notif`, and the kernel has filled it in.
    Ok(unsafe { notification.assume_init() })
}

/// Answers a notification.
pub(super) fn send_response(
    listener: BorrowedFd<'_>,
    mut response: libc::seccomp_notif_resp,
) -> io::Result<()> {
    // SAFETY: the kernel reads one `seccomp_notif_resp`, which lives until the call returns.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response)
    };
    check_result(c_long::from(result)).map(drop)
}

/// Whether the process that made this notification still waits for the answer.
pub(super) fn is_notification_valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the kernel reads one `u64`, which lives until the call returns.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
    };
    result == 0
}

/// Reads another process's memory into `buffer`; returns how many bytes could be read.
pub(crate) fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let base = usize::try_from(address).map_err(|_| io::ErrorKind::InvalidInput)?;
    let there = RemoteIoVec { base, len: buffer.len() };
    Ok(process_vm_readv(Pid::from_raw(pid), &mut [IoSliceMut::new(buffer)], &[there])?)
}

/// Duplicates a descriptor of another process: both refer to the same open file and position.
pub(crate) fn copy_descriptor(process: BorrowedFd<'_>, fd: u32) -> io::Result<OwnedFd> {
    let fd = RawFd::try_from(fd).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_getfd(process, fd, PidfdGetfdFlags::empty())?)
}
