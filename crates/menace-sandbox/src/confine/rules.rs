//! The conditions under which checked calls are allowed, as rules for the filter.
//!
//! A call is allowed when all conditions of one of its rules hold. Filters see numbers only, never
//! what a pointer leads to; whatever would need that is refused or left to [`super::warden`].

use libc::c_ulong;
use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, Ge, Le, MaskedEq, Ne};
use seccompiler::{BackendError, SeccompCmpOp, SeccompCondition, SeccompRule};

use super::policy::Policy;

/// The namespace flags of `clone`, and `CLONE_PARENT`, with which a process would slip out of its
/// parent's sight. (`CLONE_NEWTIME` cannot be asked for through `clone`.)
pub(super) const CLONE_FORBIDDEN: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_PARENT) as u64;
const CLONE_THREAD: u64 = libc::CLONE_THREAD as u64;

/// `SOCK_CLOEXEC` and `SOCK_NONBLOCK` share the argument with the type.
pub(super) const SOCKET_TYPE: u64 = 0xf;

/// Requests that put words into a terminal's mouth, take over its console or load a line discipline.
const IOCTLS_FORBIDDEN: &[c_ulong] =
    &[libc::TIOCSTI as c_ulong, TIOCLINUX, libc::TIOCCONS as c_ulong, TIOCSETD];
const TIOCLINUX: c_ulong = 0x541c;
const TIOCSETD: c_ulong = 0x5423;
/// Requests that aim a descriptor's signal at a process.
const IOCTLS_SETTING_OWNER: &[c_ulong] = &[0x8901, 0x8902];

/// Requests to terminals, pipes and sockets are of one type, in these bits.
const IOCTL_TYPE: u64 = 0xff00;
const IOCTL_TYPE_OF_TERMINALS: u64 = 0x5400;
/// Requests to files that ordinary programs make and that change none which is not open for writing:
/// flags, attributes, extents, block size; sharing data with another file.
const IOCTLS_OF_FILES: &[u64] =
    &[0x8008_6601, 0x801c_581f, 0xc020_660b, 0x2, 0x4004_9409, 0x4020_940d];

/// A lease stops the host from opening its own file; `fcntl` can also aim signals at processes.
const FCNTLS_FORBIDDEN: &[c_ulong] = &[libc::F_SETLEASE as c_ulong];
const FCNTLS_SETTING_OWNER: &[c_ulong] =
    &[libc::F_SETOWN as c_ulong, F_SETSIG, F_SETOWN_EX, libc::F_NOTIFY as c_ulong];
const F_SETSIG: c_ulong = 10;
const F_SETOWN_EX: c_ulong = 15;

