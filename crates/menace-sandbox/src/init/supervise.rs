//! Watches over one import and then over calls, one at a time.
//!
//! Invariant: when a report is sent, no process of the call is alive, or the report says that the
//! sandbox is spent, and the init ends, which kills the rest.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use menace_model::{FaultMode, Limit, Limits, Violation};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::layer::Layer;
use super::limits::{Keeper, TICK, must_watch};
use super::mailbox::Mailbox;
use super::processes::{self, Census};
use super::streams::Stream;
use super::whereabouts::Whereabouts;
use super::zygote::{Zygote, is_readable};
use super::{During, InitError, mapped};
use crate::confine::{Answer, Interpose, Notice};
use crate::fault::{self, Faults, Means, Struck};
use crate::network::Link;
use crate::sys;
use crate::wire::channel;
use crate::wire::harness::{self, Exited, FromHarness};
use crate::wire::messages::{FromInit, Killed, Ready, Report, Request, ToInit};

/// How long Python may take to start.
const STARTING: Duration = Duration::from_secs(20);
/// How long the zygote may take for what takes it microseconds; a call is dead well within a
/// quarter of a second after its deadline.
const ANSWERING: Duration = Duration::from_millis(100);
/// The most attempts at forbidden things that are kept of one call.
const ATTEMPTS: usize = 64;
/// The most leftover processes that are named.
const NAMED: usize = 32;
/// How often a sweep is repeated before the sandbox is given up.
const SWEEPS: usize = 5;

/// Tells of processes that a call started and that were alive at its end.
fn name_left(pids: impl Iterator<Item = i32>, report: &mut Report) {
    let named = pids.take(NAMED).filter_map(processes::look_at);
    report.processes_left = named
        .filter(|process| !process.zombie)
        .map(|process| format!("{} ({})", process.name, process.pid))
        .collect();
}

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

/// What happened first.
#[derive(Debug)]
enum Event {
    Said(FromHarness),
    /// It broke the protocol: the guest has its hands on it.
    Nonsense,
    ZygoteDied,
    CallEnded,
    TimeUp,
}

