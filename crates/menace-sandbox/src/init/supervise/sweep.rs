//! Ends whatever a call has started, and names what was still alive at its end.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::wait::Until;
use super::{ANSWERING, NAMED, Sandbox};
use crate::init::InitError;
use crate::init::processes::{self, Census};
use crate::wire::harness;
use crate::wire::messages::Report;

/// How often a sweep is repeated before the sandbox is given up.
const SWEEPS: usize = 5;

impl Sandbox<'_> {
    /// Ends those whom a killed call started, at once: they would keep the processors from the
    /// interpreter that has to tell of its end. Who is born meanwhile is left to the sweep.
    pub(super) fn stop_company_of(&mut self, pid: i32, report: &mut Report) {
        let (census, zygote) = (self.census, self.zygote.pid);
        let company = || {
            let mut others = census.others(zygote);
            others.retain(|other| *other != pid);
            others
        };
        let stopped = processes::stop(company);
        name_left(stopped.iter().copied(), report);
        for other in stopped {
            let _ = kill(Pid::from_raw(other), Signal::SIGKILL);
        }
    }

    /// Ends everything that the call left running; names it in the report.
    pub(super) fn sweep(&mut self, report: &mut Report) -> Result<(), InitError> {
        for round in 0..=SWEEPS {
            processes::reap_ended();
            let others = self.census.others(self.zygote.pid);
            // A namespace ends with its init.
            let ends_anyway = report.spent.is_some() && self.census == Census::Namespace;
            if others.is_empty() || ends_anyway {
                return Ok(());
            }
            if round == 0 && report.spent.is_none() && report.processes_left.is_empty() {
                name_left(others.iter().copied(), report);
            }
            if round == SWEEPS {
                break;
            }
            self.kill_others()?;
        }
        report.spent.get_or_insert("processes of the call could not be ended".to_owned());
        Ok(())
    }

    fn kill_others(&mut self) -> Result<(), InitError> {
        if self.census == Census::Namespace {
            // From the zygote, `kill(-1)` reaches everybody but itself and the init, all at once:
            // no fork can slip through.
            if let Some(keeper) = &mut self.zygote.keeper {
                keeper.warden.permit_sweep();
            }
            if harness::send(&self.zygote.control, &harness::sweep()).is_ok() {
                self.wait(Until { deadline: Instant::now() + ANSWERING, orphan: None })?;
            }
            return Ok(());
        }
        let (census, zygote) = (self.census, self.zygote.pid);
        processes::end(|| census.others(zygote));
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }
}

/// Tells of processes that a call started and that were alive at its end.
fn name_left(pids: impl Iterator<Item = i32>, report: &mut Report) {
    let named = pids.take(NAMED).filter_map(processes::look_at);
    report.processes_left = named
        .filter(|process| !process.zombie)
        .map(|process| format!("{} ({})", process.name, process.pid))
        .collect();
}
