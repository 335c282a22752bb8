//! The conditions on arguments under which system calls are allowed, as seccomp rules.
//!
//! A call is allowed when all conditions of one of its rules hold. Filters see numbers only, never
//! what a pointer leads to; calls that would need that are refused or left to
//! [`super::supervisor`].

use libc::c_ulong;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, Ge, Le, MaskedEq, Ne};
use seccompiler::{BackendError, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::policy::ConfinementPolicy;

/// The namespace flags of `clone`, and `CLONE_PARENT`, which would make the new process a child of
/// another one. (`clone` has no `CLONE_NEWTIME`.)
pub(super) const FORBIDDEN_CLONE_FLAGS: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_PARENT) as u64;
const CLONE_THREAD_FLAG: u64 = libc::CLONE_THREAD as u64;

/// `SOCK_CLOEXEC` and `SOCK_NONBLOCK` share the argument with the type.
pub(super) const SOCKET_TYPE_MASK: u64 = 0xf;

/// `ioctl` requests that inject input into a terminal, redirect the console or load a line
/// discipline.
const FORBIDDEN_IOCTLS: &[c_ulong] =
    &[libc::TIOCSTI as c_ulong, TIOCLINUX, libc::TIOCCONS as c_ulong, TIOCSETD];
const TIOCLINUX: c_ulong = 0x541c;
const TIOCSETD: c_ulong = 0x5423;
/// `FIOSETOWN` and `SIOCSPGRP`: direct a descriptor's signals to a process.
const OWNER_SETTING_IOCTLS: &[c_ulong] = &[0x8901, 0x8902];

/// The byte of an `ioctl` request that is its type; requests to terminals, pipes and sockets share
/// one.
const IOCTL_TYPE_MASK: u64 = 0xff00;
const TERMINAL_IOCTL_TYPE: u64 = 0x5400;
/// `ioctl` requests to files that ordinary programs make, and that change no file which is not open
/// for writing: flags, attributes, extents, block size, and sharing data with another file.
const ALLOWED_FILE_IOCTLS: &[u64] =
    &[0x8008_6601, 0x801c_581f, 0xc020_660b, 0x2, 0x4004_9409, 0x4020_940d];

/// A lease blocks the host from opening its own file; some of the others direct signals to
/// processes.
const FORBIDDEN_FCNTLS: &[c_ulong] = &[libc::F_SETLEASE as c_ulong];
const OWNER_SETTING_FCNTLS: &[c_ulong] =
    &[libc::F_SETOWN as c_ulong, F_SETSIG, F_SETOWN_EX, libc::F_NOTIFY as c_ulong];
const LOCKING_FCNTLS: &[c_ulong] = &[
    libc::F_SETLK as c_ulong,
    libc::F_SETLKW as c_ulong,
    libc::F_OFD_SETLK as c_ulong,
    libc::F_OFD_SETLKW as c_ulong,
];
const F_SETSIG: c_ulong = 10;
const F_SETOWN_EX: c_ulong = 15;

const PR_GET_SPECULATION_CTRL: c_ulong = 52;
const PR_SET_SPECULATION_CTRL: c_ulong = 53;
const PR_SET_VMA: c_ulong = 0x5356_4d41;
const PR_SET_PTRACER: c_ulong = 0x5961_6d61;
const PR_GET_AUXV: c_ulong = 0x4155_5856;
/// `prctl` options that ordinary programs use.
const ORDINARY_PRCTLS: &[c_ulong] = &[
    libc::PR_GET_PDEATHSIG as c_ulong,
    libc::PR_GET_DUMPABLE as c_ulong,
    libc::PR_SET_DUMPABLE as c_ulong,
    libc::PR_GET_KEEPCAPS as c_ulong,
    libc::PR_SET_KEEPCAPS as c_ulong,
    libc::PR_SET_NAME as c_ulong,
    libc::PR_GET_NAME as c_ulong,
    libc::PR_GET_SECCOMP as c_ulong,
    libc::PR_CAPBSET_READ as c_ulong,
    libc::PR_CAPBSET_DROP as c_ulong,
    libc::PR_GET_TSC as c_ulong,
    libc::PR_GET_SECUREBITS as c_ulong,
    libc::PR_SET_TIMERSLACK as c_ulong,
    libc::PR_GET_TIMERSLACK as c_ulong,
    libc::PR_SET_CHILD_SUBREAPER as c_ulong,
    libc::PR_GET_CHILD_SUBREAPER as c_ulong,
    libc::PR_SET_NO_NEW_PRIVS as c_ulong,
    libc::PR_GET_NO_NEW_PRIVS as c_ulong,
    libc::PR_GET_TID_ADDRESS as c_ulong,
    libc::PR_SET_THP_DISABLE as c_ulong,
    libc::PR_GET_THP_DISABLE as c_ulong,
    libc::PR_CAP_AMBIENT as c_ulong,
    PR_GET_SPECULATION_CTRL,
    // Pointer authentication, tagged addresses and vector lengths of aarch64.
    50,
    51,
    54,
    55,
    56,
    // Memory that can never become writable and executable.
    65,
    66,
    PR_SET_VMA,
    PR_SET_PTRACER,
    PR_GET_AUXV,
];
/// `prctl` options that every level refuses. Among them `PR_SET_SECCOMP`: a filter of the guest
/// would hide its attempts from the listener.
const FORBIDDEN_PRCTLS: &[c_ulong] =
    &[libc::PR_SET_SECCOMP as c_ulong, libc::PR_SET_MM as c_ulong, PR_SET_SPECULATION_CTRL];

