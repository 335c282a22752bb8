//! Formats a denied system call for reports, as a programmer would write the call.
//!
//! Strings and addresses are read from the guest's memory: they are for people, may be lies, and
//! are cut and escaped.

use std::net::{Ipv4Addr, Ipv6Addr};

use nix::sys::signal::Signal;

use super::notify::SyscallNotification;
use super::rules::SOCKET_TYPE_MASK;
use super::sys;

/// Longest string that is shown.
const MAX_STRING_BYTES: usize = 256;
const PAGE_BYTES: u64 = 4096;

/// How an argument is shown.
#[derive(Debug, Clone, Copy)]
enum ArgumentFormat {
    Text,
    Number,
    Hex,
    Signal,
    Namespaces,
    Family,
    SocketType,
    Trace,
    /// A socket address, its length in the next argument.
    Address,
}
use ArgumentFormat::{Address, Family, Hex, Namespaces, Number, SocketType, Text, Trace};

const CLONE_FLAG_NAMES: &[(libc::c_int, &str)] = &[
    (libc::CLONE_NEWNS, "NEWNS"),
    (libc::CLONE_NEWCGROUP, "NEWCGROUP"),
    (libc::CLONE_NEWUTS, "NEWUTS"),
    (libc::CLONE_NEWIPC, "NEWIPC"),
    (libc::CLONE_NEWUSER, "NEWUSER"),
    (libc::CLONE_NEWPID, "NEWPID"),
    (libc::CLONE_NEWNET, "NEWNET"),
    (libc::CLONE_PARENT, "PARENT"),
];
const SOCKET_FAMILY_NAMES: &[(libc::c_int, &str)] = &[
    (libc::AF_UNIX, "AF_UNIX"),
    (libc::AF_INET, "AF_INET"),
    (libc::AF_INET6, "AF_INET6"),
    (libc::AF_NETLINK, "AF_NETLINK"),
    (libc::AF_PACKET, "AF_PACKET"),
    (libc::AF_VSOCK, "AF_VSOCK"),
    (libc::AF_ALG, "AF_ALG"),
    (libc::AF_BLUETOOTH, "AF_BLUETOOTH"),
    (libc::AF_CAN, "AF_CAN"),
    (libc::AF_XDP, "AF_XDP"),
    (libc::AF_KEY, "AF_KEY"),
];
const SOCKET_TYPE_NAMES: &[(libc::c_int, &str)] = &[
    (libc::SOCK_STREAM, "SOCK_STREAM"),
    (libc::SOCK_DGRAM, "SOCK_DGRAM"),
    (libc::SOCK_RAW, "SOCK_RAW"),
    (libc::SOCK_RDM, "SOCK_RDM"),
    (libc::SOCK_SEQPACKET, "SOCK_SEQPACKET"),
];
const PTRACE_REQUEST_NAMES: &[(libc::c_int, &str)] = &[
    (0, "TRACEME"),
    (1, "PEEKTEXT"),
    (2, "PEEKDATA"),
    (4, "POKETEXT"),
    (5, "POKEDATA"),
    (16, "ATTACH"),
    (0x4206, "SEIZE"),
];

/// How each argument of a system call is shown; those that are missing here are left out.
fn argument_formats(name: &str) -> &'static [ArgumentFormat] {
    match name {
        "mount" => &[Text, Text, Text, Hex],
        "umount2" => &[Text, Hex],
        "pivot_root" | "add_key" | "request_key" => &[Text, Text],
        "chroot" | "swapon" | "swapoff" | "acct" | "fsopen" | "mknod" | "truncate" | "execve"
        | "uselib" | "mq_open" | "mq_unlink" => &[Text],
        "open_tree" | "open_tree_attr" | "execveat" | "mknodat" | "move_mount" | "fspick"
        | "mount_setattr" | "name_to_handle_at" => &[Number, Text],
        "sethostname" | "setdomainname" => &[Text, Number],
        "unshare" | "clone" => &[Namespaces],
        "setns" => &[Number, Namespaces],
        "ptrace" => &[Trace, Number],
        "kill" | "tkill" | "rt_sigqueueinfo" | "pidfd_send_signal" => {
            &[Number, ArgumentFormat::Signal]
        }
        "tgkill" | "rt_tgsigqueueinfo" => &[Number, Number, ArgumentFormat::Signal],
        "process_vm_readv" | "process_vm_writev" | "process_madvise" | "process_mrelease"
        | "kcmp" | "prlimit64" | "sched_setaffinity" | "sched_setscheduler" | "sched_setparam"
        | "sched_setattr" | "prctl" | "syslog" | "seccomp" | "bpf" | "keyctl" => &[Number],
        "setpriority" | "ioprio_set" | "fcntl" | "pidfd_getfd" => &[Number, Number],
        "personality" | "reboot" | "userfaultfd" | "shmget" | "semget" | "msgget" => &[Hex],
        "ioctl" => &[Number, Hex],
        "socket" | "socketpair" => &[Family, SocketType, Number],
        "connect" | "bind" => &[Number, Address],
        _ => &[],
    }
}

