//! Supervises one import and then calls, one at a time.
//!
//! ```text
//! serve ─► requests: import, call ─► limits, sweep, report
//!              └─► events: messages, output, system calls, faults
//! ```
//!
//! Invariant: when a report is sent, no process of the call is alive; or the report says that the
//! sandbox is unusable, and init ends, which kills the rest.

mod events;
mod requests;

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{CallLimits, PolicyViolation, SyscallInterposition};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::fault_window::FaultWindowWatch;
use super::layer::WritableLayer;
use super::limits::LimitEnforcer;
use super::mailbox::ReportMailbox;
use super::processes::{self, ProcessScope};
use super::stack_sampler::StackSampler;
use super::streams::OutputStream;
use super::zygote::Zygote;
use super::{InitError, InitErrorContext, mappings};
use crate::confine::SyscallNotification;
use crate::fault::FaultInjector;
use crate::network::NetworkLink;
use crate::sys;
use crate::wire::channel;
use crate::wire::harness::{self, FromHarnessMessage};
use crate::wire::messages::{FromInitMessage, SandboxReady, ToInitMessage};
use events::{GuestEvent, WaitConditions};

/// How long Python may take to start.
const PYTHON_START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the zygote may take for operations that take it microseconds. A call has to be dead 250
/// ms after its deadline, with several of these in between.
const ZYGOTE_REPLY_TIMEOUT: Duration = Duration::from_millis(100);
/// The most leftover processes that a report names.
const MAX_NAMED_PROCESSES: usize = 32;

#[derive(Debug)]
pub(crate) struct SandboxInit<'a> {
    pub host: &'a UnixStream,
    pub zygote: Zygote,
    pub layer: WritableLayer,
    pub link: NetworkLink,
    pub limit_enforcer: LimitEnforcer,
    pub faults: FaultInjector,
    pub interposition: SyscallInterposition,
    pub process_scope: ProcessScope,
    /// A writable `/proc`.
    pub proc: PathBuf,
    pub output: GuestOutput,
    pub running: RunningCall,
}

/// What the guest writes: its report, output streams and stack dumps.
#[derive(Debug)]
pub(crate) struct GuestOutput {
    pub mailbox: ReportMailbox,
    pub out: OutputStream,
    pub err: OutputStream,
    pub stack_sampler: StackSampler,
}

/// The state of the current call.
#[derive(Debug, Default)]
pub(crate) struct RunningCall {
    /// The call's first process.
    pid: Option<i32>,
    /// The part of the request that is still to be sent to that process.
    unsent_request: VecDeque<u8>,
    /// Whether init has stopped the call's processes, for a processor share or a pause.
    is_stopped: bool,
    /// Whether a fault has killed the call.
    killed_early: bool,
    /// Delayed system calls, each with the end of its delay.
    delayed_syscalls: Vec<(Instant, SyscallNotification)>,
    /// Also those of processes that the import left, since the end of the call before.
    violations: Vec<PolicyViolation>,
    unlisted_violations: u64,
    fault_window: FaultWindowWatch,
}

