//! One call, from the fork to the end of its first process.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::wait::{Event, Until};
use super::{ANSWERING, Sandbox, deadline, nanos, reap};
use crate::init::processes::Census;
use crate::init::{During, InitError};
use crate::sys;
use crate::wire::harness::{self, Exited, FromHarness};
use crate::wire::messages::{Killed, Report, Request};

impl Sandbox<'_> {
    pub(super) fn call(&mut self, request: &Request) -> Result<Report, InitError> {
        let limits = &request.limits;
        let arrived = Instant::now();
        let mut report = self.begin(request)?;
        let exited = self.run(request, deadline(arrived, limits), &mut report)?;
        self.end_faults(&mut report);
        self.sweep(&mut report)?;
        self.link.end(&mut report);
        self.keeper.take_stock(&self.layer, Instant::now() + ANSWERING);
        if report.spent.is_none() && self.census == Census::Namespace {
            // It takes the interpreter as long as it takes us to finish this one.
            self.ask_for_fork(request.takes_turns);
        }
        report.total_ns = nanos(arrived.elapsed());
        if let Some(exited) = &exited {
            report.status = Some(exited.status);
            report.user_ns = seconds(exited.user_s);
            report.system_ns = seconds(exited.system_s);
        }
        self.finish(&mut report, limits, exited.map(|exited| exited.max_rss_kib));
        Ok(report)
    }

    /// From the fork to the end of the first process.
    fn run(
        &mut self,
        request: &Request,
        deadline: Instant,
        report: &mut Report,
    ) -> Result<Option<Exited>, InitError> {
        let pid = match self.fork(deadline)? {
            Event::Said(FromHarness::Forked { pid }) => pid,
            Event::Said(FromHarness::ForkFailed { errno }) => {
                report.fork_errno = Some(errno);
                return Ok(None);
            }
            event => {
                if matches!(event, Event::TimeUp) {
                    report.killed = Some(Killed::Deadline);
                }
                report.spent = Some(format!("the interpreter did not fork: {event:?}"));
                return Ok(None);
            }
        };
        // Its thread is there before the limit on processes is set, so that it does not count.
        self.link.begin(request, report);
        self.keeper.begin(&request.limits).during(|| "cannot set the limits".to_owned())?;
        if pid <= 1
            || pid == self.zygote.pid
            || self.keeper.limit_process(pid, &request.limits).is_err()
        {
            report.spent = Some(format!("the interpreter lied about its fork: {pid}"));
            return Ok(None);
        }
        let timeout = Duration::from_millis(request.limits.timeout_ms);
        self.faults.begin(&request.conditions, self.means(), request.seed, timeout);
        self.running = Some(pid);
        self.unsent = harness::frame(&request.body).unwrap_or_default().into();
        if self.unsent.is_empty() || self.tell_more().is_err() {
            report.spent = Some("the interpreter closed its descriptors".to_owned());
            return Ok(None);
        }
        self.layer.work_ahead()?;
        let event = self.watch(&request.limits, deadline, pid, report)?;
        let unheard = sys::not_received(self.zygote.go.as_fd()).is_ok_and(|unheard| unheard > 0);
        if unheard || !self.unsent.is_empty() {
            // The next one would be told the rest.
            report.spent = Some("the call ended before it had begun".to_owned());
        }
        match event {
            Event::Said(FromHarness::Exited(exited)) => Ok(Some(exited)),
            Event::ZygoteDied => {
                report.spent = Some("the call killed the interpreter".to_owned());
                self.outlive_zygote(deadline, pid, report)?;
                Ok(None)
            }
            event => {
                report.spent = Some(format!("the interpreter lost the call: {event:?}"));
                Ok(None)
            }
        }
    }

    /// The process for the next call is forked ahead of it: a fork is the most that a call costs.
    pub(super) fn ask_for_fork(&mut self, there_is_time: bool) {
        if let Some(keeper) = &mut self.zygote.keeper {
            keeper.warden.permit_fork();
        }
        self.asked_for_fork =
            harness::send(&self.zygote.control, &harness::prepare(there_is_time)).is_ok();
    }

    /// Waits for the fork that was asked for.
    fn fork(&mut self, deadline: Instant) -> Result<Event, InitError> {
        if !self.asked_for_fork {
            self.ask_for_fork(false);
        }
        self.asked_for_fork = false;
        // Hooks of the guest's run when it forks, and may take their time: the call's time.
        self.wait(Until { deadline, orphan: None })
    }

    /// Tells the process of the call as much of it as there is room for. Before it listens it may have
    /// to ask, to print or to be given memory: who only told would wait for it, and it for an answer.
    pub(super) fn tell_more(&mut self) -> io::Result<()> {
        let told = harness::send_some(&self.zygote.go, self.unsent.as_slices().0)?;
        self.unsent.drain(..told);
        Ok(())
    }

    /// The zygote is gone, but its child may go on: it is the init's child now.
    fn outlive_zygote(
        &mut self,
        deadline: Instant,
        pid: i32,
        report: &mut Report,
    ) -> Result<(), InitError> {
        if report.killed.is_none()
            && let Ok(end) = sys::pidfd_open(pid)
        {
            let until = Until { deadline, orphan: Some(end.as_fd()) };
            if matches!(self.wait(until)?, Event::TimeUp) {
                report.killed = Some(Killed::Deadline);
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                let until =
                    Until { deadline: Instant::now() + ANSWERING, orphan: Some(end.as_fd()) };
                self.wait(until)?;
            }
        }
        report.status = reap(pid);
        Ok(())
    }
}

#[expect(clippy::cast_sign_loss, reason = "clamped")]
fn seconds(seconds: f64) -> u64 {
    (seconds.clamp(0.0, 1e9) * 1e9) as u64
}