pub(super) const PRIO_PROCESS: u64 = 0;
pub(super) const IOPRIO_WHO_PROCESS: u64 = 1;
/// `personality(0xffffffff)` changes nothing, and returns the current one.
const PERSONALITY_QUERY: u64 = 0xffff_ffff;
const SECCOMP_QUERIES: &[u64] =
    &[libc::SECCOMP_GET_ACTION_AVAIL as u64, libc::SECCOMP_GET_NOTIF_SIZES as u64];

/// Descriptors from this number on belong to the harness.
const FIRST_HARNESS_FD: u64 = 900;

/// The rules of one call: it is allowed when one of them holds. Without a rule it is never allowed.
pub(super) type SyscallRules = Vec<SeccompRule>;
type SyscallRulesResult<T> = std::result::Result<T, BackendError>;

fn build_rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> SyscallRulesResult<SeccompRule> {
    let conditions = conditions
        .iter()
        .map(|(argument, operator, value)| {
            SeccompCondition::new(*argument, Dword, operator.clone(), *value)
        })
        .collect::<SyscallRulesResult<_>>()?;
    SeccompRule::new(conditions)
}

/// Allowed on standard input and output, and on the harness's descriptors.
pub(super) fn harness_descriptor_rules() -> SyscallRulesResult<SyscallRules> {
    Ok(vec![build_rule(&[(0, Le, 2)])?, build_rule(&[(0, Ge, FIRST_HARNESS_FD)])?])
}

/// A flag that the kernel does not know and ignores: the harness opens the files of a call with it
/// (`state/reopen.py`). Such a call is no violation and meets no fault. Guest code that uses it is
/// not reported, and reaches no other files by it.
pub(super) const HARNESS_OPEN_FLAG: u64 = 1 << 30;

/// Opening that is not recorded: directories (`O_DIRECTORY`), and files that the harness opens.
pub(super) fn unrecorded_open_rules(flags: u8) -> SyscallRulesResult<SyscallRules> {
    let directory = int_argument(libc::O_DIRECTORY);
    let mut rules = vec![build_rule(&[(flags, MaskedEq(directory), directory)])?];
    rules.extend(harness_open_rules(flags)?);
    Ok(rules)
}

/// `flags` is the number of the argument with the flags.
pub(super) fn harness_open_rules(flags: u8) -> SyscallRulesResult<SyscallRules> {
    Ok(vec![build_rule(&[(flags, MaskedEq(HARNESS_OPEN_FLAG), HARNESS_OPEN_FLAG)])?])
}

/// Mapping a file is not interposed: it takes no memory of its own.
pub(super) fn file_mapping_rules() -> SyscallRulesResult<SyscallRules> {
    let anonymous = libc::MAP_ANONYMOUS as u64;
    Ok(vec![build_rule(&[(3, MaskedEq(anonymous), 0)])?])
}

/// Allowed unless the argument is one of these.
fn allow_unless(argument: u8, values: &[u64]) -> SyscallRulesResult<SyscallRules> {
    let conditions: Vec<_> = values.iter().map(|value| (argument, Ne, *value)).collect();
    Ok(vec![build_rule(&conditions)?])
}

/// Allowed when the argument is one of these.
fn allow_only(argument: u8, values: &[u64]) -> SyscallRulesResult<SyscallRules> {
    values.iter().map(|value| build_rule(&[(argument, Eq, *value)])).collect()
}

