//! Decides about system calls that the filters cannot decide, and which to record as violations.
//!
//! Allowing a call is safe because decisions depend on registers and on the kernel's own records,
//! never on the guest's memory, which other threads of the guest can change meanwhile. Memory is
//! read for descriptions only.
//!
//! The zygote has run the module's import, so it is no more trusted than calls are. What only the
//! zygote may do (forking for a call, killing all processes) is permitted once per request of init.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::collections::BTreeSet;
use std::fs;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use super::notify::{SyscallNotification, SyscallResponse};
use super::path_access::{PathAccess, PathAccessRecorder};
use super::policy::ConfinementPolicy;
use super::program::{NATIVE_AUDIT_ARCH, X32_SYSCALL_BIT};
use super::rules::{self, FORBIDDEN_CLONE_FLAGS, TrustedPids};
use super::syscalls::{self, ViolationKind};
use super::{describe, landlock::LandlockStatus, seccomp};

/// A forbidden system call that was attempted, described for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SyscallViolation {
    pub kind: ViolationKind,
    /// The call as one would write it: `socket(AF_INET, SOCK_RAW, 1)`.
    pub detail: String,
}

/// Decides about the notified system calls of one sandbox.
#[derive(Debug)]
pub(crate) struct SyscallSupervisor {
    trusted_pids: TrustedPids,
    signals_stay_inside: bool,
    permissions: ZygotePermissions,
    /// Calls that are notified only so that faults can be injected.
    interposed: Vec<i64>,
    /// Calls that are notified only so that their paths can be recorded.
    path_syscalls: Vec<i64>,
    path_recorder: PathAccessRecorder,
    /// Calls that were answered with success but not made, by name.
    pretended: BTreeSet<&'static str>,
}

/// System calls that the zygote may make once each: executing Python (`start`), forking for a call,
/// and signalling all processes (`sweep`). Each permission is taken when it is used.
#[derive(Debug)]
struct ZygotePermissions {
    start: bool,
    fork: bool,
    sweep: bool,
}

impl SyscallSupervisor {
    /// `interpreter` is the confined process, which may execute its program once.
    pub(crate) fn new(
        policy: ConfinementPolicy,
        landlock_status: &LandlockStatus,
        interpreter: u32,
        path_recorder: PathAccessRecorder,
    ) -> Self {
        Self {
            trusted_pids: TrustedPids { menace: std::process::id(), interpreter },
            signals_stay_inside: policy.namespaces || landlock_status.is_scoped,
            permissions: ZygotePermissions { start: true, fork: false, sweep: false },
            interposed: seccomp::interposed_syscalls(policy, landlock_status),
            path_syscalls: seccomp::watched_syscalls(policy, landlock_status),
            path_recorder,
            pretended: BTreeSet::new(),
        }
    }

    /// Permits the zygote one more fork, since it was asked for one.
    pub(crate) fn permit_fork(&mut self) {
        self.permissions.fork = true;
    }

    /// Permits the zygote to signal all processes once, since it was asked for a sweep.
    pub(crate) fn permit_sweep(&mut self) {
        self.permissions.sweep = true;
    }

