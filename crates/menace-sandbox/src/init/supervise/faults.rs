//! What faults do to a call beyond system calls that fail: who was delayed is let go, the processor is
//! taken away and given back, the call is stopped early.

use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Sandbox;
use crate::confine::Answer;
use crate::fault::Means;
use crate::wire::messages::{Killed, Report};

impl Sandbox<'_> {
    pub(super) fn means(&self) -> Means {
        Means {
            interpose: self.interpose,
            listens: self.zygote.keeper.is_some(),
            network: self.link.is_there(),
        }
    }

    pub(super) fn end_faults(&mut self, report: &mut Report) {
        report.felt = self.faults.end();
        self.delayed.clear();
        self.running = None;
        if std::mem::take(&mut self.stopped_early) {
            report.killed = Some(Killed::Early);
        }
    }

    pub(super) fn stop_early(&mut self) {
        if let Some(pid) = self.running {
            self.stopped_early = true;
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Lets go what has waited long enough, and takes the processor away or gives it back.
    pub(super) fn attend_to_faults(&mut self) {
        if self.delayed.is_empty() && self.faults.due().is_none() {
            return;
        }
        let now = Instant::now();
        if let Some(keeper) = &self.zygote.keeper {
            self.delayed.retain(|(due, notice)| {
                let waits = now < *due;
                if !waits {
                    let _ = keeper.listener.answer(notice, Answer::Allow);
                }
                waits
            });
        }
        let section_runs = self.mailbox.is_active();
        if self.faults.ends(now, section_runs) {
            self.stop_early();
        }
        if let Some(stop) = self.faults.turn(now) {
            self.let_stand_still(stop);
        }
    }

    /// Stops everybody who is the call's, or lets them go on.
    pub(super) fn let_stand_still(&mut self, stop: bool) {
        self.stands_still = stop;
        let signal = if stop { Signal::SIGSTOP } else { Signal::SIGCONT };
        for pid in self.census.others(self.zygote.pid) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}
