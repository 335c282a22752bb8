//! Waits for the guest and the harness. Meanwhile reads output, sends the rest of the request,
//! answers notified system calls and applies due faults.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use menace_model::PolicyViolation;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{RunningCall, SandboxInit};
use crate::confine::SyscallResponse;
use crate::fault::{FaultSupport, InjectedFault};
use crate::init::fault_window::FaultWindowWatch;
use crate::init::mailbox::ReportMailbox;
use crate::init::zygote::is_readable;
use crate::init::{InitError, InitErrorContext};
use crate::wire::harness::{self, FromHarnessMessage};
use crate::wire::messages::{FORGED_REPORT, InitReport, KillReason};

/// The longest that init sleeps while a request is under way: the host takes one that sleeps for
/// longer after the deadline for stalled.
const MAX_SLEEP: Duration = Duration::from_millis(200);
/// The most violations that are kept of one call, beside the first of each kind.
const MAX_VIOLATIONS_PER_CALL: usize = 64;

/// The event that ended a wait.
#[derive(Debug)]
pub(super) enum GuestEvent {
    Message(FromHarnessMessage),
    /// The zygote sent a malformed message: guest code may have written to the socket.
    ProtocolError,
    ZygoteDied,
    /// The process of the call has ended, with all its threads, and is not reaped yet.
    CallEnded,
    DeadlinePassed,
}

/// The events that end a wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitConditions<'a> {
    pub(super) deadline: Instant,
    /// The process of a call.
    pub(super) call_pidfd: Option<BorrowedFd<'a>>,
    /// Without the zygote, only the end of the call is waited for.
    pub(super) is_zygote_gone: bool,
}

impl WaitConditions<'_> {
    /// Waits for a message of the harness.
    pub(super) fn message_before(deadline: Instant) -> Self {
        Self { deadline, call_pidfd: None, is_zygote_gone: false }
    }
}

impl SandboxInit<'_> {
    /// Reads the guest's output and answers system calls until an event occurs.
    pub(super) fn wait(&mut self, until: WaitConditions<'_>) -> Result<GuestEvent, InitError> {
        loop {
            let ready = self.poll(until)?;
            if ready.host_gone {
                return Err(InitError::HostGone);
            }
            if ready.out {
                self.output.out.drain();
            }
            if ready.err {
                self.output.err.drain();
            }
            if ready.has_notification {
                self.answer_syscall();
            }
            self.apply_due_faults();
            if ready.call_socket && self.send_unsent().is_err() {
                return Ok(GuestEvent::ProtocolError);
            }
            if ready.control {
                return Ok(match harness::receive(&self.zygote.control) {
                    Ok(message) => GuestEvent::Message(message),
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        GuestEvent::ZygoteDied
                    }
                    Err(_) => GuestEvent::ProtocolError,
                });
            }
            if ready.zygote {
                return Ok(GuestEvent::ZygoteDied);
            }
            if ready.call {
                return Ok(GuestEvent::CallEnded);
            }
            if Instant::now() >= until.deadline {
                return Ok(GuestEvent::DeadlinePassed);
            }
        }
    }

    fn poll(&self, until: WaitConditions<'_>) -> Result<ReadyDescriptors, InitError> {
        let delayed = self.running.delayed_syscalls.iter().map(|(due, _)| *due);
        let next = delayed.chain(self.faults.next_deadline()).fold(until.deadline, Instant::min);
        let left = next.saturating_duration_since(Instant::now()).min(MAX_SLEEP);
        // Rounded up, so that a deadline is never polled for in vain.
        let millis = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        let input = PollFlags::POLLIN;
        let mut fds = vec![
            PollFd::new(self.host.as_fd(), PollFlags::from_bits_retain(libc::POLLRDHUP)),
            PollFd::new(self.output.out.reader(), input),
            PollFd::new(self.output.err.reader(), input),
        ];
        let call_at = until.call_pidfd.map(|pidfd| {
            fds.push(PollFd::new(pidfd, input));
            fds.len() - 1
        });
        let zygote_at = (!until.is_zygote_gone).then(|| {
            fds.push(PollFd::new(self.zygote.pidfd.as_fd(), input));
            fds.push(PollFd::new(self.zygote.control.as_fd(), input));
            fds.len() - 2
        });
        let listener_at = self.zygote.notify_handler.as_ref().map(|handler| {
            fds.push(PollFd::new(handler.listener.as_fd(), input));
            fds.len() - 1
        });
        let call_socket_at = (!self.running.unsent_request.is_empty()).then(|| {
            fds.push(PollFd::new(self.zygote.call_socket.as_fd(), PollFlags::POLLOUT));
            fds.len() - 1
        });
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => {
                return Err(error).with_context(|| "cannot wait for the guest".to_owned());
            }
        }
        let any = |at: usize| fds[at].any() == Some(true);
        Ok(ReadyDescriptors {
            // Only hanging up matters here, and `any` does not know its bit.
            host_gone: fds[0].any() != Some(false),
            out: any(1),
            err: any(2),
            call: call_at.is_some_and(any),
            zygote: zygote_at.is_some_and(any),
            control: zygote_at.is_some_and(|at| any(at + 1)),
            has_notification: listener_at.is_some_and(|at| is_readable(&fds[at])),
            call_socket: call_socket_at.is_some_and(any),
        })
    }
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one per descriptor")]
struct ReadyDescriptors {
    host_gone: bool,
    out: bool,
    err: bool,
    call: bool,
    zygote: bool,
    control: bool,
    has_notification: bool,
    call_socket: bool,
}