const PR_GET_SPECULATION_CTRL: c_ulong = 52;
const PR_SET_SPECULATION_CTRL: c_ulong = 53;
const PR_SET_VMA: c_ulong = 0x5356_4d41;
const PR_SET_PTRACER: c_ulong = 0x5961_6d61;
const PR_GET_AUXV: c_ulong = 0x4155_5856;
/// What ordinary programs ask `prctl` for.
const PRCTLS_ORDINARY: &[c_ulong] = &[
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
/// What even the loosest level refuses: filters of the guest's own would hide what it tries.
const PRCTLS_FORBIDDEN: &[c_ulong] =
    &[libc::PR_SET_SECCOMP as c_ulong, libc::PR_SET_MM as c_ulong, PR_SET_SPECULATION_CTRL];

pub(super) const PRIO_PROCESS: u64 = 0;
pub(super) const IOPRIO_WHO_PROCESS: u64 = 1;
/// `personality(0xffffffff)` only asks.
const PERSONALITY_QUERY: u64 = 0xffff_ffff;
const SECCOMP_QUERIES: &[u64] =
    &[libc::SECCOMP_GET_ACTION_AVAIL as u64, libc::SECCOMP_GET_NOTIF_SIZES as u64];

/// From here on, descriptors are the harness's.
const OURS: u64 = 900;

/// Rules of one call: it is allowed when one of them holds. None at all means never.
pub(super) type Rules = Vec<SeccompRule>;
type Result<T> = std::result::Result<T, BackendError>;

fn rule(conditions: &[(u8, SeccompCmpOp, u64)]) -> Result<SeccompRule> {
    let conditions = conditions
        .iter()
        .map(|(argument, operator, value)| {
            SeccompCondition::new(*argument, Dword, operator.clone(), *value)
        })
        .collect::<Result<_>>()?;
    SeccompRule::new(conditions)
}

/// On standard input and output, and on what the harness uses.
pub(super) fn descriptor_of_ours() -> Result<Rules> {
    Ok(vec![rule(&[(0, Le, 2)])?, rule(&[(0, Ge, OURS)])?])
}

/// A flag that the kernel does not know and passes over: the harness opens files of a call's own with it
/// (`reopening.py`), which is nobody's attempt and meets no fault. Who borrows it is not told on, and gets
/// no further.
pub(super) const UNASKED: u64 = 1 << 30;

/// With `O_DIRECTORY` among the flags, or by the harness.
pub(super) fn opening_unasked(flags: u8) -> Result<Rules> {
    let directory = number(libc::O_DIRECTORY);
    let mut rules = vec![rule(&[(flags, MaskedEq(directory), directory)])?];
    rules.extend(opening_by_harness(flags)?);
    Ok(rules)
}

/// The flags are this argument.
pub(super) fn opening_by_harness(flags: u8) -> Result<Rules> {
    Ok(vec![rule(&[(flags, MaskedEq(UNASKED), UNASKED)])?])
}

/// Mapping a file takes no memory of its own.
pub(super) fn mapping_of_file() -> Result<Rules> {
    let anonymous = libc::MAP_ANONYMOUS as u64;
    Ok(vec![rule(&[(3, MaskedEq(anonymous), 0)])?])
}

/// Allowed unless the argument is one of these.
fn unless(argument: u8, values: &[u64]) -> Result<Rules> {
    let conditions: Vec<_> = values.iter().map(|value| (argument, Ne, *value)).collect();
    Ok(vec![rule(&conditions)?])
}

/// Allowed when the argument is one of these.
fn only(argument: u8, values: &[u64]) -> Result<Rules> {
    values.iter().map(|value| rule(&[(argument, Eq, *value)])).collect()
}

/// `clone`: threads always; processes unless the policy forbids them; namespaces never.
pub(super) fn clone(policy: Policy) -> Result<Rules> {
    Ok(vec![if policy.processes() {
        rule(&[(0, MaskedEq(CLONE_FORBIDDEN), 0)])?
    } else {
        rule(&[(0, MaskedEq(CLONE_FORBIDDEN | CLONE_THREAD), CLONE_THREAD)])?
    }])
}

/// Without a network there are none at all. Unix sockets can be connected by path to whatever is in
/// sight, which must be nothing of the host's.
pub(super) fn socket(policy: Policy) -> Result<Rules> {
    let mut rules = Rules::new();
    if !policy.network() {
        return Ok(rules);
    }
    if policy.unix_sockets() {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
            rules.push(rule(&[family(libc::AF_UNIX), type_is(kind)])?);
        }
    }
    // The C library asks the routing table before it resolves a name.
    rules.push(rule(&[family(libc::AF_NETLINK), (2, Eq, libc::NETLINK_ROUTE as u64)])?);
    for name in [libc::AF_INET, libc::AF_INET6] {
        for (kind, own) in
            [(libc::SOCK_STREAM, libc::IPPROTO_TCP), (libc::SOCK_DGRAM, libc::IPPROTO_UDP)]
        {
            if policy.rare_calls() {
                rules.push(rule(&[family(name), type_is(kind)])?);
            } else {
                // Other protocols would have the kernel load modules for them.
                for protocol in [0, own] {
                    rules.push(rule(&[family(name), type_is(kind), (2, Eq, number(protocol))])?);
                }
            }
        }
    }
    Ok(rules)
}

/// Pairs talk to each other only, except that a datagram socket can be pointed at any other address:
/// where there are no others there are none of those.
pub(super) fn socketpair(policy: Policy) -> Result<Rules> {
    let mut rules = vec![
        rule(&[family(libc::AF_UNIX), type_is(libc::SOCK_STREAM)])?,
        rule(&[family(libc::AF_UNIX), type_is(libc::SOCK_SEQPACKET)])?,
    ];
    if policy.unix_sockets() {
        rules.push(rule(&[family(libc::AF_UNIX), type_is(libc::SOCK_DGRAM)])?);
    }
    Ok(rules)
}

fn family(family: libc::c_int) -> (u8, SeccompCmpOp, u64) {
    (0, Eq, number(family))
}

fn type_is(kind: libc::c_int) -> (u8, SeccompCmpOp, u64) {
    (1, MaskedEq(SOCKET_TYPE), number(kind))
}

/// The processes that keep the sandbox alive, which the guest must not aim at: the first process of
/// the pid namespace, Menace, and the warm interpreter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keepers {
    pub(super) menace: u32,
    pub(super) interpreter: u32,
}

impl Keepers {
    pub(super) fn contain(self, pid: u32) -> bool {
        self.all().contains(&pid)
    }

