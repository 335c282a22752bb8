//! System calls that the libraries lack, and those that are unsafe by nature.
//!
//! All unsafe code of init and host is here; `confine/sys.rs` has that of the confinement.

#![expect(unsafe_code, reason = "raw system calls; each block says why it is sound")]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid};
use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, OpenTreeFlags};
pub(crate) use rustix::process::Resource;
use rustix::process::{PidfdFlags, Rlimit, WaitOptions};

pub(crate) fn check_result(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn process_id(pid: i32) -> io::Result<rustix::process::Pid> {
    rustix::process::Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Forks a process that has one thread only.
pub(crate) fn fork() -> io::Result<ForkResult> {
    debug_assert_eq!(count_threads(), 1, "only a process with one thread may fork");
    // SAFETY: the init has one thread, so the child may do anything that the parent could.
    unsafe { nix::unistd::fork() }.map_err(io::Error::from)
}

#[expect(clippy::disallowed_methods, reason = "a directory of the kernel, below `/proc`")]
fn count_threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// A process that does nothing but hold a user namespace; it is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct UserNamespaceHolder(i32);

/// Starts the process. Other threads may be running.
pub(crate) fn spawn_user_namespace_holder() -> io::Result<UserNamespaceHolder> {
    let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
    // SAFETY: without a stack of its own this is a fork. The child calls nothing but what may be
    // called while other threads of its parent hold locks, touches no memory, and never returns.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        // SAFETY: both are plain system calls, without locks or memory of the C library.
        0 => unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            loop {
                libc::pause();
            }
        },
        pid => check_result(pid).map(|pid| UserNamespaceHolder(pid as i32)),
    }
}

impl UserNamespaceHolder {
    pub(crate) fn pid(&self) -> i32 {
        self.0
    }
}

impl Drop for UserNamespaceHolder {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.0);
        let _ = kill(pid, Signal::SIGKILL);
        let _ = waitpid(pid, None);
    }
}

/// Sends a byte and a descriptor without allocating memory.
pub(crate) fn send_descriptor(
    stream: BorrowedFd<'_>,
    mut byte: u8,
    descriptor: BorrowedFd<'_>,
) -> io::Result<()> {
    const FD_BYTES: u32 = size_of::<RawFd>() as u32;
    // SAFETY: computes a number.
    const CONTROL_BUFFER_BYTES: usize = unsafe { libc::CMSG_SPACE(FD_BYTES) } as usize;
    #[repr(C, align(8))]
    struct ControlBuffer([u8; CONTROL_BUFFER_BYTES]);
    let mut control = ControlBuffer([0; CONTROL_BUFFER_BYTES]);
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: the message is made of plain numbers and pointers, for which zero is a value. What it
    // points to lives until the end; the control message that is written into its room fits, as the
    // lengths say.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(FD_BYTES) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(FD_BYTES) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor.as_raw_fd());
        libc::sendmsg(stream.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    check_result(sent as libc::c_long).map(drop)
}

/// Takes ownership of an inherited descriptor, by its number.
pub(crate) fn own_descriptor(fd: RawFd) -> OwnedFd {
    // SAFETY: the number was handed to this process for it to own, and it is adopted once.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Duplicates `fd` to the number `at`; the duplicate survives `exec`.
pub(crate) fn dup_to(fd: BorrowedFd<'_>, at: RawFd) -> io::Result<()> {
    // SAFETY: dup2 takes two ints; the former owner of `at` is replaced on purpose.
    check_result(unsafe { libc::dup2(fd.as_raw_fd(), at) }.into()).map(drop)
}

/// Duplicates `fd` to the number `at`; the duplicate is closed by `exec`.
pub(crate) fn dup_to_cloexec(fd: BorrowedFd<'_>, at: RawFd) -> io::Result<()> {
    // SAFETY: dup3 takes ints; the number `at` has no owner.
    check_result(unsafe { libc::dup3(fd.as_raw_fd(), at, libc::O_CLOEXEC) }.into()).map(drop)
}

/// Processor time of all threads of a process so far, in nanoseconds.
pub(crate) fn cpu_clock_ns(pid: i32) -> io::Result<u64> {
    let time = nix::time::clock_getcpuclockid(Pid::from_raw(pid))?.now()?;
    Ok(time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned())
}

/// The beginning of the kernel's `perf_event_attr`, in its first published size.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    breakpoint_address: u64,
}

/// Counts the processor time of a process with one thread, from now on, and of all that it starts,
/// also once they are gone and whether or not another process waits for them. Not allowed
/// everywhere.
pub(crate) fn open_cpu_counter(pid: i32) -> io::Result<File> {
    const KIND_SOFTWARE: u32 = 1;
    const TASK_CLOCK: u64 = 1;
    const INHERIT_FLAG: u64 = 1 << 1;
    // All time counts nevertheless; without this flag few users may count.
    const EXCLUDE_KERNEL_FLAG: u64 = 1 << 5;
    const CLOEXEC_FLAG: libc::c_ulong = 1 << 3;
    let attributes = PerfEventAttributes {
        kind: KIND_SOFTWARE,
        size: size_of::<PerfEventAttributes>() as u32,
        config: TASK_CLOCK,
        flags: INHERIT_FLAG | EXCLUDE_KERNEL_FLAG,
        ..PerfEventAttributes::default()
    };
    let (any_processor, no_group) = (-1, -1);
    // SAFETY: the structure outlives the call, and its size is in it.
    let fd = check_result(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            pid,
            any_processor,
            no_group,
            CLOEXEC_FLAG,
        )
    })?;
    Ok(File::from(own_descriptor(fd as RawFd)))
}