/// Notified system calls, which a fault or the supervisor answers.
impl SandboxInit<'_> {
    /// Answers system calls until the host sends a request: the process forked for the next call
    /// prepares itself meanwhile, and opens files. `is_unused`: nothing was imported or called yet.
    pub(super) fn answer_syscalls_until_request(
        &mut self,
        is_unused: bool,
    ) -> Result<(), InitError> {
        let mut is_listener_open = true;
        loop {
            let mut fds = vec![PollFd::new(self.host.as_fd(), PollFlags::POLLIN)];
            let mut also = |fd| {
                fds.push(PollFd::new(fd, PollFlags::POLLIN));
                fds.len() - 1
            };
            let end_at = is_unused.then(|| also(self.zygote.pidfd.as_fd()));
            let handler = self.zygote.notify_handler.as_ref().filter(|_| is_listener_open);
            let listener_at = handler.map(|handler| also(handler.listener.as_fd()));
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => {
                    return Err(error).with_context(|| "cannot wait for the host".to_owned());
                }
            }
            let has_request = fds[0].any() == Some(true);
            if end_at.is_some_and(|at| fds[at].any() == Some(true)) {
                // A sandbox whose interpreter ends before the first import is given up.
                return Err(InitError::Failed("Python ended before it was needed".to_owned()));
            }
            let has_syscall = listener_at.is_some_and(|at| is_readable(&fds[at]));
            // A listener that has hung up stays so.
            is_listener_open &=
                has_syscall || listener_at.is_none_or(|at| fds[at].any() != Some(true));
            if has_syscall {
                self.answer_syscall();
            }
            if has_request {
                return Ok(());
            }
        }
    }

    /// Answers one notified system call.
    pub(super) fn answer_syscall(&mut self) {
        let Some(handler) = &mut self.zygote.notify_handler else { return };
        let Ok(Some(notice)) = handler.listener.next_notification() else { return };
        let is_window_open = self.faults.has_active()
            && observe_fault_window(&mut self.running.fault_window, &mut self.output.mailbox);
        if is_window_open
            && handler.supervisor.may_inject_fault(&notice)
            && let Some(injected) = self.faults.inject(&notice)
        {
            handler.supervisor.record_path_access(&notice);
            match injected {
                InjectedFault::Answer(answer) => drop(handler.listener.respond(&notice, answer)),
                InjectedFault::Delay(time) => {
                    self.running.delayed_syscalls.push((Instant::now() + time, notice));
                }
                InjectedFault::Kill => self.kill_early(),
            }
            return;
        }
        if let Ok(Some(denied)) = handler.listener.answer_with(&notice, &mut handler.supervisor) {
            self.running.record_violation(denied.kind.as_str(), denied.detail);
        }
    }
}

impl RunningCall {
    pub(super) fn record_violation(&mut self, kind: &str, detail: String) {
        let violation = PolicyViolation { kind: kind.to_owned(), detail };
        if self.violations.contains(&violation) {
            return;
        }
        let is_first = !self.violations.iter().any(|noted| noted.kind == kind);
        if is_first || self.violations.len() < MAX_VIOLATIONS_PER_CALL {
            self.violations.push(violation);
        } else {
            self.unlisted_violations += 1;
        }
    }
}

/// Whether faults may be injected: the section itself runs.
fn observe_fault_window(window: &mut FaultWindowWatch, mailbox: &mut ReportMailbox) -> bool {
    let (is_window_open, end) = window.observe(mailbox.fault_window());
    if let Some(end) = end {
        mailbox.mark_end_seen(end);
    }
    is_window_open
}

/// Effects of faults beyond failing system calls: ends of delays, pauses, kills by time.
impl SandboxInit<'_> {
    pub(super) fn fault_support(&self) -> FaultSupport {
        FaultSupport {
            interposition: self.interposition,
            has_listener: self.zygote.notify_handler.is_some(),
            network: self.link.is_available(),
        }
    }

    pub(super) fn end_faults(&mut self, report: &mut InitReport) {
        let mailbox = &self.output.mailbox;
        if self.faults.has_active()
            && self.running.fault_window.is_forged(mailbox.fault_window(), mailbox.has_report())
        {
            let detail = "it changed the number by which faults are injected".to_owned();
            self.running.record_violation(FORGED_REPORT, detail);
        }
        report.fault_stats = self.faults.end_call();
        self.running.delayed_syscalls.clear();
        self.running.pid = None;
        if std::mem::take(&mut self.running.killed_early) {
            report.killed = Some(KillReason::EarlyKill);
        }
    }

    pub(super) fn kill_early(&mut self) {
        if let Some(pid) = self.running.pid {
            self.running.killed_early = true;
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Lets delayed system calls continue, and stops or continues the call's processes for pauses.
    pub(super) fn apply_due_faults(&mut self) {
        if self.running.delayed_syscalls.is_empty() && self.faults.next_deadline().is_none() {
            return;
        }
        let now = Instant::now();
        if let Some(handler) = &self.zygote.notify_handler {
            self.running.delayed_syscalls.retain(|(due, notice)| {
                let waits = now < *due;
                if !waits {
                    let _ = handler.listener.respond(notice, SyscallResponse::Allow);
                }
                waits
            });
        }
        let is_window_open =
            observe_fault_window(&mut self.running.fault_window, &mut self.output.mailbox);
        if self.faults.should_kill(now, is_window_open) {
            self.kill_early();
        }
        if let Some(stop) = self.faults.toggle_pause_if_due(now) {
            self.set_call_stopped(stop);
        }
    }

    /// Stops all processes of the call, or lets them continue.
    pub(super) fn set_call_stopped(&mut self, stop: bool) {
        self.running.is_stopped = stop;
        let signal = if stop { Signal::SIGSTOP } else { Signal::SIGCONT };
        for pid in self.process_scope.other_pids(self.zygote.pid) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}