    /// Calls that were pretended since the last call of this function, by name.
    pub(crate) fn take_pretended(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pretended).into_iter().map(str::to_owned).collect()
    }

    /// Accesses to files outside since the last call of this function, and the number of those that
    /// were not recorded.
    pub(crate) fn take_accesses(&mut self) -> (Vec<PathAccess>, u64) {
        self.path_recorder.take()
    }

    /// Whether a fault may be injected into this system call: one that is made unless a fault
    /// prevents it. A delayed system call continues without a decision.
    pub(crate) fn may_inject_fault(&self, notice: &SyscallNotification) -> bool {
        is_native(notice) && self.interposed.contains(&notice.number)
    }

    /// Records the path of a call that is not decided here, because a fault answers or delays it.
    pub(crate) fn record_path_access(&mut self, notice: &SyscallNotification) {
        if self.path_syscalls.contains(&notice.number) {
            self.path_recorder.record(notice);
        }
    }

    /// The response to a system call, and the violation to record.
    pub(crate) fn decide(
        &mut self,
        notice: &SyscallNotification,
    ) -> (SyscallResponse, Option<SyscallViolation>) {
        if !is_native(notice) {
            let detail = format!("system call {:#x} of another architecture", notice.number);
            return refuse(Errno::ENOSYS, ViolationKind::Foreign, detail);
        }
        self.record_path_access(notice);
        if self.path_syscalls.contains(&notice.number) || self.interposed.contains(&notice.number) {
            return (SyscallResponse::Allow, None);
        }
        let Some((name, kind)) = syscalls::look_up(notice.number) else {
            return (SyscallResponse::Refuse(Errno::ENOSYS), None);
        };
        if self.permits(notice, kind) {
            return (SyscallResponse::Allow, None);
        }
        if let Some(answer) = self.unrecorded_response(notice, name) {
            return (answer, None);
        }
        let kind = if notice.number == libc::SYS_clone
            && notice.arguments[0] & FORBIDDEN_CLONE_FLAGS != 0
        {
            ViolationKind::Namespace
        } else {
            kind
        };
        refuse(refusal_errno(notice, kind), kind, describe::describe_call(name, notice))
    }

    fn permits(&mut self, notice: &SyscallNotification, kind: ViolationKind) -> bool {
        match kind {
            ViolationKind::Program => {
                self.is_from_interpreter(notice) && std::mem::take(&mut self.permissions.start)
            }
            ViolationKind::Process => {
                let plain = notice.number != libc::SYS_clone
                    || notice.arguments[0] & FORBIDDEN_CLONE_FLAGS == 0;
                plain
                    && self.is_from_interpreter(notice)
                    && std::mem::take(&mut self.permissions.fork)
            }
            ViolationKind::Signal => self.permits_signal(notice),
            _ => false,
        }
    }

    fn is_from_interpreter(&self, notice: &SyscallNotification) -> bool {
        notice.pid == self.trusted_pids.interpreter
    }

    fn permits_signal(&mut self, notice: &SyscallNotification) -> bool {
        match notice.number {
            libc::SYS_kill
                if parse_signal_target(notice, 0) == Some(SignalTarget::AllProcesses) =>
            {
                self.is_from_interpreter(notice) && std::mem::take(&mut self.permissions.sweep)
            }
            libc::SYS_pidfd_send_signal => self.permits_signal_by_pidfd(notice),
            libc::SYS_setpriority | libc::SYS_ioprio_set => {
                let which = if notice.number == libc::SYS_setpriority {
                    rules::PRIO_PROCESS
                } else {
                    rules::IOPRIO_WHO_PROCESS
                };
                notice.arguments[0] as u32 == which as u32 && targets_itself(notice, 1)
            }
            _ => targets_itself(notice, 0),
        }
    }

    /// Another thread of the guest may replace the descriptor meanwhile. Where signals cannot leave
    /// the sandbox that harms the guest alone; elsewhere such signals are refused.
    fn permits_signal_by_pidfd(&self, notice: &SyscallNotification) -> bool {
        self.signals_stay_inside
            && read_pidfd_target(notice.pid, notice.arguments[0]).is_some_and(|pid| {
                !self.trusted_pids.contains(pid) || is_same_process(notice.pid, pid)
            })
    }

    /// Responses for calls that ordinary programs make, and that are refused only because the
    /// sandbox cannot support them: not violations.
    fn unrecorded_response(
        &mut self,
        notice: &SyscallNotification,
        name: &'static str,
    ) -> Option<SyscallResponse> {
        let is_one_of =
            |calls: &[syscalls::SyscallEntry]| calls.iter().any(|c| c.number == notice.number);
        let locks = notice.number == syscalls::FLOCK_SYSCALL.number
            || notice.number == libc::SYS_fcntl && rules::is_locking_fcntl(notice.arguments[1]);
        if locks {
            // Another thread may put another file behind the descriptor meanwhile, and lock that.
            let is_own = self.path_recorder.is_own_file(notice.pid, notice.arguments[0]);
            Some(if is_own { SyscallResponse::Allow } else { SyscallResponse::Pretend })
        } else if syscalls::METADATA_SYSCALLS.iter().any(|calls| is_one_of(calls)) {
            self.pretended.insert(name);
            Some(SyscallResponse::Pretend)
        } else if is_one_of(syscalls::SYNC_SYSCALLS) {
            // `sync`: the guest cannot observe that nothing was written back.
            Some(SyscallResponse::Pretend)
        } else if notice.number == syscalls::INOTIFY_ADD_WATCH_SYSCALL.number
            || is_name_cache_socket(notice)
        {
            Some(SyscallResponse::Refuse(Errno::EACCES))
        } else if notice.number == libc::SYS_ioctl
            && !rules::is_forbidden_ioctl(notice.arguments[1])
        {
            // `ENOTTY`, as a file system without such requests answers.
            Some(SyscallResponse::Refuse(Errno::ENOTTY))
        } else {
            None
        }
    }
}

/// Call numbers mean what [`syscalls`] says only in the native ABI.
fn is_native(notice: &SyscallNotification) -> bool {
    notice.architecture == NATIVE_AUDIT_ARCH && notice.number < i64::from(X32_SYSCALL_BIT)
}