/// What a counter has counted so far, in nanoseconds.
pub(crate) fn read_cpu_counter(mut counter: &File) -> io::Result<u64> {
    let mut time = [0; 8];
    counter.read_exact(&mut time)?;
    Ok(u64::from_ne_bytes(time))
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: takes ints only; callers are about to exec or exit, no owner uses these again.
    check_result(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) }).map(drop)
}

/// Exits at once, without destructors or exit handlers.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: does not return and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Makes the kernel kill the calling process when its parent thread ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    Ok(prctl::set_pdeathsig(Signal::SIGKILL)?)
}

/// Takes [`die_with_parent`] back.
pub(crate) fn clear_parent_death_signal() -> io::Result<()> {
    Ok(prctl::set_pdeathsig(None)?)
}

/// Makes orphaned descendants children of this process.
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

pub(crate) fn set_dumpable(yes: bool) -> io::Result<()> {
    Ok(prctl::set_dumpable(yes)?)
}

/// A descriptor that becomes readable when the process ends.
pub(crate) fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(process_id(pid)?, PidfdFlags::empty())?)
}

/// Requests a stack dump from a process; `guest/runtime/stack_sampler.py` installs the handler.
pub(crate) fn request_stack_dump(pid: i32) -> io::Result<()> {
    // SAFETY: takes ints only.
    check_result(unsafe { libc::kill(pid, libc::SIGRTMAX()) }.into()).map(drop)
}

/// The raw wait status of a child that has ended; nothing when it has not.
pub(crate) fn try_wait_status(pid: i32) -> Option<i32> {
    let ended = rustix::process::waitpid(Some(process_id(pid).ok()?), WaitOptions::NOHANG);
    ended.ok().flatten().map(|(_, status)| status.as_raw())
}

/// Sets a resource limit of another process.
pub(crate) fn set_process_limit(pid: i32, resource: Resource, value: u64) -> io::Result<()> {
    let limit = Rlimit { current: Some(value), maximum: Some(value) };
    rustix::process::prlimit(Some(process_id(pid)?), resource, limit)?;
    Ok(())
}

/// A detached clone of a mount, or of a tree of mounts.
pub(crate) fn clone_mounts(path: &Path, recursive: bool) -> io::Result<OwnedFd> {
    let mut flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    flags.set(OpenTreeFlags::AT_RECURSIVE, recursive);
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// Attaches a clone made by [`clone_mounts`].
pub(crate) fn attach_mounts(tree: BorrowedFd<'_>, target: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(tree, c"", CWD, target, flags)?)
}

/// Moves a mount to another path.
pub(crate) fn move_mount(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::mount::move_mount(CWD, from, CWD, to, MoveMountFlags::empty())?)
}

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

const MOUNT_ATTR_RDONLY: u64 = 0x1;
const MOUNT_ATTR_NOSUID: u64 = 0x2;
const MOUNT_ATTR_NODEV: u64 = 0x4;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;

fn set_mount_attributes(
    directory: RawFd,
    path: &CStr,
    flags: libc::c_int,
    attributes: &MountAttributes,
) -> io::Result<()> {
    // SAFETY: the string and the structure outlive the call, and the size is the structure's.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            directory,
            path.as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    };
    check_result(result).map(drop)
}

/// Makes a detached tree read-only and nosuid; also nodev, unless it is a device.
pub(crate) fn make_tree_read_only(tree: BorrowedFd<'_>, devices: bool) -> io::Result<()> {
    let set = MOUNT_ATTR_NOSUID | if devices { 0 } else { MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY };
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    set_mount_attributes(tree.as_raw_fd(), c"", flags, &attributes)
}

