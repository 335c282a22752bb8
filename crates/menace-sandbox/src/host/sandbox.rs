//! One sandbox: its process, its connection, its control group.
//!
//! Invariant: dropping it ends everything inside and leaves neither group nor directory.

use std::io;
use std::net::Shutdown;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use menace_model::{Call, Conditions, How, Limits, ModuleRef};

use super::cancel::{Cancel, Registered};
use super::request;
use super::workspace::Workspace;
use crate::SandboxError;
use crate::cgroup::Group;
use crate::confine::Level;
use crate::wire::channel;
use crate::wire::messages::{FromInit, InitConfig, Ready, Report, Request, ToInit};

/// How long a sandbox may take to die once its connection is closed, before it is killed.
const DYING: Duration = Duration::from_millis(500);
/// The same when the user wants an end: what it has on disk must be removed in time, too.
const DYING_AT_ONCE: Duration = Duration::from_millis(100);
/// How long after its deadline a call must have been reported.
const LOST: Duration = Duration::from_secs(30);
/// Beside the threads of a burst: the process that they are in, and one of the harness's own.
const FOR_BURST: u64 = 2;

#[derive(Debug)]
pub(crate) struct Sandbox {
    stream: UnixStream,
    process: Child,
    pub(crate) ready: Ready,
    /// Calls may have processes of their own.
    may_fork: bool,
    next_nonce: u64,
    cancel: Cancel,
    _registered: Registered,
    // Removed after the processes in it are gone: the order of these fields matters.
    _group: Option<Group>,
    workspace: Option<Workspace>,
}

impl Sandbox {
    pub(crate) fn start(
        init: &std::path::Path,
        config: &InitConfig,
        handed: &[RawFd],
        group: Option<Group>,
        workspace: Option<Workspace>,
        cancel: &Cancel,
    ) -> Result<Self, SandboxError> {
        let start = SandboxError::start;
        let (stream, theirs) = UnixStream::pair().map_err(start)?;
        let registered = cancel.register(&stream).map_err(start)?;
        let process = Command::new(init)
            .arg(crate::init::ARGUMENT)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(start)?;
        let mut sandbox = Self {
            stream,
            process,
            ready: Ready::default(),
            may_fork: Level::try_from(config.level).is_ok_and(Level::allows_processes),
            next_nonce: 1,
            cancel: cancel.clone(),
            _registered: registered,
            _group: group,
            workspace,
        };
        let sent = channel::send_with(&sandbox.stream, config, handed);
        match sandbox.hear() {
            Ok(FromInit::Ready(ready)) => sandbox.ready = ready,
            Ok(FromInit::Failed(why)) => return Err(SandboxError::Refused(why)),
            Ok(FromInit::Report(_)) => return Err(SandboxError::Protocol("a report too early")),
            Err(error @ SandboxError::Cancelled) => return Err(error),
            Err(error) => return Err(sent.err().map_or(error, start)),
        }
        Ok(sandbox)
    }

    /// Says where modules are imported from; before anything is.
    pub(crate) fn lead(&mut self, import_roots: &[String]) -> Result<(), SandboxError> {
        let body = request::path(import_roots, &self.ready.repo);
        channel::send(&self.stream, &ToInit::Tell(body)).map_err(|error| self.lost(error))
    }

    pub(crate) fn import(
        &mut self,
        module: &ModuleRef,
        limits: &Limits,
    ) -> Result<Report, SandboxError> {
        let nonce = self.nonce();
        let body = request::import(module, &self.ready.repo, nonce);
        let request = Request {
            nonce,
            limits: limits.clone(),
            conditions: Conditions::default(),
            seed: 0,
            takes_turns: false,
            body,
        };
        self.ask(request, ToInit::Import)
    }

    pub(crate) fn call(&mut self, call: &Call, takes_turns: bool) -> Result<Report, SandboxError> {
        debug_assert!(call.target.how == How::Module || !call.target.qualname.is_empty());
        let nonce = self.nonce();
        let body = request::call(call, &self.ready.repo, nonce, self.may_fork);
        let request = Request {
            nonce,
            limits: limits_of(call),
            conditions: call.conditions.clone(),
            seed: call.seed,
            takes_turns,
            body,
        };
        self.ask(request, ToInit::Call)
    }

    fn nonce(&mut self) -> u64 {
        self.next_nonce += 1;
        self.next_nonce
    }

    fn ask(
        &mut self,
        asked: Request,
        message: impl FnOnce(Request) -> ToInit,
    ) -> Result<Report, SandboxError> {
        let nonce = asked.nonce;
        // The init keeps the deadline; should it fail to, nobody waits for ever.
        let patience = Duration::from_millis(asked.limits.timeout_ms) + LOST;
        self.stream.set_read_timeout(Some(patience)).map_err(SandboxError::start)?;
        channel::send(&self.stream, &message(asked)).map_err(|error| self.lost(error))?;
        match self.hear()? {
            FromInit::Report(mut report) => {
                // A report that answers another call is no report of this one.
                if report.mailbox_nonce != nonce {
                    report.phase = report.phase.min(1);
                    report.mailbox.clear();
                    report.steps = None;
                }
                Ok(*report)
            }
            FromInit::Failed(why) => Err(SandboxError::Refused(why)),
            FromInit::Ready(_) => Err(SandboxError::Protocol("a greeting too late")),
        }
    }

    fn hear(&self) -> Result<FromInit, SandboxError> {
        channel::receive(&self.stream).map_err(|error| self.lost(error))
    }

    fn lost(&self, source: io::Error) -> SandboxError {
        if self.cancel.is_cancelled() {
            SandboxError::Cancelled
        } else {
            SandboxError::Lost(source)
        }
    }
}

impl Sandbox {
    /// For an init that does not leave by itself.
    fn kill(&mut self) {
        match i32::try_from(self.process.id()) {
            // Without namespaces, what is below it would outlive it.
            Ok(init) if self.workspace.is_some() => crate::init::end_with_descendants(init),
            _ => drop(self.process.kill()),
        }
        let _ = self.process.wait();
    }
}

/// Threads that Menace itself adds are not the section's.
fn limits_of(call: &Call) -> Limits {
    let mut limits = call.limits.clone();
    if let Some(burst) = call.conditions.burst {
        limits.processes += u64::from(burst.threads) + FOR_BURST;
    }
    limits
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
        let asked = Instant::now();
        let patience = if self.cancel.is_cancelled() { DYING_AT_ONCE } else { DYING };
        while matches!(self.process.try_wait(), Ok(None)) {
            if asked.elapsed() > patience {
                self.kill();
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