/// `clone`: threads always; processes unless the policy forbids them; namespaces never.
pub(super) fn clone_rules(policy: ConfinementPolicy) -> SyscallRulesResult<SyscallRules> {
    Ok(vec![if policy.allows_processes() {
        build_rule(&[(0, MaskedEq(FORBIDDEN_CLONE_FLAGS), 0)])?
    } else {
        build_rule(&[(0, MaskedEq(FORBIDDEN_CLONE_FLAGS | CLONE_THREAD_FLAG), CLONE_THREAD_FLAG)])?
    }])
}

/// `socket`: none without a network. Unix sockets are left out where a socket file of the host can
/// be seen, since they connect by path.
pub(super) fn socket_rules(policy: ConfinementPolicy) -> SyscallRulesResult<SyscallRules> {
    let mut rules = SyscallRules::new();
    if !policy.allows_network() {
        return Ok(rules);
    }
    if policy.allows_unix_sockets() {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
            rules.push(build_rule(&[family_is(libc::AF_UNIX), type_is(kind)])?);
        }
    }
    // The C library queries the routing table before it resolves a name.
    rules.push(build_rule(&[family_is(libc::AF_NETLINK), (2, Eq, libc::NETLINK_ROUTE as u64)])?);
    for name in [libc::AF_INET, libc::AF_INET6] {
        for (kind, own) in
            [(libc::SOCK_STREAM, libc::IPPROTO_TCP), (libc::SOCK_DGRAM, libc::IPPROTO_UDP)]
        {
            if policy.allows_rare_syscalls() {
                rules.push(build_rule(&[family_is(name), type_is(kind)])?);
            } else {
                // For other protocols the kernel would load modules.
                for protocol in [0, own] {
                    rules.push(build_rule(&[
                        family_is(name),
                        type_is(kind),
                        (2, Eq, int_argument(protocol)),
                    ])?);
                }
            }
        }
    }
    Ok(rules)
}

/// `socketpair`: the ends of a pair talk to each other only. But a datagram socket can send to any
/// other address, so datagram pairs are allowed only where Unix sockets are.
pub(super) fn socketpair_rules(policy: ConfinementPolicy) -> SyscallRulesResult<SyscallRules> {
    let mut rules = vec![
        build_rule(&[family_is(libc::AF_UNIX), type_is(libc::SOCK_STREAM)])?,
        build_rule(&[family_is(libc::AF_UNIX), type_is(libc::SOCK_SEQPACKET)])?,
    ];
    if policy.allows_unix_sockets() {
        rules.push(build_rule(&[family_is(libc::AF_UNIX), type_is(libc::SOCK_DGRAM)])?);
    }
    Ok(rules)
}

fn family_is(family: libc::c_int) -> (u8, SeccompCmpOp, u64) {
    (0, Eq, int_argument(family))
}

fn type_is(kind: libc::c_int) -> (u8, SeccompCmpOp, u64) {
    (1, MaskedEq(SOCKET_TYPE_MASK), int_argument(kind))
}

/// Processes that the guest must not signal or restrict, because the sandbox depends on them: init,
/// Menace, and the zygote.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrustedPids {
    pub(super) menace: u32,
    pub(super) interpreter: u32,
}

impl TrustedPids {
    pub(super) fn contains(self, pid: u32) -> bool {
        self.all_pids().contains(&pid)
    }

    fn all_pids(self) -> [u32; 3] {
        [1, self.menace, self.interpreter]
    }
}

/// `kill` and the like; the target is the first argument. Where the kernel does not keep signals
/// inside the sandbox, the supervisor decides on each.
pub(super) fn signal_rules(
    trusted: TrustedPids,
    kept_inside: bool,
) -> SyscallRulesResult<SyscallRules> {
    if !kept_inside {
        return Ok(SyscallRules::new());
    }
    let processes = trusted.all_pids().map(u64::from);
    let groups = trusted.all_pids().map(|pid| int_argument(pid.wrapping_neg().cast_signed()));
    allow_unless(0, &[&processes[..], &groups[..]].concat())
}

/// `prlimit64`, `sched_set…`: 0 is the calling process. Without a PID namespace the supervisor
/// decides on all other targets.
pub(super) fn limit_rules(
    policy: ConfinementPolicy,
    trusted: TrustedPids,
) -> SyscallRulesResult<SyscallRules> {
    if policy.namespaces {
        allow_unless(0, &trusted.all_pids().map(u64::from))
    } else {
        allow_only(0, &[0])
    }
}

/// `setpriority(which, id)`.
pub(super) fn priority_rules(
    policy: ConfinementPolicy,
    trusted: TrustedPids,
) -> SyscallRulesResult<SyscallRules> {
    process_priority_rules(PRIO_PROCESS, policy, trusted)
}