/// Maps all files of a detached tree to an owner that the user namespace does not map, so that not
/// even world-writable files and sockets can be written to. Not all file systems support it.
pub(crate) fn idmap_to_unmapped_owner(
    tree: BorrowedFd<'_>,
    namespace: BorrowedFd<'_>,
) -> io::Result<()> {
    let attributes = MountAttributes {
        set: MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY | MOUNT_ATTR_IDMAP,
        clear: 0,
        propagation: 0,
        user_namespace: u64::from(namespace.as_raw_fd().cast_unsigned()),
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    set_mount_attributes(tree.as_raw_fd(), c"", flags, &attributes)
}

/// Makes one mount read-only; `EBUSY` while a file in it is open for writing.
pub(crate) fn make_mount_read_only(place: &Path) -> io::Result<()> {
    let attributes =
        MountAttributes { set: MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user_namespace: 0 };
    let place = CString::new(place.as_os_str().as_bytes())?;
    set_mount_attributes(libc::AT_FDCWD, &place, 0, &attributes)
}

/// Whether an open file has an extended attribute of exactly this value.
pub(crate) fn has_xattr(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> bool {
    let mut found = [0_u8; 16];
    let length = rustix::fs::fgetxattr(file, name, &mut found[..]);
    length.is_ok_and(|length| found.get(..length) == Some(value))
}

/// Maps the owners of files in a detached tree by the user namespace.
pub(crate) fn idmap_owners(tree: BorrowedFd<'_>, namespace: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = MountAttributes {
        set: MOUNT_ATTR_IDMAP,
        clear: 0,
        propagation: 0,
        user_namespace: u64::from(namespace.as_raw_fd().cast_unsigned()),
    };
    set_mount_attributes(tree.as_raw_fd(), c"", libc::AT_EMPTY_PATH, &attributes)
}

/// Brings the loopback interface of the current network namespace up.
pub(crate) fn bring_loopback_up() -> io::Result<()> {
    let socket = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Inet,
        nix::sys::socket::SockType::Datagram,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call and has the type that this ioctl reads.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    check_result(result.into()).map(drop)
}

/// How much of the sent data has not been received yet, in the kernel's own unit; 0 means nothing.
pub(crate) fn unreceived_bytes(socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut waiting: libc::c_int = 0;
    // SAFETY: the number outlives the call and has the type that this ioctl writes.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ as _, &raw mut waiting) };
    check_result(result.into())?;
    Ok(usize::try_from(waiting).unwrap_or_default())
}

/// Memory that waiting data takes in the buffers of a socket, in bytes.
pub(crate) fn socket_memory(socket: BorrowedFd<'_>) -> u64 {
    const SO_MEMINFO: libc::c_int = 55;
    /// Positions of what is received, under way and waiting to be sent.
    const RECEIVED: usize = 0;
    const UNDER_WAY: usize = 2;
    const QUEUED: usize = 5;
    let mut usage = [0_u32; 16];
    let mut length = size_of_val(&usage) as libc::socklen_t;
    // SAFETY: both outlive the call, and the length is that of the array.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            usage.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return 0;
    }
    u64::from(usage[RECEIVED]) + u64::from(usage[UNDER_WAY].max(usage[QUEUED]))
}

/// Memory that this process shares with its children.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    start: NonNull<libc::c_void>,
    length: usize,
}

impl SharedMemory {
    pub(crate) fn map(fd: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mapped at zero"))?;
        Ok(Self { start, length })
    }

    /// Copies a range. Another process may write to it meanwhile, so no reference is given out.
    pub(crate) fn read(&self, offset: usize, length: usize) -> Vec<u8> {
        let offset = offset.min(self.length);
        let length = length.min(self.length - offset);
        let mut copy = vec![0_u8; length];
        // SAFETY: the range lies within the mapping, the target was just allocated; a racing
        // writer can only make the bytes wrong, and they are untrusted anyway.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.start.as_ptr().cast::<u8>().add(offset),
                copy.as_mut_ptr(),
                length,
            );
        }
        copy
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        let offset = offset.min(self.length);
        let length = bytes.len().min(self.length - offset);
        // SAFETY: the range lies within the mapping, and the two do not overlap.
        unsafe {
            let place = self.start.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, length);
        }
    }

    /// Zeroes a range.
    pub(crate) fn clear(&self, offset: usize, length: usize) {
        let offset = offset.min(self.length);
        let length = length.min(self.length - offset);
        // SAFETY: the range lies within the mapping.
        unsafe {
            std::ptr::write_bytes(self.start.as_ptr().cast::<u8>().add(offset), 0, length);
        }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `map`, and nothing borrows from it.
        unsafe { libc::munmap(self.start.as_ptr(), self.length) };
    }
}

// SAFETY: the mapping is plain memory that any thread may copy from.
unsafe impl Send for SharedMemory {}

/// Disables address randomisation for programs that this process starts, so that `id`, `hash(None)`
/// and reprs with addresses are the same in every sandbox. Failing that, they differ.
pub(crate) fn disable_aslr() {
    use nix::sys::personality::{self, Persona};
    let _ = personality::get().and_then(|own| personality::set(own | Persona::ADDR_NO_RANDOMIZE));
}