    fn all(self) -> [u32; 3] {
        [1, self.menace, self.interpreter]
    }
}

/// `kill` and its family; the target is the first argument. When the kernel does not keep signals
/// inside the sandbox, every one is for the warden.
pub(super) fn signal(keepers: Keepers, kept_inside: bool) -> Result<Rules> {
    if !kept_inside {
        return Ok(Rules::new());
    }
    let processes = keepers.all().map(u64::from);
    let groups = keepers.all().map(|pid| number(pid.wrapping_neg().cast_signed()));
    unless(0, &[&processes[..], &groups[..]].concat())
}

/// `prlimit64`, `sched_set…`: 0 is oneself. Only a pid namespace keeps these inside; without one,
/// anything else is for the warden.
pub(super) fn limit(policy: Policy, keepers: Keepers) -> Result<Rules> {
    if policy.namespaces { unless(0, &keepers.all().map(u64::from)) } else { only(0, &[0]) }
}

/// `setpriority`: which, who.
pub(super) fn priority(policy: Policy, keepers: Keepers) -> Result<Rules> {
    of_process(PRIO_PROCESS, policy, keepers)
}

/// `ioprio_set`: which, who.
pub(super) fn io_priority(policy: Policy, keepers: Keepers) -> Result<Rules> {
    of_process(IOPRIO_WHO_PROCESS, policy, keepers)
}

fn of_process(which: u64, policy: Policy, keepers: Keepers) -> Result<Rules> {
    let mut conditions = vec![(0, Eq, which)];
    if policy.namespaces {
        conditions.extend(keepers.all().map(|pid| (1, Ne, u64::from(pid))));
    } else {
        conditions.push((1, Eq, 0));
    }
    Ok(vec![rule(&conditions)?])
}

/// A C `int` as the filters see it.
fn number(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

/// Flags, attributes and more of a file can be changed through a descriptor that only reads, and
/// Landlock lets it happen: without namespaces only what is known is allowed.
pub(super) fn ioctl(policy: Policy) -> Result<Rules> {
    let forbidden = [IOCTLS_FORBIDDEN, IOCTLS_SETTING_OWNER].concat();
    if policy.namespaces {
        return unless(1, &forbidden);
    }
    let mut of_terminals = vec![(1, MaskedEq(IOCTL_TYPE), IOCTL_TYPE_OF_TERMINALS)];
    of_terminals.extend(forbidden.into_iter().map(|request| (1, Ne, request)));
    let mut rules = only(1, IOCTLS_OF_FILES)?;
    rules.push(rule(&of_terminals)?);
    Ok(rules)
}

/// Whether no policy allows this request.
pub(super) fn is_forbidden_ioctl(request: u64) -> bool {
    let request = request & 0xffff_ffff;
    IOCTLS_FORBIDDEN.contains(&request) || IOCTLS_SETTING_OWNER.contains(&request)
}

pub(super) fn fcntl() -> Result<Rules> {
    unless(1, &[FCNTLS_FORBIDDEN, FCNTLS_SETTING_OWNER].concat())
}

pub(super) fn prctl(policy: Policy) -> Result<Rules> {
    const DEATH_SIGNAL: u64 = libc::PR_SET_PDEATHSIG as u64;
    // Without namespaces the signal at the parent's death is what ends the guest when Menace is
    // killed: it may be set, but not cleared.
    let death = if policy.namespaces {
        rule(&[(0, Eq, DEATH_SIGNAL)])?
    } else {
        rule(&[(0, Eq, DEATH_SIGNAL), (1, Eq, libc::SIGKILL as u64)])?
    };
    let mut rules = if policy.rare_calls() {
        unless(0, &[PRCTLS_FORBIDDEN, &[DEATH_SIGNAL]].concat())?
    } else {
        only(0, PRCTLS_ORDINARY)?
    };
    rules.push(death);
    Ok(rules)
}

pub(super) fn personality() -> Result<Rules> {
    only(0, &[0, PERSONALITY_QUERY])
}

/// Asking what the kernel can do is fine; a filter of the guest's own would hide what it tries.
pub(super) fn seccomp() -> Result<Rules> {
    only(0, SECCOMP_QUERIES)
}

/// `mknod` and `mknodat`: anything but devices. The argument is the mode.
pub(super) fn node(mode: u8) -> Result<Rules> {
    [0, libc::S_IFREG, libc::S_IFIFO, libc::S_IFSOCK]
        .iter()
        .map(|kind| rule(&[(mode, MaskedEq(u64::from(libc::S_IFMT)), u64::from(*kind))]))
        .collect()
}