/// `ioprio_set(which, id)`.
pub(super) fn io_priority_rules(
    policy: ConfinementPolicy,
    trusted: TrustedPids,
) -> SyscallRulesResult<SyscallRules> {
    process_priority_rules(IOPRIO_WHO_PROCESS, policy, trusted)
}

fn process_priority_rules(
    which: u64,
    policy: ConfinementPolicy,
    trusted: TrustedPids,
) -> SyscallRulesResult<SyscallRules> {
    let mut conditions = vec![(0, Eq, which)];
    if policy.namespaces {
        conditions.extend(trusted.all_pids().map(|pid| (1, Ne, u64::from(pid))));
    } else {
        conditions.push((1, Eq, 0));
    }
    Ok(vec![build_rule(&conditions)?])
}

/// A C `int`, as filters see it in a 64-bit register.
fn int_argument(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

/// A descriptor that is open for reading suffices to change a file's flags and attributes, and
/// Landlock permits it. Without namespaces only known requests are allowed.
pub(super) fn ioctl_rules(policy: ConfinementPolicy) -> SyscallRulesResult<SyscallRules> {
    let forbidden = [FORBIDDEN_IOCTLS, OWNER_SETTING_IOCTLS].concat();
    if policy.namespaces {
        return allow_unless(1, &forbidden);
    }
    let mut of_terminals = vec![(1, MaskedEq(IOCTL_TYPE_MASK), TERMINAL_IOCTL_TYPE)];
    of_terminals.extend(forbidden.into_iter().map(|request| (1, Ne, request)));
    let mut rules = allow_only(1, ALLOWED_FILE_IOCTLS)?;
    rules.push(build_rule(&of_terminals)?);
    Ok(rules)
}

/// Whether every policy forbids this request.
pub(super) fn is_forbidden_ioctl(request: u64) -> bool {
    let request = request & 0xffff_ffff;
    FORBIDDEN_IOCTLS.contains(&request) || OWNER_SETTING_IOCTLS.contains(&request)
}

/// Without namespaces, locks of files are asked about.
pub(super) fn fcntl_rules(policy: ConfinementPolicy) -> SyscallRulesResult<SyscallRules> {
    let asked = if policy.namespaces { &[] } else { LOCKING_FCNTLS };
    allow_unless(1, &[FORBIDDEN_FCNTLS, OWNER_SETTING_FCNTLS, asked].concat())
}

/// Whether this request of `fcntl` locks a part of a file.
pub(super) fn is_locking_fcntl(request: u64) -> bool {
    LOCKING_FCNTLS.contains(&(request & 0xffff_ffff))
}

pub(super) fn prctl_rules(policy: ConfinementPolicy) -> SyscallRulesResult<SyscallRules> {
    const PDEATHSIG_OPTION: u64 = libc::PR_SET_PDEATHSIG as u64;
    // Without namespaces the parent-death signal is what ends the guest when Menace is killed: the
    // guest may set it to `SIGKILL`, but not clear it.
    let death = if policy.namespaces {
        build_rule(&[(0, Eq, PDEATHSIG_OPTION)])?
    } else {
        build_rule(&[(0, Eq, PDEATHSIG_OPTION), (1, Eq, libc::SIGKILL as u64)])?
    };
    let mut rules = if policy.allows_rare_syscalls() {
        allow_unless(0, &[FORBIDDEN_PRCTLS, &[PDEATHSIG_OPTION]].concat())?
    } else {
        allow_only(0, ORDINARY_PRCTLS)?
    };
    rules.push(death);
    Ok(rules)
}

pub(super) fn personality_rules() -> SyscallRulesResult<SyscallRules> {
    allow_only(0, &[0, PERSONALITY_QUERY])
}

/// Querying what the kernel supports is allowed. A filter of the guest would hide its attempts from
/// the listener.
pub(super) fn seccomp_rules() -> SyscallRulesResult<SyscallRules> {
    allow_only(0, SECCOMP_QUERIES)
}

/// `mknod` and `mknodat`: anything but devices. The argument is the mode.
pub(super) fn mknod_rules(mode: u8) -> SyscallRulesResult<SyscallRules> {
    [0, libc::S_IFREG, libc::S_IFIFO, libc::S_IFSOCK]
        .iter()
        .map(|kind| build_rule(&[(mode, MaskedEq(u64::from(libc::S_IFMT)), u64::from(*kind))]))
        .collect()
}
