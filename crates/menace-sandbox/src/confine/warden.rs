//! Decides what the filters could not, and says what should be recorded.
//!
//! Allowing is safe here only because decisions look at registers and at the kernel's own records,
//! never at the guest's memory, which other threads of the guest can change meanwhile. Memory is read
//! for descriptions only.
//!
//! The warm interpreter runs the module's import, so it is no more trusted than the calls: it may do
//! what calls may not only when Menace has just asked it to, once for each time.

use std::collections::BTreeSet;
use std::fs;

use nix::errno::Errno;
use serde::{Deserialize, Serialize};

use super::notify::{Answer, Notice};
use super::policy::Policy;
use super::program::{NATIVE, X32};
use super::reach::{Reach, Reached};
use super::rules::{self, CLONE_FORBIDDEN, Keepers};
use super::syscalls::{self, Kind};
use super::{describe, landlock::Landlocked, seccomp};

/// Something forbidden that was tried, described for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub what: Kind,
    /// The call as one would write it: `socket(AF_INET, SOCK_RAW, 1)`.
    pub detail: String,
}

/// Answers the questions of one sandbox.
#[derive(Debug)]
pub(crate) struct Warden {
    keepers: Keepers,
    signals_stay_inside: bool,
    may: Permissions,
    /// Asked about only so that they can be made to fail.
    interposed: Vec<i64>,
    /// Asked about only to see where the guest goes.
    watched: Vec<i64>,
    reach: Reach,
    /// Changes of files that the guest believes to have made.
    pretended: BTreeSet<&'static str>,
}

/// What the interpreter may do once.
#[derive(Debug)]
struct Permissions {
    start: bool,
    fork: bool,
    sweep: bool,
}

impl Warden {
    /// `interpreter` is the confined process, which may become its program once.
    pub(crate) fn new(
        policy: Policy,
        landlocked: &Landlocked,
        interpreter: u32,
        reach: Reach,
    ) -> Self {
        Self {
            keepers: Keepers { menace: std::process::id(), interpreter },
            signals_stay_inside: policy.namespaces || landlocked.scoped,
            may: Permissions { start: true, fork: false, sweep: false },
            interposed: seccomp::interposed(policy, landlocked),
            watched: seccomp::watched(policy, landlocked),
            reach,
            pretended: BTreeSet::new(),
        }
    }

    /// The interpreter may fork once more, because it was asked to make a call.
    pub(crate) fn permit_fork(&mut self) {
        self.may.fork = true;
    }

    /// The interpreter may once signal every process, because it was asked to sweep.
    pub(crate) fn permit_sweep(&mut self) {
        self.may.sweep = true;
    }

    /// The calls that were pretended since this was last asked, by name.
    pub(crate) fn take_pretended(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pretended).into_iter().map(str::to_owned).collect()
    }

    /// The files outside that were reached for since this was last asked.
    pub(crate) fn take_reached(&mut self) -> Vec<Reached> {
        self.reach.take()
    }

    /// Whether a fault may have this call, because it is made unless one strikes. Who was delayed is let
    /// go without being judged.
    pub(crate) fn may_be_struck(&self, notice: &Notice) -> bool {
        is_native(notice) && self.interposed.contains(&notice.number)
    }

    /// Notes where a call leads to that is not judged.
    pub(crate) fn look(&mut self, notice: &Notice) {
        if self.watched.contains(&notice.number) {
            self.reach.look(notice);
        }
    }

    /// The answer, and what to record.
    pub(crate) fn judge(&mut self, notice: &Notice) -> (Answer, Option<Attempt>) {
        if !is_native(notice) {
            let detail = format!("system call {:#x} of another architecture", notice.number);
            return refused(Errno::ENOSYS, Kind::Foreign, detail);
        }
        self.look(notice);
        if self.watched.contains(&notice.number) || self.interposed.contains(&notice.number) {
            return (Answer::Allow, None);
        }
        let Some((name, kind)) = syscalls::look_up(notice.number) else {
            return (Answer::Refuse(Errno::ENOSYS), None);
        };
        if self.permits(notice, kind) {
            return (Answer::Allow, None);
        }
        if let Some(answer) = self.quiet_answer(notice, name) {
            return (answer, None);
        }
        let kind = if notice.number == libc::SYS_clone && notice.arguments[0] & CLONE_FORBIDDEN != 0
        {
            Kind::Namespace
        } else {
            kind
        };
        refused(errno(notice, kind), kind, describe::call(name, notice))
    }

    fn permits(&mut self, notice: &Notice, kind: Kind) -> bool {
        match kind {
            Kind::Program => self.interpreter_asks(notice) && std::mem::take(&mut self.may.start),
            Kind::Process => {
                let plain =
                    notice.number != libc::SYS_clone || notice.arguments[0] & CLONE_FORBIDDEN == 0;
                plain && self.interpreter_asks(notice) && std::mem::take(&mut self.may.fork)
            }
            Kind::Signal => self.permits_signal(notice),
            _ => false,
        }
    }

    fn interpreter_asks(&self, notice: &Notice) -> bool {
        notice.pid == self.keepers.interpreter
    }

    fn permits_signal(&mut self, notice: &Notice) -> bool {
        match notice.number {
            libc::SYS_kill if target(notice, 0) == Some(Target::Everyone) => {
                self.interpreter_asks(notice) && std::mem::take(&mut self.may.sweep)
            }
            libc::SYS_pidfd_send_signal => self.permits_signal_by_pidfd(notice),
            libc::SYS_setpriority | libc::SYS_ioprio_set => {
                let which = if notice.number == libc::SYS_setpriority {
                    rules::PRIO_PROCESS
                } else {
                    rules::IOPRIO_WHO_PROCESS
                };
                notice.arguments[0] as u32 == which as u32 && aims_at_itself(notice, 1)
            }
            _ => aims_at_itself(notice, 0),
        }
    }

    /// Another thread may put another process behind the descriptor meanwhile. Where signals cannot
    /// leave the sandbox that is the guest's own trouble; elsewhere it would be ours.
    fn permits_signal_by_pidfd(&self, notice: &Notice) -> bool {
        self.signals_stay_inside
            && behind_pidfd(notice.pid, notice.arguments[0])
                .is_some_and(|pid| !self.keepers.contain(pid) || same_process(notice.pid, pid))
    }

    /// For calls that ordinary programs make, and which are refused only because of where we are.
    fn quiet_answer(&mut self, notice: &Notice, name: &'static str) -> Option<Answer> {
        let is_one_of = |calls: &[syscalls::Call]| calls.iter().any(|c| c.number == notice.number);
        if syscalls::METADATA.iter().any(|calls| is_one_of(calls)) {
            self.pretended.insert(name);
            Some(Answer::Pretend)
        } else if is_one_of(syscalls::SYNC) {
            // Nobody can tell that nothing was written back.
            Some(Answer::Pretend)
        } else if notice.number == syscalls::WATCH.number || asks_name_cache(notice) {
            Some(Answer::Refuse(Errno::EACCES))
        } else if notice.number == libc::SYS_ioctl
            && !rules::is_forbidden_ioctl(notice.arguments[1])
        {
            // What a file system without such a thing says.
            Some(Answer::Refuse(Errno::ENOTTY))
        } else {
            None
        }
    }
}

