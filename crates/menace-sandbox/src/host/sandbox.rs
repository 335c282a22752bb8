//! A handle of one sandbox: its process, connection and control group.
//!
//! Invariant: dropping it ends everything inside and leaves neither group nor directory.
//!
//! Init keeps deadlines. Should it be stopped, or wait for something that never comes, the host
//! ends it, [`REPORT_GRACE`] and [`STALL_INTERVAL`] after the deadline.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use menace_model::{Call, CallConditions, CallLimits, ModuleRef, TargetKind};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cancel::{CancelToken, RegisteredConnection};
use super::request;
use super::workspace::SandboxWorkspace;
use crate::SandboxError;
use crate::cgroup::SandboxCgroup;
use crate::init::ProcessActivity;
use crate::wire::channel;
use crate::wire::messages::{
    FromInitMessage, InitConfig, InitReport, InitRequest, ReportState, SandboxReady, ToInitMessage,
};

/// How long a sandbox may take to die once its connection is closed, before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// The same limit after the user has cancelled the run: the sandbox's directory still has to be
/// removed before Menace exits.
const CANCELLED_EXIT_TIMEOUT: Duration = Duration::from_millis(100);
/// How long a sandbox that was killed may take to die.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a message that has begun to arrive may pause.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an init takes at most to build a sandbox and to start Python, unless it is busy.
const START_TIMEOUT: Duration = Duration::from_secs(25);
/// How long after its deadline a call should have been reported.
const REPORT_GRACE: Duration = Duration::from_millis(500);
/// An init that sleeps for so long after that will not report: it never sleeps longer than
/// `MAX_SLEEP`.
const STALL_INTERVAL: Duration = Duration::from_millis(500);
/// How long after the deadline an init may be busy, with what the call left on the disk.
const MAX_BUSY_TIME: Duration = Duration::from_secs(30);
/// Beside the threads of a burst: the process that they are in, and one of the harness's own.
const BURST_EXTRA_PROCESSES: u64 = 2;

#[derive(Debug)]
pub(crate) struct SandboxHandle {
    stream: UnixStream,
    process: Child,
    pub(crate) ready_message: SandboxReady,
    /// Whether calls may start processes (below security level 5).
    guest_may_fork: bool,
    next_request_number: u64,
    cancel: CancelToken,
    /// Init stopped answering.
    is_stalled: bool,
    _registered: RegisteredConnection,
    // Fields are dropped in this order: the group after the connection, so that its processes are
    // gone.
    _group: Option<SandboxCgroup>,
    workspace: Option<SandboxWorkspace>,
}

