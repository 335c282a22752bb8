//! The system calls that no library offers: all `unsafe` of the confinement is here.
//!
//! Each function checks what the kernel answers and hides the raw types; deciding what to ask the
//! kernel for belongs to the callers.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_long, c_uint, c_ulong};
use seccompiler::sock_filter;

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const LANDLOCK_CREATE_RULESET_VERSION: c_uint = 1;
/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`, since Linux 6.6.
const SYNC_WAKE_UP: c_ulong = 1;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: c_int,
}

/// Half of the 64 capabilities each, as the kernel wants them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn checked(result: c_long) -> io::Result<c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// `prctl` for operations whose arguments are plain numbers.
pub(super) fn prctl(operation: c_int, second: c_ulong, third: c_ulong) -> io::Result<c_int> {
    // SAFETY: callers pass operations that take numbers, so the kernel follows no pointer.
    let result = unsafe { libc::prctl(operation, second, third, 0 as c_ulong, 0 as c_ulong) };
    checked(c_long::from(result)).map(|value| value as c_int)
}

/// Gives up all capabilities of this thread.
pub(super) fn clear_capabilities() -> io::Result<()> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let none = [Capabilities::default(); 2];
    // SAFETY: both pointers lead to live values laid out as version 3 of the interface asks.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    checked(result).map(drop)
}

/// The capabilities of this thread.
pub(super) fn capabilities() -> io::Result<[Capabilities; 2]> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut held = [Capabilities::default(); 2];
    // SAFETY: both pointers lead to live, writable values laid out as version 3 asks.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, held.as_mut_ptr()) };
    checked(result).map(|_| held)
}

/// The newest Landlock interface of this kernel.
pub(super) fn landlock_abi() -> io::Result<u32> {
    // SAFETY: with this flag the kernel expects a null pointer and size 0, and only returns a number.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    checked(result).map(|abi| u32::try_from(abi).unwrap_or(0))
}

/// Installs a filter for this thread and returns the kernel's answer: 0, or a listener's descriptor
/// when the flags ask for one.
fn install(program: &[sock_filter], flags: c_ulong) -> io::Result<c_int> {
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut().cast::<libc::sock_filter>(),
    };
    // SAFETY: `sock_filter` of seccompiler has the C layout of the kernel's; the program outlives the
    // call, and the kernel only reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    checked(result).map(|value| value as c_int)
}

/// Installs a filter that asks a listener, and returns the listener.
pub(super) fn install_filter(program: &[sock_filter]) -> io::Result<OwnedFd> {
    let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // Killable-only waiting spares the guest's signal handlers a restarted call; older kernels
    // (before 5.19) do not know it.
    let patient = listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let fd = match install(program, patient) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => install(program, listening)?,
        other => other?,
    };
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whoever asks and whoever answers take turns on one processor: the one waits for the other, and to wake
/// another processor takes longer than most answers.
pub(super) fn take_turns(listener: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the kernel takes the flags themselves, not where they are.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
    };
    checked(c_long::from(result)).map(drop)
}

/// Takes one notification. Waits for one when there is none.
pub(super) fn receive(listener: BorrowedFd<'_>) -> io::Result<libc::seccomp_notif> {
    let mut notification = MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the kernel asks for a zeroed, writable `seccomp_notif`.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, notification.as_mut_ptr())
    };
    checked(c_long::from(result))?;
    // SAFETY: all bits zero is a valid `seccomp_notif`, and the kernel has filled it in.
    Ok(unsafe { notification.assume_init() })
}

/// Answers a notification.
pub(super) fn respond(
    listener: BorrowedFd<'_>,
    mut response: libc::seccomp_notif_resp,
) -> io::Result<()> {
    // SAFETY: the kernel reads one `seccomp_notif_resp`, which lives until the call returns.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response)
    };
    checked(c_long::from(result)).map(drop)
}

/// Whether whoever made this notification still waits for the answer.
pub(super) fn still_waits(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the kernel reads one `u64`, which lives until the call returns.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
    };
    result == 0
}

/// Reads another process's memory into `buffer`; returns how much could be read.
pub(crate) fn read_memory(pid: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let here = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: `here` describes a live, writable buffer; `there` is only looked up in the other
    // process, where a bad address is an error and nothing worse.
    let result = unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// A copy of a descriptor of another process: both share the open file and its position.
pub(crate) fn borrow_descriptor(process: BorrowedFd<'_>, fd: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let result =
        unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0 as c_uint) };
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    checked(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}
