//! Holds the import and each call to the limits that the kernel does not hold by itself.

use std::time::Instant;

use menace_model::Limits;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::wait::{Event, Until};
use super::{ANSWERING, Sandbox};
use crate::init::InitError;
use crate::init::limits::{TICK, must_watch};
use crate::init::processes;
use crate::wire::messages::{Killed, Report};

impl Sandbox<'_> {
    /// Waits for the harness to say something, and stops `pid` when a limit is exceeded.
    pub(super) fn watch(
        &mut self,
        limits: &Limits,
        deadline: Instant,
        pid: i32,
        report: &mut Report,
    ) -> Result<Event, InitError> {
        let mut ration = self.keeper.ration(limits);
        let must_watch = ration.is_some() || must_watch(limits, &self.layer);
        loop {
            let next = if must_watch { deadline.min(Instant::now() + TICK) } else { deadline };
            let event = self.wait(Until { deadline: next, orphan: None })?;
            if !matches!(event, Event::TimeUp) {
                return Ok(event);
            }
            let why = if Instant::now() >= deadline {
                Some(Killed::Deadline)
            } else {
                self.keeper.exceeded(limits, &self.layer, deadline)
            };
            let Some(why) = why else {
                if let Some(ration) = &mut ration
                    && !self.faults.are_paused()
                    && let Some(stop) = ration.turn(self.keeper.cpu_ns(), Instant::now())
                {
                    self.let_stand_still(stop);
                }
                continue;
            };
            report.killed = Some(why);
            report.process_limit_hits = u64::from(self.keeper.is_full(limits));
            if let Some((read, written)) = processes::io_bytes(pid) {
                (report.bytes_read, report.bytes_written) = (read, written);
            }
            if matches!(why, Killed::Deadline | Killed::Cpu) && !self.mailbox.has_report() {
                if self.stands_still {
                    self.let_stand_still(false);
                }
                self.whereabouts.ask(pid);
                // It went on meanwhile, but its time was up.
                report.is_late = true;
            }
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            if pid != self.zygote.pid {
                self.stop_company_of(pid, report);
            }
            return self.wait(Until { deadline: Instant::now() + ANSWERING, orphan: None });
        }
    }
}