/// What to wait for beside the harness.
#[derive(Debug, Clone, Copy)]
struct Until<'a> {
    deadline: Instant,
    /// The process of the call, when the zygote is not there to wait for it.
    orphan: Option<BorrowedFd<'a>>,
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
        loop {
            self.answer_until_asked()?;
            let Ok(request) = channel::receive::<ToInit>(self.host) else { return Ok(()) };
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

    /// The process of the next call makes itself ready meanwhile, and opens files for that.
    fn answer_until_asked(&mut self) -> Result<(), InitError> {
        let mut anybody_asks = true;
        loop {
            let mut fds = vec![PollFd::new(self.host.as_fd(), PollFlags::POLLIN)];
            if let Some(keeper) = self.zygote.keeper.as_ref().filter(|_| anybody_asks) {
                fds.push(PollFd::new(keeper.listener.as_fd(), PollFlags::POLLIN));
            }
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(nix::Error::EINTR) => {}
                Err(error) => return Err(error).during(|| "cannot wait for the host".to_owned()),
            }
            let asked = fds[0].any() == Some(true);
            let question = fds.get(1).is_some_and(is_readable);
            // One that is hung up stays so.
            anybody_asks &= question || fds.get(1).is_none_or(|fd| fd.any() != Some(true));
            if question {
                self.answer_denied();
            }
            if asked {
                return Ok(());
            }
        }
    }

    fn tell(&self, message: &FromInit) -> Result<(), InitError> {
        channel::send(self.host, message).during(|| "the host is gone".to_owned())
    }

    fn begin_streams(&mut self, keep: u64) {
        self.out.begin(keep);
        self.err.begin(keep);
    }

    /// The zygote itself imports the module: what goes wrong there ends the sandbox.
    fn import(&mut self, request: &Request) -> Result<Report, InitError> {
        let limits = &request.limits;
        let arrived = Instant::now();
        let mut report = self.begin(request)?;
        self.keeper.watch_zygote(true);
        self.keeper.begin(limits).during(|| "cannot set the limits".to_owned())?;
        let mut imported = false;
        if harness::send(&self.zygote.control, &request.body).is_err() {
            report.spent = Some("the interpreter does not listen".to_owned());
        } else {
            let zygote = self.zygote.pid;
            match self.watch(limits, deadline(arrived, limits), zygote, &mut report)? {
                Event::Said(FromHarness::Imported { ok, keeps }) => {
                    imported = ok;
                    report.keeps = keeps;
                }
                Event::ZygoteDied => {
                    report.status = reap(zygote);
                    report.spent = Some("the import ended the interpreter".to_owned());
                }
                Event::TimeUp => report.spent = Some("the import was stopped".to_owned()),
                event => report.spent = Some(format!("the import broke the protocol: {event:?}")),
            }
        }
        report.total_ns = nanos(arrived.elapsed());
        self.keeper.take_stock(&self.layer, Instant::now() + ANSWERING);
        self.finish(&mut report, limits, None);
        self.keeper.watch_zygote(false);
        if imported {
            // Beside its own children, it may have left orphans.
            let others = self.census.others(self.zygote.pid);
            let named = others.into_iter().take(NAMED).filter_map(processes::look_at);
            for process in named.filter(|process| !process.zombie) {
                let kept = format!("process {}", process.name);
                if !report.keeps.contains(&kept) {
                    report.keeps.push(kept);
                }
            }
            if self.census == Census::Descendants {
                // The harness cannot look at its own mappings there.
                let (mailbox, copy) = (self.mailbox.inode(), self.layer.writable());
                report.keeps.extend(mapped::shared(&self.proc, self.zygote.pid, mailbox, &copy));
            }
            mapped::keep_mapped(&self.proc, self.zygote.pid, &mut self.kept_mapped);
            self.keeper.weigh_zygote();
        } else if report.spent.is_none() {
            report.spent = Some("the import failed".to_owned());
        }
        if report.killed.is_some() && report.spent.is_none() {
            report.spent = Some("the import took more than it may".to_owned());
        }
        let in_company = !report.keeps.is_empty();
        if report.spent.is_none()
            && let Some(why) = self.with_guest_stopped(|layer| layer.keep_import(in_company))?
        {
            report.spent = Some(format!("what the import wrote cannot be kept: {why}"));
        }
        if report.spent.is_none() && !in_company && self.census == Census::Namespace {
            // It takes the interpreter as long as it takes the host to ask for the first call.
            self.ask_for_fork(false);
        }
        Ok(report)
    }

    fn call(&mut self, request: &Request) -> Result<Report, InitError> {
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

    fn end_faults(&mut self, report: &mut Report) {
        report.felt = self.faults.end();
        self.delayed.clear();
        self.running = None;
        if std::mem::take(&mut self.stopped_early) {
            report.killed = Some(Killed::Early);
        }
    }

    fn begin(&mut self, request: &Request) -> Result<Report, InitError> {
        let limits = &request.limits;
        self.attempts.clear();
        if let Some(keeper) = &mut self.zygote.keeper {
            // What the interpreter itself looked for is nobody's attempt.
            keeper.warden.take_reached();
        }
        self.mailbox.take();
        self.mailbox.begin(request.nonce);
        self.begin_streams(limits.output_bytes);
        self.whereabouts.begin();
        self.stands_still = false;
        self.layer.limit(limits)?;
        let mut enforced_by = self.keeper.account(limits, &self.layer);
        // No backend here can pass any on.
        let mut unenforced: Vec<Limit> =
            (limits.gpus > 0).then_some(Limit::Gpu).into_iter().collect();
        let faults = &request.conditions.faults;
        for (limit, by) in fault::account(faults, self.means()) {
            match by {
                Some(mechanism) => drop(enforced_by.insert(limit, vec![mechanism])),
                None => unenforced.push(limit),
            }
        }
        if faults.iter().any(|fault| fault.mode == FaultMode::Cpu) {
            // It is a share of the processor that the limits have to name.
            match enforced_by.get(&Limit::CpuShare).cloned() {
                Some(by) => drop(enforced_by.insert(Limit::FaultCpu, by)),
                None => unenforced.push(Limit::FaultCpu),
            }
        }
        Ok(Report { enforced_by, unenforced, ..Report::default() })
    }

    fn means(&self) -> Means {
        Means {
            interpose: self.interpose,
            listens: self.zygote.keeper.is_some(),
            network: self.link.is_there(),
        }
    }

    /// Without mounts, whoever changes the layer while it is mended costs us the sandbox. Where they
    /// would lead us does not depend on this: the layer goes through descriptors.
    fn with_guest_stopped<T>(
        &mut self,
        work: impl FnOnce(&mut Layer) -> Result<T, InitError>,
    ) -> Result<T, InitError> {
        if matches!(self.layer, Layer::Overlay(_)) {
            return work(&mut self.layer);
        }
        let zygote = Pid::from_raw(self.zygote.pid);
        kill(zygote, Signal::SIGSTOP).during(|| "cannot stop the interpreter".to_owned())?;
        self.wait_until_stopped(zygote);
        let done = work(&mut self.layer)?;
        kill(zygote, Signal::SIGCONT).during(|| "cannot wake the interpreter".to_owned())?;
        Ok(done)
    }

    /// Not for ever: it may have ended, or somebody wakes it.
    fn wait_until_stopped(&self, zygote: Pid) {
        let patience = Instant::now() + ANSWERING;
        while Instant::now() < patience {
            let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
            let mut end = [PollFd::new(self.zygote.end.as_fd(), PollFlags::POLLIN)];
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
    fn ask_for_fork(&mut self, there_is_time: bool) {
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
    fn tell_more(&mut self) -> std::io::Result<()> {
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

    /// Waits for the harness to say something, and stops `pid` when a limit is exceeded.
    fn watch(
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

    /// Ends those whom a killed call started, at once: they would keep the processors from the
    /// interpreter that has to tell of its end. Who is born meanwhile is left to the sweep.
    fn stop_company_of(&mut self, pid: i32, report: &mut Report) {
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
    fn sweep(&mut self, report: &mut Report) -> Result<(), InitError> {
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

    fn finish(&mut self, report: &mut Report, limits: &Limits, max_rss_kib: Option<i64>) {
        report.stdout = self.out.take();
        report.stderr = self.err.take();
        report.whereabouts = self.whereabouts.take();
        if report.is_late {
            self.mailbox.withdraw();
        }
        let mail = self.mailbox.take();
        (report.phase, report.mailbox_nonce, report.mailbox) =
            (mail.phase, mail.nonce, mail.report);
        report.told_attempts = mail.attempts;
        report.steps = mail.steps;
        let used = self.layer.used();
        report.disk_full = used.full && limits.disk_bytes.is_some();
        let over = self.keeper.finish(report, limits, &used, max_rss_kib);
        if mail.refused_fork {
            report.process_limit_hits = report.process_limit_hits.max(1);
        }
        report.killed = report.killed.or(over).or(self.layer.over(limits, &used));
        report.files = used.files;
        report.attempts = std::mem::take(&mut self.attempts);
        if let Some(keeper) = &mut self.zygote.keeper {
            report.pretended = keeper.warden.take_pretended();
            report.reached = keeper.warden.take_reached();
        }
    }

    /// The heart: reads the guest's output, answers what it may not do, and returns on an event.
    fn wait(&mut self, until: Until<'_>) -> Result<Event, InitError> {
        loop {
            let ready = self.poll(until)?;
            if ready.host_gone {
                return Err(InitError::HostGone);
            }
            if ready.out {
                self.out.drain();
            }
            if ready.err {
                self.err.drain();
            }
            if ready.denied {
                self.answer_denied();
            }
            self.attend_to_faults();
            if ready.go && self.tell_more().is_err() {
                return Ok(Event::Nonsense);
            }
            if ready.control {
                return Ok(match harness::receive(&self.zygote.control) {
                    Ok(said) => Event::Said(said),
                    Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                        Event::ZygoteDied
                    }
                    Err(_) => Event::Nonsense,
                });
            }
            if until.orphan.is_some() {
                if ready.orphan {
                    return Ok(Event::CallEnded);
                }
            } else if ready.zygote {
                return Ok(Event::ZygoteDied);
            }
            if Instant::now() >= until.deadline {
                return Ok(Event::TimeUp);
            }
        }
    }

    fn poll(&self, until: Until<'_>) -> Result<ReadyFor, InitError> {
        let delayed = self.delayed.iter().map(|(due, _)| *due);
        let next = delayed.chain(self.faults.due()).fold(until.deadline, Instant::min);
        let left = next.saturating_duration_since(Instant::now());
        // Rounded up, so that a deadline is never polled for in vain.
        let millis = i32::try_from(left.as_millis() + 1).unwrap_or(i32::MAX);
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        let input = PollFlags::POLLIN;
        let watch_zygote = until.orphan.is_none();
        let mut fds = vec![
            PollFd::new(self.host.as_fd(), PollFlags::from_bits_retain(libc::POLLRDHUP)),
            PollFd::new(self.out.reader(), input),
            PollFd::new(self.err.reader(), input),
            PollFd::new(until.orphan.unwrap_or(self.zygote.end.as_fd()), input),
        ];
        let control_at = watch_zygote.then(|| {
            fds.push(PollFd::new(self.zygote.control.as_fd(), input));
            fds.len() - 1
        });
        let listener_at = self.zygote.keeper.as_ref().map(|keeper| {
            fds.push(PollFd::new(keeper.listener.as_fd(), input));
            fds.len() - 1
        });
        let go_at = (!self.unsent.is_empty()).then(|| {
            fds.push(PollFd::new(self.zygote.go.as_fd(), PollFlags::POLLOUT));
            fds.len() - 1
        });
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error).during(|| "cannot wait for the guest".to_owned()),
        }
        let any = |at: usize| fds[at].any() == Some(true);
        Ok(ReadyFor {
            // Hanging up is all that is asked for, and `any` does not know its bit.
            host_gone: fds[0].any() != Some(false),
            out: any(1),
            err: any(2),
            zygote: watch_zygote && any(3),
            orphan: !watch_zygote && any(3),
            control: control_at.is_some_and(any),
            denied: listener_at.is_some_and(|at| is_readable(&fds[at])),
            go: go_at.is_some_and(any),
        })
    }

    /// Answers one system call that waits for a decision.
    fn answer_denied(&mut self) {
        let Some(keeper) = &mut self.zygote.keeper else { return };
        let Ok(Some(notice)) = keeper.listener.next() else { return };
        if self.faults.are_active()
            && self.mailbox.is_active()
            && keeper.warden.may_be_struck(&notice)
            && let Some(struck) = self.faults.strike(&notice)
        {
            keeper.warden.look(&notice);
            match struck {
                Struck::Answer(answer) => drop(keeper.listener.answer(&notice, answer)),
                Struck::Delay(time) => self.delayed.push((Instant::now() + time, notice)),
                Struck::Kill => self.stop_early(),
            }
            return;
        }
        if let Ok(Some(attempt)) = keeper.listener.decide(&notice, &mut keeper.warden) {
            let violation =
                Violation { what: attempt.what.as_str().to_owned(), detail: attempt.detail };
            if self.attempts.len() < ATTEMPTS && !self.attempts.contains(&violation) {
                self.attempts.push(violation);
            }
        }
    }

    fn stop_early(&mut self) {
        if let Some(pid) = self.running {
            self.stopped_early = true;
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Lets go what has waited long enough, and takes the processor away or gives it back.
    fn attend_to_faults(&mut self) {
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
    fn let_stand_still(&mut self, stop: bool) {
        self.stands_still = stop;
        let signal = if stop { Signal::SIGSTOP } else { Signal::SIGCONT };
        for pid in self.census.others(self.zygote.pid) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one per descriptor")]
struct ReadyFor {
    host_gone: bool,
    out: bool,
    err: bool,
    zygote: bool,
    orphan: bool,
    control: bool,
    denied: bool,
    go: bool,
}

/// From its arrival on, whatever has to be done before a call or an import can start.
fn deadline(arrived: Instant, limits: &Limits) -> Instant {
    arrived + Duration::from_millis(limits.timeout_ms)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_sign_loss, reason = "clamped")]
fn seconds(seconds: f64) -> u64 {
    (seconds.clamp(0.0, 1e9) * 1e9) as u64
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
