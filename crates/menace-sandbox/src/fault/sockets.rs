//! The `network` fault: connections that fail.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::fmt;

use menace_model::SeededRng;
use nix::errno::Errno;

use super::InjectedFault;
use super::schedule::FaultSchedule;
use crate::confine::{SyscallNotification, SyscallResponse};

/// A system call on an internet socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketOperation {
    Connect,
    Send,
    Receive,
}

impl SocketOperation {
    pub(super) fn from_notification(notice: &SyscallNotification) -> Option<Self> {
        let talk = match notice.number {
            libc::SYS_connect => Self::Connect,
            libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => Self::Send,
            libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_recvmmsg => Self::Receive,
            _ => return None,
        };
        is_internet_socket(notice).then_some(talk)
    }

    fn possible_errors(self) -> &'static [Errno] {
        match self {
            Self::Connect => {
                &[Errno::ECONNREFUSED, Errno::ETIMEDOUT, Errno::ENETUNREACH, Errno::EHOSTUNREACH]
            }
            Self::Send => &[Errno::EPIPE, Errno::ECONNRESET],
            Self::Receive => &[Errno::ECONNRESET, Errno::ETIMEDOUT],
        }
    }
}

impl fmt::Display for SocketOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Send => "sending",
            Self::Receive => "receiving",
        })
    }
}

pub(super) fn inject(talk: SocketOperation, schedule: &mut FaultSchedule) -> Option<InjectedFault> {
    schedule
        .should_inject()
        .then(|| InjectedFault::Answer(SyscallResponse::Refuse(pick_error(talk, schedule.rng()))))
}

fn pick_error(talk: SocketOperation, random: &mut SeededRng) -> Errno {
    random.pick(talk.possible_errors()).copied().unwrap_or(Errno::ECONNRESET)
}

/// Whether the socket is an internet socket. Unix sockets connect processes of the sandbox, and the
/// `network` fault does not concern them.
fn is_internet_socket(notice: &SyscallNotification) -> bool {
    let fd = notice.arguments[0] as u32;
    let Ok(socket) = std::fs::read_link(format!("/proc/{}/fd/{fd}", notice.pid)) else {
        return false;
    };
    let name = socket.to_string_lossy();
    let Some(inode) = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) else {
        return false;
    };
    let unix = std::fs::read_to_string(format!("/proc/{}/net/unix", notice.pid));
    let is_unix = |line: &str| line.split_whitespace().nth(6) == Some(inode);
    !unix.is_ok_and(|table| table.lines().any(is_unix))
}
