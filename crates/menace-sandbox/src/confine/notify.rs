//! The listener's end of the filters: receives notifications, sends responses.
//!
//! The process that made a notified system call waits until it is answered, or dies. A notification
//! whose process is dead by the time of the answer is no error.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::supervisor::{SyscallSupervisor, SyscallViolation};
use super::sys;

/// One system call that the filters leave to the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct SyscallNotification {
    id: u64,
    /// The id of the *thread* that made the call, in the listener's PID namespace.
    pub pid: u32,
    pub number: i64,
    /// The registers, which the guest cannot change any more; it can change memory that pointers
    /// lead to.
    pub arguments: [u64; 6],
    /// `AUDIT_ARCH_…` of the call.
    pub architecture: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyscallResponse {
    /// The call fails with this error, and is not made.
    Refuse(Errno),
    /// The call is made.
    Allow,
    /// The call is not made, and succeeds.
    Pretend,
    /// The call is not made, and returns this value.
    Return(i64),
}

/// The descriptor on which notifications arrive.
///
/// When polled, readable means that a system call waits, and hung up that all confined processes
/// are gone.
#[derive(Debug)]
pub(crate) struct NotifyListener(OwnedFd);

impl NotifyListener {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        // Kernels before 6.6 do not have this flag; answers take longer there.
        let _ = sys::set_sync_wakeup(fd.as_fd());
        Self(fd)
    }

    /// Answers one notification, if there is one, and returns what should be recorded.
    ///
    /// Never waits. A guest can make system calls as fast as they are answered: the caller checks
    /// deadlines between two answers, and bounds the violations that it keeps.
    pub(crate) fn answer_next(
        &self,
        supervisor: &mut SyscallSupervisor,
    ) -> io::Result<Option<SyscallViolation>> {
        let Some(notice) = self.next_notification()? else { return Ok(None) };
        self.answer_with(&notice, supervisor)
    }

    /// Answers this notification, and returns what should be recorded.
    pub(crate) fn answer_with(
        &self,
        notice: &SyscallNotification,
        supervisor: &mut SyscallSupervisor,
    ) -> io::Result<Option<SyscallViolation>> {
        let (answer, violation) = supervisor.decide(notice);
        // When the thread has died, its number may be reused, and the description was read from
        // another process.
        let violation = violation.filter(|_| sys::is_notification_valid(self.as_fd(), notice.id));
        self.respond(notice, answer)?;
        Ok(violation)
    }

    /// The next notification; none when no system call waits.
    pub(crate) fn next_notification(&self) -> io::Result<Option<SyscallNotification>> {
        let mut fds = [PollFd::new(self.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO)?;
        if !fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLIN)) {
            return Ok(None);
        }
        match sys::receive_notification(self.as_fd()) {
            Ok(raw) => Ok(Some(SyscallNotification {
                id: raw.id,
                pid: raw.pid,
                number: i64::from(raw.data.nr),
                arguments: raw.data.args,
                architecture: raw.data.arch,
            })),
            // The thread died or was interrupted before the notification was read.
            Err(error) if is_errno(&error, &[libc::ENOENT, libc::EINTR]) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn respond(
        &self,
        notice: &SyscallNotification,
        answer: SyscallResponse,
    ) -> io::Result<()> {
        let (val, error, flags) = match answer {
            SyscallResponse::Refuse(errno) => (0, -(errno as i32), 0),
            SyscallResponse::Allow => (0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            SyscallResponse::Pretend => (0, 0, 0),
            SyscallResponse::Return(result) => (result, 0, 0),
        };
        let response = libc::seccomp_notif_resp { id: notice.id, val, error, flags };
        match sys::send_response(self.as_fd(), response) {
            Err(error) if is_errno(&error, &[libc::ENOENT]) => Ok(()),
            other => other,
        }
    }
}

impl AsFd for NotifyListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn is_errno(error: &io::Error, numbers: &[i32]) -> bool {
    error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}