/// Only of such calls the numbers mean what they say.
fn is_native(notice: &Notice) -> bool {
    notice.architecture == NATIVE && notice.number < i64::from(X32)
}

/// Whether it is the socket, by its flags, with which the C library asks a cache of names before it
/// looks at `/etc/passwd` itself: `pwd.getpwuid` is no attempt at anything.
fn asks_name_cache(notice: &Notice) -> bool {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    notice.number == libc::SYS_socket
        && notice.arguments[..3].iter().map(|argument| *argument as i32).eq([
            libc::AF_UNIX,
            kind,
            0,
        ])
}

fn refused(errno: Errno, what: Kind, detail: String) -> (Answer, Option<Attempt>) {
    (Answer::Refuse(errno), Some(Attempt { what, detail }))
}

/// The error that programs expect in such a case.
fn errno(notice: &Notice, kind: Kind) -> Errno {
    let family = notice.arguments[0] as i32;
    let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
    match kind {
        Kind::Network if notice.number == libc::SYS_socket && !internet.contains(&family) => {
            Errno::EAFNOSUPPORT
        }
        Kind::Network | Kind::Program => Errno::EACCES,
        // What a kernel built without them says.
        Kind::Ipc | Kind::Rare => Errno::ENOSYS,
        _ => Errno::EPERM,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Target {
    Process(u32),
    Group,
    Everyone,
}

fn target(notice: &Notice, argument: usize) -> Option<Target> {
    Some(match notice.arguments.get(argument).copied()? as i32 {
        -1 => Target::Everyone,
        pid if pid > 0 => Target::Process(pid.cast_unsigned()),
        _ => Target::Group,
    })
}

fn aims_at_itself(notice: &Notice, argument: usize) -> bool {
    match target(notice, argument) {
        Some(Target::Process(pid)) => same_process(notice.pid, pid),
        _ => false,
    }
}

/// Whether both are threads of one process.
fn same_process(one: u32, other: u32) -> bool {
    one == other || process_of(one).is_some_and(|process| Some(process) == process_of(other))
}

/// The process that a thread belongs to.
fn process_of(thread: u32) -> Option<u32> {
    field(&fs::read_to_string(format!("/proc/{thread}/status")).ok()?, "Tgid:")
}

/// The process behind a pidfd of the asker.
fn behind_pidfd(asker: u32, fd: u64) -> Option<u32> {
    let fd = fd as u32;
    field(&fs::read_to_string(format!("/proc/{asker}/fdinfo/{fd}")).ok()?, "Pid:")
}

fn field(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::{Interpose, Level};

    fn notice(number: i64, architecture: u32) -> Notice {
        let mut notice = Notice::default();
        (notice.number, notice.architecture) = (number, architecture);
        notice
    }

    #[test]
    fn only_what_would_be_allowed_can_be_struck() {
        let policy = Policy {
            level: Level::try_from(3).unwrap(),
            safe_mode: false,
            namespaces: false,
            host_lets_in: false,
            watches_files: true,
            interpose: Interpose { files: true, memory: true, sockets: true },
        };
        let may_be_struck = |abi, number, architecture| {
            let landlocked = Landlocked { abi, ..Landlocked::default() };
            let warden = Warden::new(policy, &landlocked, 2, Reach::default());
            warden.may_be_struck(&notice(number, architecture))
        };
        for number in [libc::SYS_openat, libc::SYS_write, libc::SYS_mmap, libc::SYS_sendto] {
            assert!(may_be_struck(3, number, NATIVE), "{number}");
            // Of another architecture, the same number is another call.
            assert!(!may_be_struck(3, number, NATIVE ^ 1), "{number}");
            assert!(!may_be_struck(3, number + i64::from(X32), NATIVE), "{number}");
        }
        assert!(may_be_struck(3, libc::SYS_truncate, NATIVE));
        assert!(!may_be_struck(2, libc::SYS_truncate, NATIVE));
        assert!(!may_be_struck(3, libc::SYS_connect, NATIVE));
    }
}