/// The call with the arguments of [`argument_formats`].
pub(super) fn describe_call(name: &str, notice: &SyscallNotification) -> String {
    let shown = argument_formats(name).iter().enumerate();
    let arguments: Vec<_> =
        shown.map(|(index, how)| describe_argument(notice, index, *how)).collect();
    format!("{name}({})", arguments.join(", "))
}

fn describe_argument(notice: &SyscallNotification, index: usize, how: ArgumentFormat) -> String {
    let value = notice.arguments[index];
    let number = value as i32;
    match how {
        Text => describe_string(notice.pid, value),
        Number => number.to_string(),
        Hex => format!("{value:#x}"),
        ArgumentFormat::Signal => Signal::try_from(number)
            .map_or_else(|_| number.to_string(), |signal| signal.as_str().to_owned()),
        Namespaces => describe_clone_flags(number),
        Family => constant_name(SOCKET_FAMILY_NAMES, number),
        SocketType => constant_name(SOCKET_TYPE_NAMES, number & SOCKET_TYPE_MASK as i32),
        Trace => constant_name(PTRACE_REQUEST_NAMES, number),
        Address => {
            let length = notice.arguments.get(index + 1).copied().unwrap_or(0);
            let bytes =
                read_guest_memory(notice.pid, value, usize::try_from(length).unwrap_or(0).min(128));
            describe_address(&bytes).unwrap_or_else(|| "?".to_owned())
        }
    }
}

fn constant_name(names: &[(libc::c_int, &str)], value: libc::c_int) -> String {
    let known = names.iter().find(|(number, _)| *number == value);
    known.map_or_else(|| value.to_string(), |(_, name)| (*name).to_owned())
}

fn describe_clone_flags(value: libc::c_int) -> String {
    let set: Vec<_> = CLONE_FLAG_NAMES
        .iter()
        .filter(|(flag, _)| value & flag != 0)
        .map(|(_, name)| *name)
        .collect();
    if set.is_empty() { format!("{value:#x}") } else { set.join("|") }
}

fn describe_string(pid: u32, pointer: u64) -> String {
    if pointer == 0 {
        return "NULL".to_owned();
    }
    let bytes = read_guest_memory(pid, pointer, MAX_STRING_BYTES + 1);
    let end = bytes.iter().position(|byte| *byte == 0);
    let cut = if end.is_none() && bytes.len() > MAX_STRING_BYTES { "…" } else { "" };
    if bytes.is_empty() {
        return "?".to_owned();
    }
    let shown = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len().min(MAX_STRING_BYTES))]);
    format!("\"{}\"{cut}", shown.escape_debug())
}

/// Reads as much as is mapped, page by page, because a string may end right before an unmapped
/// page.
pub(super) fn read_guest_memory(pid: u32, pointer: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut read = 0;
    while read < length {
        let Some(from) = pointer.checked_add(read as u64) else { break };
        let to_page_end = usize::try_from(PAGE_BYTES - from % PAGE_BYTES).unwrap_or(length);
        let until = length.min(read + to_page_end);
        match sys::read_memory(pid, from, &mut bytes[read..until]) {
            Ok(0) | Err(_) => break,
            Ok(count) => read += count,
        }
    }
    bytes.truncate(read);
    bytes
}

fn describe_address(bytes: &[u8]) -> Option<String> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    match i32::from(u16::from_ne_bytes(*family)) {
        libc::AF_INET => {
            let (port, rest) = rest.split_first_chunk::<2>()?;
            let (ip, _) = rest.split_first_chunk::<4>()?;
            Some(format!("{}:{}", Ipv4Addr::from(*ip), u16::from_be_bytes(*port)))
        }
        libc::AF_INET6 => {
            let (port, rest) = rest.split_first_chunk::<2>()?;
            let (ip, _) = rest.get(4..)?.split_first_chunk::<16>()?;
            Some(format!("[{}]:{}", Ipv6Addr::from(*ip), u16::from_be_bytes(*port)))
        }
        libc::AF_UNIX => {
            let (sigil, name) = match rest.split_first() {
                Some((0, name)) => ("@", name),
                _ => ("", rest),
            };
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            Some(format!("\"{sigil}{}\"", String::from_utf8_lossy(name).escape_debug()))
        }
        other => Some(constant_name(SOCKET_FAMILY_NAMES, other)),
    }
}