impl SandboxInit<'_> {
    /// Sends the setup to the harness and waits until it has started.
    pub(crate) fn start_harness(
        &mut self,
        setup: &[u8],
        ready: SandboxReady,
    ) -> Result<(), InitError> {
        self.begin_streams(1 << 16);
        let sent = harness::send(&self.zygote.control, setup);
        let started =
            self.wait(WaitConditions::message_before(Instant::now() + PYTHON_START_TIMEOUT))?;
        match (sent, started) {
            (Ok(()), GuestEvent::Message(FromHarnessMessage::Ready)) => {}
            (_, event) => {
                let text = String::from_utf8_lossy(&self.output.err.take().bytes).into_owned();
                return Err(InitError::Failed(format!(
                    "Python did not start ({event:?}): {}",
                    text.trim()
                )));
            }
        }
        self.zygote.join_group()?;
        self.refuse_early_processes()?;
        self.limit_enforcer.measure_zygote();
        self.send_to_host(&FromInitMessage::Ready(ready))?;
        if let Some(handler) = &mut self.zygote.notify_handler {
            // Accesses that the interpreter itself made are no violations.
            handler.supervisor.take_accesses();
        }
        self.running.violations.clear();
        // After `Ready`, so that it overlaps with the host's preparing the first request.
        mappings::make_code_pages_private(
            &self.proc,
            self.zygote.pid,
            &mut self.zygote.private_code_mappings,
        );
        Ok(())
    }

    /// Fails when the interpreter forked before it joined its control group: that process would not
    /// be subject to the group's limits.
    fn refuse_early_processes(&self) -> Result<(), InitError> {
        let others = self.process_scope.other_pids(self.zygote.pid).into_iter();
        let running = others.filter_map(processes::read_process).find(|process| !process.zombie);
        running.map_or(Ok(()), |process| {
            Err(InitError::Failed(format!(
                "Python itself starts a process, `{}`, before any module is imported: look at its \
                 `sitecustomize.py` and at the `.pth` files in its site-packages",
                process.name
            )))
        })
    }

    /// Serves the host's requests until it disconnects.
    pub(crate) fn serve(&mut self) -> Result<(), InitError> {
        // Nothing was imported or called yet, and the sandbox may wait for a long time.
        let mut is_unused = true;
        let was_stopped = self.stop_if_multithreaded()?;
        loop {
            self.answer_syscalls_until_request(is_unused)?;
            let Ok(request) = channel::receive::<ToInitMessage>(self.host) else { return Ok(()) };
            if is_unused && !matches!(request, ToInitMessage::Forward(_)) {
                is_unused = false;
                if was_stopped {
                    self.resume_zygote()?;
                }
            }
            let report = match request {
                ToInitMessage::Forward(body) => {
                    // If sending failed, the next request fails and reports it.
                    let _ = harness::send(&self.zygote.control, &body);
                    continue;
                }
                ToInitMessage::Import(request) => self.import(&request)?,
                ToInitMessage::Call(request) => self.call(&request)?,
            };
            let is_unusable = report.unusable_reason.is_some();
            self.send_to_host(&FromInitMessage::Report(Box::new(report)))?;
            if is_unusable {
                return Ok(());
            }
            // While the host reads the report, the next layer is put in place.
            self.with_guest_stopped(WritableLayer::prepare)?;
        }
    }

    /// Works on the layer while the guest is stopped. Without mounts, a process that changes the
    /// layer while it is restored makes the sandbox unusable. It cannot lead init outside of the
    /// layer, since all accesses go through descriptors.
    pub(super) fn with_guest_stopped<T>(
        &mut self,
        work: impl FnOnce(&mut WritableLayer) -> Result<T, InitError>,
    ) -> Result<T, InitError> {
        if matches!(self.layer, WritableLayer::Overlay(_)) {
            return work(&mut self.layer);
        }
        let zygote = Pid::from_raw(self.zygote.pid);
        kill(zygote, Signal::SIGSTOP).with_context(|| "cannot stop the interpreter".to_owned())?;
        self.wait_until_stopped(zygote);
        let done = work(&mut self.layer)?;
        self.resume_zygote()?;
        Ok(done)
    }

    /// Stops an interpreter with threads that were started before anything was imported (by a
    /// `.pth` file, say): they have no limits yet, and a waiting sandbox is not supervised. Returns
    /// whether there are any.
    #[expect(clippy::disallowed_methods, reason = "a directory of the kernel, below `/proc`")]
    pub(super) fn stop_if_multithreaded(&self) -> Result<bool, InitError> {
        let tasks = std::fs::read_dir(self.proc.join(format!("{}/task", self.zygote.pid)));
        let is_multithreaded = tasks.map_or(true, |tasks| tasks.count() > 1);
        if is_multithreaded {
            kill(Pid::from_raw(self.zygote.pid), Signal::SIGSTOP)
                .with_context(|| "cannot stop the interpreter".to_owned())?;
        }
        Ok(is_multithreaded)
    }

    pub(super) fn resume_zygote(&self) -> Result<(), InitError> {
        kill(Pid::from_raw(self.zygote.pid), Signal::SIGCONT)
            .with_context(|| "cannot wake the interpreter".to_owned())
    }

    /// Waits for a limited time: the zygote may have ended, or another process continues it.
    fn wait_until_stopped(&self, zygote: Pid) {
        let deadline = Instant::now() + ZYGOTE_REPLY_TIMEOUT;
        while Instant::now() < deadline {
            let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
            let mut end = [PollFd::new(self.zygote.pidfd.as_fd(), PollFlags::POLLIN)];
            match waitid(Id::Pid(zygote), flags) {
                Ok(WaitStatus::StillAlive) | Err(nix::Error::EINTR) => {}
                _ => return,
            }
            if poll(&mut end, PollTimeout::ZERO).is_ok_and(|ended| ended > 0) {
                return;
            }
            std::thread::yield_now();
        }
    }

    fn send_to_host(&self, message: &FromInitMessage) -> Result<(), InitError> {
        channel::send(self.host, message).with_context(|| "the host is gone".to_owned())
    }

    fn begin_streams(&mut self, keep: u64) {
        self.output.out.begin(keep);
        self.output.err.begin(keep);
    }
}

/// A call's time counts from the arrival of its request, and includes all preparation.
fn compute_deadline(arrived: Instant, limits: &CallLimits) -> Instant {
    arrived + Duration::from_millis(limits.timeout_ms)
}

fn duration_to_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The wait status of a child of init.
fn reap(pid: i32) -> Option<i32> {
    // The socket of a process closes a moment before its status is available.
    let deadline = Instant::now() + ZYGOTE_REPLY_TIMEOUT;
    loop {
        let status = sys::try_wait_status(pid);
        if status.is_some() || Instant::now() >= deadline {
            return status;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