/// Whether it is, by its flags, the socket with which the C library contacts the name service cache
/// (nscd) before it reads `/etc/passwd`: `pwd.getpwuid` is no violation.
fn is_name_cache_socket(notice: &SyscallNotification) -> bool {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    notice.number == libc::SYS_socket
        && notice.arguments[..3].iter().map(|argument| *argument as i32).eq([
            libc::AF_UNIX,
            kind,
            0,
        ])
}

fn refuse(
    errno: Errno,
    what: ViolationKind,
    detail: String,
) -> (SyscallResponse, Option<SyscallViolation>) {
    (SyscallResponse::Refuse(errno), Some(SyscallViolation { kind: what, detail }))
}

/// The error that programs expect in this case.
fn refusal_errno(notice: &SyscallNotification, kind: ViolationKind) -> Errno {
    let family = notice.arguments[0] as i32;
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
    match kind {
        ViolationKind::Network
            if notice.number == libc::SYS_socket && !internet.contains(&family) =>
        {
            Errno::EAFNOSUPPORT
        }
        ViolationKind::Network | ViolationKind::Program => Errno::EACCES,
        // As a kernel that was built without these calls.
        ViolationKind::Ipc | ViolationKind::Rare => Errno::ENOSYS,
        _ => Errno::EPERM,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum SignalTarget {
    Process(u32),
    Group,
    AllProcesses,
}

fn parse_signal_target(notice: &SyscallNotification, argument: usize) -> Option<SignalTarget> {
    Some(match notice.arguments.get(argument).copied()? as i32 {
        -1 => SignalTarget::AllProcesses,
        pid if pid > 0 => SignalTarget::Process(pid.cast_unsigned()),
        _ => SignalTarget::Group,
    })
}

fn targets_itself(notice: &SyscallNotification, argument: usize) -> bool {
    match parse_signal_target(notice, argument) {
        Some(SignalTarget::Process(pid)) => is_same_process(notice.pid, pid),
        _ => false,
    }
}

/// Whether both are threads of one process.
fn is_same_process(one: u32, other: u32) -> bool {
    one == other || read_tgid(one).is_some_and(|process| Some(process) == read_tgid(other))
}

/// The process that a thread belongs to.
fn read_tgid(thread: u32) -> Option<u32> {
    parse_status_field(&fs::read_to_string(format!("/proc/{thread}/status")).ok()?, "Tgid:")
}

/// The process that a pidfd of the calling process refers to.
fn read_pidfd_target(asker: u32, fd: u64) -> Option<u32> {
    let fd = fd as u32;
    parse_status_field(&fs::read_to_string(format!("/proc/{asker}/fdinfo/{fd}")).ok()?, "Pid:")
}

fn parse_status_field(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use menace_model::CallConfinement;
    use menace_model::SyscallInterposition;

    fn notice(number: i64, architecture: u32) -> SyscallNotification {
        let mut notice = SyscallNotification::default();
        (notice.number, notice.architecture) = (number, architecture);
        notice
    }

    #[test]
    fn faults_are_injected_into_allowed_system_calls_only() {
        let policy = ConfinementPolicy {
            confinement: CallConfinement::DEFAULT,
            namespaces: false,
            host_sockets_visible: false,
            records_path_access: true,
            interposition: SyscallInterposition { files: true, memory: true, sockets: true },
        };
        let may_inject = |abi, number, architecture| {
            let landlock_status = LandlockStatus { abi, ..LandlockStatus::default() };
            let supervisor =
                SyscallSupervisor::new(policy, &landlock_status, 2, PathAccessRecorder::default());
            supervisor.may_inject_fault(&notice(number, architecture))
        };
        for number in [libc::SYS_openat, libc::SYS_write, libc::SYS_mmap, libc::SYS_sendto] {
            assert!(may_inject(3, number, NATIVE_AUDIT_ARCH), "{number}");
            // In another architecture the same number is another call.
            assert!(!may_inject(3, number, NATIVE_AUDIT_ARCH ^ 1), "{number}");
            assert!(
                !may_inject(3, number + i64::from(X32_SYSCALL_BIT), NATIVE_AUDIT_ARCH),
                "{number}"
            );
        }
        assert!(may_inject(3, libc::SYS_truncate, NATIVE_AUDIT_ARCH));
        assert!(!may_inject(2, libc::SYS_truncate, NATIVE_AUDIT_ARCH));
        assert!(!may_inject(3, libc::SYS_connect, NATIVE_AUDIT_ARCH));
    }
}
