//! Watches over one import and then over calls, one at a time.
//!
//! ```text
//! serve ─┬─► import ─┬─► watch: limits ───► wait ─┬─► questions: what may be done
//!        └─► call ───┤                            └─► faults
//!                    ├─► sweep: what was left running
//!                    └─► account: what the report says
//! ```
//!
//! Invariant: when a report is sent, no process of the call is alive, or the report says that the
//! sandbox is spent, and the init ends, which kills the rest.

mod account;
mod call;
mod faults;
mod import;
mod questions;
mod stopped;
mod sweep;
mod wait;
mod watch;

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{Limits, Violation};

use super::layer::Layer;
use super::limits::Keeper;
use super::mailbox::Mailbox;
use super::processes::{self, Census};
use super::streams::Stream;
use super::whereabouts::Whereabouts;
use super::zygote::Zygote;
use super::{During, InitError, mapped};
use crate::confine::{Interpose, Notice};
use crate::fault::Faults;
use crate::network::Link;
use crate::sys;
use crate::wire::channel;
use crate::wire::harness::{self, FromHarness};
use crate::wire::messages::{FromInit, Ready, ToInit};
use wait::{Event, Until};

/// How long Python may take to start.
const STARTING: Duration = Duration::from_secs(20);
/// How long the zygote may take for what takes it microseconds; a call is dead well within a
/// quarter of a second after its deadline.
const ANSWERING: Duration = Duration::from_millis(100);
/// The most leftover processes that are named.
const NAMED: usize = 32;

#[derive(Debug)]
pub(crate) struct Sandbox<'a> {
    pub host: &'a UnixStream,
    pub keeper: Keeper,
    pub layer: Layer,
    pub zygote: Zygote,
    pub mailbox: Mailbox,
    pub out: Stream,
    pub err: Stream,
    pub whereabouts: Whereabouts,
    /// By our own hand, for a share of the processor.
    pub stands_still: bool,
    pub census: Census,
    pub attempts: Vec<Violation>,
    /// A `/proc` that can be written to.
    pub proc: PathBuf,
    /// Mappings of the interpreter that need no more care.
    pub kept_mapped: BTreeSet<u64>,
    /// A fork for the next call was asked for.
    pub asked_for_fork: bool,
    pub faults: Faults,
    pub interpose: Interpose,
    /// System calls that a fault lets wait, until when.
    pub delayed: Vec<(Instant, Notice)>,
    /// What the process of the call has still to be told of it.
    pub unsent: VecDeque<u8>,
    /// The first process of the call, while it runs.
    pub running: Option<i32>,
    /// A fault has stopped the call.
    pub stopped_early: bool,
    pub link: Link,
}

impl Sandbox<'_> {
    /// Tells the harness where it is and waits until it has started.
    pub(crate) fn greet(&mut self, setup: &[u8], ready: Ready) -> Result<(), InitError> {
        self.begin_streams(1 << 16);
        let sent = harness::send(&self.zygote.control, setup);
        let started = self.wait(Until { deadline: Instant::now() + STARTING, orphan: None })?;
        match (sent, started) {
            (Ok(()), Event::Said(FromHarness::Ready)) => {}
            (_, event) => {
                let text = String::from_utf8_lossy(&self.err.take().bytes).into_owned();
                return Err(InitError::Refused(format!(
                    "Python did not start ({event:?}): {}",
                    text.trim()
                )));
            }
        }
        self.zygote.join_group()?;
        self.refuse_early_processes()?;
        self.keeper.weigh_zygote();
        self.tell(&FromInit::Ready(ready))?;
        // While the host thinks of what to ask.
        mapped::keep_mapped(&self.proc, self.zygote.pid, &mut self.kept_mapped);
        Ok(())
    }

    /// What was forked before the interpreter joined its group is not held by it.
    fn refuse_early_processes(&self) -> Result<(), InitError> {
        let others = self.census.others(self.zygote.pid).into_iter();
        let running = others.filter_map(processes::look_at).find(|process| !process.zombie);
        running.map_or(Ok(()), |process| {
            Err(InitError::Refused(format!(
                "Python itself starts a process, `{}`, before any module is imported: look at its \
                 `sitecustomize.py` and at the `.pth` files in its site-packages",
                process.name
            )))
        })
    }

    /// Does what the host asks until it goes away.
    pub(crate) fn serve(&mut self) -> Result<(), InitError> {
        // Nothing was imported or called yet, and it may be a while until something is.
        let mut blank = true;
        let was_stopped = self.stop_if_restless()?;
        loop {
            self.answer_until_asked(blank)?;
            let Ok(request) = channel::receive::<ToInit>(self.host) else { return Ok(()) };
            if blank && !matches!(request, ToInit::Tell(_)) {
                blank = false;
                if was_stopped {
                    self.wake()?;
                }
            }
            let report = match request {
                ToInit::Tell(body) => {
                    // Whoever does not listen does not do what it is asked for next, either.
                    let _ = harness::send(&self.zygote.control, &body);
                    continue;
                }
                ToInit::Import(request) => self.import(&request)?,
                ToInit::Call(request) => self.call(&request)?,
            };
            let spent = report.spent.is_some();
            self.tell(&FromInit::Report(Box::new(report)))?;
            if spent {
                return Ok(());
            }
            // While the host looks at the report, the next layer is put in place.
            self.with_guest_stopped(Layer::prepare)?;
        }
    }

    fn tell(&self, message: &FromInit) -> Result<(), InitError> {
        channel::send(self.host, message).during(|| "the host is gone".to_owned())
    }

    fn begin_streams(&mut self, keep: u64) {
        self.out.begin(keep);
        self.err.begin(keep);
    }
}

/// From its arrival on, whatever has to be done before a call or an import can start.
fn deadline(arrived: Instant, limits: &Limits) -> Instant {
    arrived + Duration::from_millis(limits.timeout_ms)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The status of a child of the init, in the form that `waitpid` gives it.
fn reap(pid: i32) -> Option<i32> {
    // Its connection closes a moment before it has one.
    let patience = Instant::now() + ANSWERING;
    loop {
        let status = sys::wait_status(pid);
        if status.is_some() || Instant::now() >= patience {
            return status;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