impl SandboxHandle {
    pub(crate) fn start(
        init: &std::path::Path,
        config: &InitConfig,
        descriptors: &[RawFd],
        group: Option<SandboxCgroup>,
        workspace: Option<SandboxWorkspace>,
        cancel: &CancelToken,
    ) -> Result<Self, SandboxError> {
        let start = SandboxError::start_error;
        let (stream, theirs) = UnixStream::pair().map_err(start)?;
        let registered = cancel.register(&stream).map_err(start)?;
        let process = Command::new(init)
            .arg(crate::init::INIT_ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(start)?;
        let mut sandbox = Self {
            stream,
            process,
            ready_message: SandboxReady::default(),
            guest_may_fork: config.spec.confinement.security_level.allows_processes(),
            next_request_number: 1,
            cancel: cancel.clone(),
            is_stalled: false,
            _registered: registered,
            _group: group,
            workspace,
        };
        let sent = channel::send_with_descriptors(&sandbox.stream, config, descriptors);
        match sandbox.receive(START_TIMEOUT, None) {
            Ok(FromInitMessage::Ready(ready)) => sandbox.ready_message = ready,
            Ok(FromInitMessage::Failed(why)) => return Err(SandboxError::BuildFailed(why)),
            Ok(FromInitMessage::Report(_)) => {
                return Err(SandboxError::Protocol("a report too early"));
            }
            Err(error @ SandboxError::Cancelled) => return Err(error),
            Err(error) => return Err(sent.err().map_or(error, start)),
        }
        Ok(sandbox)
    }

    /// Sends the import path; to be called before anything is imported.
    pub(crate) fn set_import_path(&mut self, import_roots: &[String]) -> Result<(), SandboxError> {
        let body = request::encode_import_path(import_roots, &self.ready_message.repo);
        self.send(&ToInitMessage::Forward(body))
    }

    pub(crate) fn import(
        &mut self,
        module: &ModuleRef,
        limits: &CallLimits,
    ) -> Result<InitReport, SandboxError> {
        let request_number = self.next_request_number();
        let body = request::encode_import(module, &self.ready_message.repo);
        let request = InitRequest {
            request_number,
            limits: limits.clone(),
            conditions: CallConditions::default(),
            seed: 0,
            warms_fork: false,
            body,
        };
        self.request(request, ToInitMessage::Import)
    }

    pub(crate) fn call(
        &mut self,
        call: &Call,
        warms_fork: bool,
    ) -> Result<InitReport, SandboxError> {
        debug_assert!(call.target.kind == TargetKind::Module || !call.target.qualname.is_empty());
        let request_number = self.next_request_number();
        let body = request::encode_call(call, &self.ready_message.repo, self.guest_may_fork);
        let request = InitRequest {
            request_number,
            limits: effective_limits(call),
            conditions: call.conditions.clone(),
            seed: call.seed,
            warms_fork,
            body,
        };
        self.request(request, ToInitMessage::Call)
    }

    fn next_request_number(&mut self) -> u64 {
        self.next_request_number += 1;
        self.next_request_number
    }

    fn request(
        &mut self,
        request: InitRequest,
        message: impl FnOnce(InitRequest) -> ToInitMessage,
    ) -> Result<InitReport, SandboxError> {
        let request_number = request.request_number;
        let timeout = Duration::from_millis(request.limits.timeout_ms);
        self.send(&message(request))?;
        match self.receive(timeout, Some(MAX_BUSY_TIME))? {
            FromInitMessage::Report(mut report) => {
                // The mailbox belongs to another call if the request_number differs.
                if report.mailbox_request_number != request_number {
                    report.report_state = report.report_state.min(ReportState::Running);
                    report.mailbox.clear();
                    report.steps = None;
                }
                Ok(*report)
            }
            FromInitMessage::Failed(why) => Err(SandboxError::GaveUp(why)),
            FromInitMessage::Ready(_) => Err(SandboxError::Protocol("a greeting too late")),
        }
    }

    fn send(&mut self, message: &ToInitMessage) -> Result<(), SandboxError> {
        let frame = channel::encode_frame(message).map_err(|error| self.connection_error(error))?;
        let mut rest = frame.as_slice();
        loop {
            let sent = channel::try_send(&self.stream, rest);
            rest = &rest[sent.map_err(|error| self.connection_error(error))?..];
            if rest.is_empty() {
                return Ok(());
            }
            // It may still be busy with what the last call left.
            self.wait_for_init(PollFlags::POLLOUT, Duration::ZERO, Some(MAX_BUSY_TIME))?;
        }
    }

    fn receive(
        &mut self,
        timeout: Duration,
        busy: Option<Duration>,
    ) -> Result<FromInitMessage, SandboxError> {
        self.wait_for_init(PollFlags::POLLIN, timeout, busy)?;
        let received = self
            .stream
            .set_read_timeout(Some(MESSAGE_TIMEOUT))
            .and_then(|()| channel::receive(&self.stream));
        received.map_err(|error| self.connection_error(error))
    }

    /// Waits for init: at least for `timeout`, then as long as it does something, but no longer
    /// than `busy`.
    fn wait_for_init(
        &mut self,
        flags: PollFlags,
        timeout: Duration,
        busy: Option<Duration>,
    ) -> Result<(), SandboxError> {
        let latest = busy.map(|busy| Instant::now() + timeout + busy);
        let mut wait = timeout + REPORT_GRACE;
        let mut last_activity = None;
        loop {
            let mut fds = [PollFd::new(self.stream.as_fd(), flags)];
            let millis = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
            match poll(&mut fds, PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX)) {
                Ok(0) => {}
                Err(nix::Error::EINTR) => continue,
                Err(error) => return Err(self.connection_error(error.into())),
                Ok(_) => return Ok(()),
            }
            let activity = self.init_pid().map(ProcessActivity::read);
            let is_asleep = activity.iter().flatten().all(ProcessActivity::is_waiting);
            let has_slept = is_asleep && last_activity.replace(activity.clone()) == Some(activity);
            if has_slept || latest.is_some_and(|latest| Instant::now() >= latest) {
                self.is_stalled = true;
                return Err(SandboxError::Stalled);
            }
            wait = STALL_INTERVAL;
        }
    }

    fn connection_error(&self, source: io::Error) -> SandboxError {
        if self.cancel.is_cancelled() {
            SandboxError::Cancelled
        } else {
            SandboxError::ConnectionLost(source)
        }
    }
}

impl SandboxHandle {
    fn init_pid(&self) -> Option<i32> {
        let started = i32::try_from(self.process.id()).ok()?;
        // Where there are namespaces, what was started is the parent of PID 1.
        if self.workspace.is_some() {
            Some(started)
        } else {
            Some(crate::init::namespaced_init(started).unwrap_or(started))
        }
    }

    /// For an init that does not leave by itself.
    fn kill(&mut self) {
        match self.init_pid() {
            // Without namespaces, what is below it would outlive it.
            Some(init) if self.workspace.is_some() => crate::init::kill_with_descendants(init),
            // Its parent ends once the whole namespace has ended.
            Some(init) => drop(kill(Pid::from_raw(init), Signal::SIGKILL)),
            None => {}
        }
        self.wait_for_exit(KILL_TIMEOUT);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Whether it ended in time.
    fn wait_for_exit(&mut self, timeout: Duration) -> bool {
        let began = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) {
            if began.elapsed() > timeout {
                return false;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        true
    }
}

/// The call's limits, with room for threads that Menace itself adds.
fn effective_limits(call: &Call) -> CallLimits {
    let mut limits = call.limits.clone();
    if let Some(burst) = call.conditions.burst {
        limits.processes += u64::from(burst.threads) + BURST_EXTRA_PROCESSES;
    }
    limits
}

impl Drop for SandboxHandle {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        let timeout = match (self.is_stalled, self.cancel.is_cancelled()) {
            (true, _) => Duration::ZERO,
            (false, true) => CANCELLED_EXIT_TIMEOUT,
            (false, false) => EXIT_TIMEOUT,
        };
        if !self.wait_for_exit(timeout) {
            self.kill();
        }
    }
}
