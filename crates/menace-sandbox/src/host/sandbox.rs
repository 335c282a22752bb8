//! A handle of one sandbox: its process, connection and control group.
//!
//! Invariant: dropping it ends everything inside and leaves neither group nor directory.

use std::io;
use std::net::Shutdown;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use menace_model::{Call, CallConditions, CallLimits, ModuleRef, TargetKind};

use super::cancel::{CancelToken, RegisteredConnection};
use super::request;
use super::workspace::SandboxWorkspace;
use crate::SandboxError;
use crate::cgroup::SandboxCgroup;
use crate::wire::channel;
use crate::wire::messages::{
    CallPhase, FromInitMessage, InitConfig, InitReport, InitRequest, SandboxReady, ToInitMessage,
};

/// How long a sandbox may take to die once its connection is closed, before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// The same limit after the user has cancelled the run: the sandbox's directory still has to be
/// removed before Menace exits.
const CANCELLED_EXIT_TIMEOUT: Duration = Duration::from_millis(100);
/// How long after a call's deadline the host waits for init's report.
const REPORT_GRACE: Duration = Duration::from_secs(30);
/// Processes and threads of a burst beside its own threads: its process, and a thread of the
/// harness.
const BURST_EXTRA_PROCESSES: u64 = 2;

#[derive(Debug)]
pub(crate) struct SandboxHandle {
    stream: UnixStream,
    process: Child,
    pub(crate) ready: SandboxReady,
    /// Whether calls may start processes (below security level 5).
    may_fork: bool,
    next_nonce: u64,
    cancel: CancelToken,
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
            ready: SandboxReady::default(),
            may_fork: config.spec.confinement.security_level.allows_processes(),
            next_nonce: 1,
            cancel: cancel.clone(),
            _registered: registered,
            _group: group,
            workspace,
        };
        let sent = channel::send_with_descriptors(&sandbox.stream, config, descriptors);
        match sandbox.receive() {
            Ok(FromInitMessage::Ready(ready)) => sandbox.ready = ready,
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
        let body = request::encode_path(import_roots, &self.ready.repo);
        channel::send(&self.stream, &ToInitMessage::Forward(body))
            .map_err(|error| self.connection_error(error))
    }

    pub(crate) fn import(
        &mut self,
        module: &ModuleRef,
        limits: &CallLimits,
    ) -> Result<InitReport, SandboxError> {
        let nonce = self.next_nonce();
        let body = request::encode_import(module, &self.ready.repo, nonce);
        let request = InitRequest {
            nonce,
            limits: limits.clone(),
            conditions: CallConditions::default(),
            seed: 0,
            alternates_sandboxes: false,
            body,
        };
        self.request(request, ToInitMessage::Import)
    }

    pub(crate) fn call(
        &mut self,
        call: &Call,
        alternates_sandboxes: bool,
    ) -> Result<InitReport, SandboxError> {
        debug_assert!(call.target.kind == TargetKind::Module || !call.target.qualname.is_empty());
        let nonce = self.next_nonce();
        let body = request::encode_call(call, &self.ready.repo, nonce, self.may_fork);
        let request = InitRequest {
            nonce,
            limits: effective_limits(call),
            conditions: call.conditions.clone(),
            seed: call.seed,
            alternates_sandboxes,
            body,
        };
        self.request(request, ToInitMessage::Call)
    }

    fn next_nonce(&mut self) -> u64 {
        self.next_nonce += 1;
        self.next_nonce
    }

    fn request(
        &mut self,
        request: InitRequest,
        message: impl FnOnce(InitRequest) -> ToInitMessage,
    ) -> Result<InitReport, SandboxError> {
        let nonce = request.nonce;
        // Init enforces the deadline. Should it fail to, the host gives up after this time.
        let timeout = Duration::from_millis(request.limits.timeout_ms) + REPORT_GRACE;
        self.stream.set_read_timeout(Some(timeout)).map_err(SandboxError::start_error)?;
        channel::send(&self.stream, &message(request))
            .map_err(|error| self.connection_error(error))?;
        match self.receive()? {
            FromInitMessage::Report(mut report) => {
                // The mailbox belongs to another call if the nonce differs.
                if report.mailbox_nonce != nonce {
                    report.phase = report.phase.min(CallPhase::Running);
                    report.mailbox.clear();
                    report.steps = None;
                }
                Ok(*report)
            }
            FromInitMessage::Failed(why) => Err(SandboxError::BuildFailed(why)),
            FromInitMessage::Ready(_) => Err(SandboxError::Protocol("a greeting too late")),
        }
    }

    fn receive(&self) -> Result<FromInitMessage, SandboxError> {
        channel::receive(&self.stream).map_err(|error| self.connection_error(error))
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
    /// Kills an init that does not exit by itself.
    fn kill(&mut self) {
        match i32::try_from(self.process.id()) {
            // Without namespaces its descendants would survive it.
            Ok(init) if self.workspace.is_some() => crate::init::kill_with_descendants(init),
            _ => drop(self.process.kill()),
        }
        let _ = self.process.wait();
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
        let closed_at = Instant::now();
        let timeout =
            if self.cancel.is_cancelled() { CANCELLED_EXIT_TIMEOUT } else { EXIT_TIMEOUT };
        while matches!(self.process.try_wait(), Ok(None)) {
            if closed_at.elapsed() > timeout {
                self.kill();
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
