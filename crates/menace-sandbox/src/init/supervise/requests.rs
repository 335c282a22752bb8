//! Handles one import or call, from the request to its report.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use menace_model::{CallLimits, FaultMode, Limit, PolicyViolation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::events::{GuestEvent, WaitConditions};
use super::{
    MAX_NAMED_PROCESSES, SandboxInit, ZYGOTE_REPLY_TIMEOUT, compute_deadline, duration_to_ns, reap,
};
use crate::init::fault_window::FaultWindowWatch;
use crate::init::limits::{MONITOR_INTERVAL, needs_monitor};
use crate::init::processes::{self, ProcessEnd, ProcessScope};
use crate::init::{InitError, InitErrorContext, mappings};
use crate::wire::channel;
use crate::wire::harness::{self, FromHarnessMessage};
use crate::wire::messages::{FORGED_REPORT, InitReport, InitRequest, KillReason, PATCHED_HARNESS};
use crate::{fault, sys};

/// Of a process that the harness ends.
const REGULAR_STATUS: i32 = 0;
/// How long after its deadline a call may take to end that has reported what came of it. Its
/// result may have methods that take their time.
const DESCRIPTION_GRACE: Duration = Duration::from_millis(100);
/// What is wrong where init finds no exit status of a call, or another than the zygote.
const STATUS_TAKEN: &str = "its exit status was taken before init could read it";
const STATUS_CHANGED: &str = "the interpreter reported another exit status than the kernel";
/// How often a sweep is repeated before the sandbox becomes unusable.
const MAX_SWEEP_ROUNDS: usize = 5;

/// The process that an import or a call runs in.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchedProcess<'a> {
    pid: i32,
    /// Nothing for the zygote, which imports.
    call_pidfd: Option<BorrowedFd<'a>>,
}

impl SandboxInit<'_> {
    /// Imports the module in the zygote itself: a failure there ends the sandbox.
    pub(super) fn import(&mut self, request: &InitRequest) -> Result<InitReport, InitError> {
        let limits = &request.limits;
        let arrived = Instant::now();
        let mut report = self.begin_report(request)?;
        self.limit_enforcer.set_importing(true);
        self.limit_enforcer
            .begin_call(limits)
            .with_context(|| "cannot set the limits".to_owned())?;
        let mut imported = false;
        report.ended_irregularly = true;
        if harness::send(&self.zygote.control, &request.body).is_err() {
            report.unusable_reason = Some("the interpreter does not listen".to_owned());
        } else {
            let zygote = self.zygote.pid;
            let watched = WatchedProcess { pid: zygote, call_pidfd: None };
            match self.watch(limits, compute_deadline(arrived, limits), watched, &mut report)? {
                GuestEvent::Message(FromHarnessMessage::Imported {
                    ok,
                    unforkable_state: keeps,
                }) => {
                    imported = ok;
                    report.unforkable_state = keeps;
                    report.ended_irregularly = report.killed.is_some();
                }
                GuestEvent::ZygoteDied => {
                    report.status = reap(zygote);
                    report.unusable_reason = Some("the import ended the interpreter".to_owned());
                }
                GuestEvent::DeadlinePassed => {
                    report.unusable_reason = Some("the import was stopped".to_owned());
                }
                event => {
                    report.unusable_reason =
                        Some(format!("the import broke the protocol: {event:?}"));
                }
            }
        }
        report.total_ns = duration_to_ns(arrived.elapsed());
        self.limit_enforcer.sample_usage(&self.layer, Instant::now() + ZYGOTE_REPLY_TIMEOUT);
        self.finish_report(&mut report, limits, None);
        self.limit_enforcer.set_importing(false);
        if imported {
            // The import may have left orphans, which are not children of the zygote.
            let others = self.process_scope.other_pids(self.zygote.pid);
            let named =
                others.into_iter().take(MAX_NAMED_PROCESSES).filter_map(processes::read_process);
            for process in named.filter(|process| !process.zombie) {
                let kept = format!("process {}", process.name);
                if !report.unforkable_state.contains(&kept) {
                    report.unforkable_state.push(kept);
                }
            }
            if self.process_scope == ProcessScope::Descendants {
                // In the `landlock` tier the harness cannot read its own mappings.
                let (mailbox, copy) = (self.output.mailbox.inode(), self.layer.layer_root());
                report.unforkable_state.extend(mappings::list_shared_mappings(
                    &self.proc,
                    self.zygote.pid,
                    mailbox,
                    &copy,
                ));
            }
            let mailbox = self.output.mailbox.inode();
            if mappings::is_mailbox_mapped_again(&self.proc, self.zygote.pid, mailbox) {
                report.violations.push(PolicyViolation {
                    kind: PATCHED_HARNESS.to_owned(),
                    detail: "a second mapping of the mailbox".to_owned(),
                });
            }
            mappings::make_code_pages_private(
                &self.proc,
                self.zygote.pid,
                &mut self.zygote.private_code_mappings,
            );
            self.limit_enforcer.measure_zygote();
        } else if report.unusable_reason.is_none() {
            report.unusable_reason = Some("the import failed".to_owned());
        }
        if report.has_violation(PATCHED_HARNESS) && report.unusable_reason.is_none() {
            report.unusable_reason = Some("the import changed the harness".to_owned());
        }
        if report.killed.is_some() && report.unusable_reason.is_none() {
            report.unusable_reason = Some("the import took more than it may".to_owned());
        }
        let has_unforkable_state = !report.unforkable_state.is_empty();
        if report.unusable_reason.is_none()
            && let Some(why) =
                self.with_guest_stopped(|layer| layer.keep_import(has_unforkable_state))?
        {
            report.unusable_reason = Some(format!("what the import wrote cannot be kept: {why}"));
        }
        if report.unusable_reason.is_none()
            && !has_unforkable_state
            && self.process_scope == ProcessScope::Namespace
        {
            // The interpreter forks while the host prepares the first call.
            self.request_fork(false);
        }
        Ok(report)
    }

    pub(super) fn call(&mut self, request: &InitRequest) -> Result<InitReport, InitError> {
        let limits = &request.limits;
        let arrived = Instant::now();
        let mut report = self.begin_report(request)?;
        let max_rss_kib = self.run(request, compute_deadline(arrived, limits), &mut report)?;
        self.end_faults(&mut report);
        self.sweep(&mut report)?;
        self.link.end_call(&mut report);
        self.limit_enforcer.sample_usage(&self.layer, Instant::now() + ZYGOTE_REPLY_TIMEOUT);
        if report.unusable_reason.is_none() && self.process_scope == ProcessScope::Namespace {
            // The interpreter forks while init completes this call.
            self.request_fork(request.warms_fork);
        }
        report.total_ns = duration_to_ns(arrived.elapsed());
        report.ended_irregularly = report.status != Some(REGULAR_STATUS);
        self.finish_report(&mut report, limits, max_rss_kib);
        Ok(report)
    }

    /// From the fork to the end of the call's first process; returns how much memory that had at
    /// its peak.
    fn run(
        &mut self,
        request: &InitRequest,
        deadline: Instant,
        report: &mut InitReport,
    ) -> Result<Option<i64>, InitError> {
        let pid = match self.wait_for_fork(deadline)? {
            GuestEvent::Message(FromHarnessMessage::Forked { pid }) => pid,
            GuestEvent::Message(FromHarnessMessage::ForkFailed { errno }) => {
                report.fork_errno = Some(errno);
                return Ok(None);
            }
            event => {
                if matches!(event, GuestEvent::DeadlinePassed) {
                    report.killed = Some(KillReason::Deadline);
                }
                report.unusable_reason = Some(format!("the interpreter did not fork: {event:?}"));
                return Ok(None);
            }
        };
        // Starts the network's thread before the limit on processes is set, so that it does not
        // count.
        self.link.begin_call(request, report);
        self.limit_enforcer
            .begin_call(&request.limits)
            .with_context(|| "cannot set the limits".to_owned())?;
        let is_process = pid > 1
            && pid != self.zygote.pid
            && self.limit_enforcer.limit_process(pid, &request.limits).is_ok();
        let Some(pidfd) = is_process.then(|| sys::pidfd_open(pid).ok()).flatten() else {
            report.unusable_reason = Some(format!("the interpreter lied about its fork: {pid}"));
            return Ok(None);
        };
        let timeout = Duration::from_millis(request.limits.timeout_ms);
        self.faults.begin_call(&request.conditions, self.fault_support(), request.seed, timeout);
        self.running.fault_window = FaultWindowWatch::new(&request.conditions);
        self.running.pid = Some(pid);
        self.running.unsent_request =
            harness::encode_frame(&request.body).unwrap_or_default().into();
        if self.running.unsent_request.is_empty() || self.send_unsent().is_err() {
            report.unusable_reason = Some("the interpreter closed its descriptors".to_owned());
            return Ok(None);
        }
        self.layer.stage_next()?;
        let watched = WatchedProcess { pid, call_pidfd: Some(pidfd.as_fd()) };
        let event = self.watch(&request.limits, deadline, watched, report)?;
        let unread =
            sys::unreceived_bytes(self.zygote.call_socket.as_fd()).is_ok_and(|bytes| bytes > 0);
        if unread || !self.running.unsent_request.is_empty() {
            // The next call's process would read the rest of this request.
            report.unusable_reason = Some("the call ended before it had begun".to_owned());
        }
        match event {
            GuestEvent::CallEnded => self.collect_end(pid, report),
            GuestEvent::ZygoteDied => {
                report.unusable_reason = Some("the call killed the interpreter".to_owned());
                self.wait_for_orphan(deadline, pid, pidfd.as_fd(), report)?;
                Ok(None)
            }
            event => {
                report.unusable_reason = Some(format!("the interpreter lost the call: {event:?}"));
                Ok(None)
            }
        }
    }

    /// Reads from the kernel how the call ended, then has the zygote reap it. Code of the import
    /// may run in the zygote, in a thread say: what the zygote says must agree.
    fn collect_end(&mut self, pid: i32, report: &mut InitReport) -> Result<Option<i64>, InitError> {
        let end = ProcessEnd::read(pid);
        let reaped = if harness::send(&self.zygote.control, &harness::encode_reap(pid)).is_ok() {
            self.wait(WaitConditions::message_before(Instant::now() + ZYGOTE_REPLY_TIMEOUT))?
        } else {
            GuestEvent::ZygoteDied
        };
        let mut parent = self.zygote.pid;
        let claimed = match reaped {
            GuestEvent::Message(FromHarnessMessage::Reaped(claimed)) => Some(claimed),
            GuestEvent::Message(FromHarnessMessage::ReapFailed) => None,
            GuestEvent::ZygoteDied => {
                report.unusable_reason = Some("the call killed the interpreter".to_owned());
                if end.is_some_and(|end| end.parent == processes::own_pid()) {
                    parent = processes::own_pid();
                }
                None
            }
            event => {
                report.unusable_reason = Some(format!("the interpreter lost the call: {event:?}"));
                None
            }
        };
        let Some(end) = end.filter(|end| end.parent == parent) else {
            self.running.record_violation(FORGED_REPORT, STATUS_TAKEN.to_owned());
            report.unusable_reason.get_or_insert_with(|| STATUS_TAKEN.to_owned());
            return Ok(None);
        };
        report.status = Some(end.status);
        if let Some(claimed) = claimed
            && claimed.status != end.status
        {
            self.running.record_violation(FORGED_REPORT, STATUS_CHANGED.to_owned());
            report.unusable_reason = Some(STATUS_CHANGED.to_owned());
            if end.status == REGULAR_STATUS {
                // Older kernels keep here how the first thread ended, of a process that was killed.
                report.status = Some(claimed.status);
            }
        }
        let times = claimed.map(|it| (seconds_to_ns(it.user_s), seconds_to_ns(it.system_s)));
        (report.user_ns, report.system_ns) = end.cpu_times(times);
        Ok(claimed.map(|claimed| claimed.max_rss_kib))
    }

    /// Requests the process of the next call ahead of it, since forking is the largest cost of a
    /// call.
    pub(super) fn request_fork(&mut self, warms_fork: bool) {
        if let Some(handler) = &mut self.zygote.notify_handler {
            handler.supervisor.permit_fork();
        }
        self.zygote.fork_requested =
            harness::send(&self.zygote.control, &harness::encode_fork_request(warms_fork)).is_ok();
    }

    /// Waits for the fork that was requested.
    fn wait_for_fork(&mut self, deadline: Instant) -> Result<GuestEvent, InitError> {
        if !self.zygote.fork_requested {
            self.request_fork(false);
        }
        self.zygote.fork_requested = false;
        // Code of the import may run in the zygote now (a thread, a handler in C); its time counts.
        self.wait(WaitConditions::message_before(deadline))
    }

    /// Sends the process of the call as much of its request as the socket takes. Before it reads,
    /// the process may print, allocate memory or make other system calls that wait for init: a
    /// blocking send would wait for the process, and the process for init.
    pub(super) fn send_unsent(&mut self) -> io::Result<()> {
        let sent =
            channel::try_send(&self.zygote.call_socket, self.running.unsent_request.as_slices().0)?;
        self.running.unsent_request.drain(..sent);
        Ok(())
    }

    /// Waits for the call's process after the zygote has died: init has adopted it.
    fn wait_for_orphan(
        &mut self,
        deadline: Instant,
        pid: i32,
        pidfd: BorrowedFd<'_>,
        report: &mut InitReport,
    ) -> Result<(), InitError> {
        if report.killed.is_none() {
            let end_before = |deadline| WaitConditions {
                deadline,
                call_pidfd: Some(pidfd),
                is_zygote_gone: true,
            };
            if matches!(self.wait(end_before(deadline))?, GuestEvent::DeadlinePassed) {
                report.killed = Some(KillReason::Deadline);
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                self.wait(end_before(Instant::now() + ZYGOTE_REPLY_TIMEOUT))?;
            }
        }
        report.status = reap(pid);
        Ok(())
    }
}

/// Limits that init enforces, and the end of all processes.
impl SandboxInit<'_> {
    /// Waits for the end of a call or a message of the harness, and kills the process when it
    /// exceeds a limit.
    pub(super) fn watch(
        &mut self,
        limits: &CallLimits,
        mut deadline: Instant,
        watched: WatchedProcess<'_>,
        report: &mut InitReport,
    ) -> Result<GuestEvent, InitError> {
        let WatchedProcess { pid, call_pidfd } = watched;
        let last_moment = deadline + DESCRIPTION_GRACE;
        let mut throttle = self.limit_enforcer.cpu_throttle(limits);
        let must_watch = throttle.is_some() || needs_monitor(limits, &self.layer);
        loop {
            let next =
                if must_watch { deadline.min(Instant::now() + MONITOR_INTERVAL) } else { deadline };
            let until = WaitConditions { deadline: next, call_pidfd, is_zygote_gone: false };
            let event = self.wait(until)?;
            if !matches!(event, GuestEvent::DeadlinePassed) {
                return Ok(event);
            }
            if Instant::now() >= deadline
                && deadline < last_moment
                && pid != self.zygote.pid
                && self.output.mailbox.has_report()
            {
                deadline = last_moment;
                continue;
            }
            let why = if Instant::now() >= deadline {
                Some(KillReason::Deadline)
            } else {
                self.limit_enforcer.find_exceeded_limit(limits, &self.layer, deadline)
            };
            let Some(why) = why else {
                if let Some(throttle) = &mut throttle
                    && !self.faults.is_in_cpu_pause()
                    && let Some(stop) =
                        throttle.update(self.limit_enforcer.cpu_ns(), Instant::now())
                {
                    self.set_call_stopped(stop);
                }
                continue;
            };
            report.killed = Some(why);
            report.process_limit_hits =
                u64::from(self.limit_enforcer.is_process_limit_reached(limits));
            if let Some((read, written)) = processes::io_bytes(pid) {
                (report.bytes_read, report.bytes_written) = (read, written);
            }
            if matches!(why, KillReason::Deadline | KillReason::Cpu)
                && !self.output.mailbox.has_report()
            {
                if self.running.is_stopped {
                    self.set_call_stopped(false);
                }
                self.output.stack_sampler.sample(pid);
                // The process continued while its stack was sampled, but its time was over.
                report.is_past_deadline = true;
            }
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            if pid != self.zygote.pid {
                self.kill_other_processes(pid, report);
            }
            let deadline = Instant::now() + ZYGOTE_REPLY_TIMEOUT;
            return self.wait(WaitConditions { deadline, call_pidfd, is_zygote_gone: false });
        }
    }

    /// Kills the processes that a killed call had started, at once: they would compete with the
    /// zygote, which has to report the call's end. The sweep kills those that start later.
    pub(super) fn kill_other_processes(&mut self, pid: i32, report: &mut InitReport) {
        let (process_scope, zygote) = (self.process_scope, self.zygote.pid);
        let list_others = || {
            let mut others = process_scope.other_pids(zygote);
            others.retain(|other| *other != pid);
            others
        };
        let stopped = processes::stop_all(list_others);
        report_leaked_processes(stopped.iter().copied(), report);
        for other in stopped {
            let _ = kill(Pid::from_raw(other), Signal::SIGKILL);
        }
    }

    /// Kills everything that the call left running, and names it in the report.
    pub(super) fn sweep(&mut self, report: &mut InitReport) -> Result<(), InitError> {
        for round in 0..=MAX_SWEEP_ROUNDS {
            processes::reap_ended();
            let others = self.process_scope.other_pids(self.zygote.pid);
            // The kernel ends a PID namespace with its init.
            let ends_anyway =
                report.unusable_reason.is_some() && self.process_scope == ProcessScope::Namespace;
            if others.is_empty() || ends_anyway {
                return Ok(());
            }
            if round == 0 && report.unusable_reason.is_none() && report.leaked_processes.is_empty()
            {
                report_leaked_processes(others.iter().copied(), report);
            }
            if round == MAX_SWEEP_ROUNDS {
                break;
            }
            self.kill_leaked_processes()?;
        }
        report.unusable_reason.get_or_insert("processes of the call could not be ended".to_owned());
        Ok(())
    }

    fn kill_leaked_processes(&mut self) -> Result<(), InitError> {
        if self.process_scope == ProcessScope::Namespace {
            // Sent from the zygote, `kill(-1)` reaches all processes but itself and init at once,
            // so that no fork escapes.
            if let Some(handler) = &mut self.zygote.notify_handler {
                handler.supervisor.permit_sweep();
            }
            if harness::send(&self.zygote.control, &harness::encode_sweep()).is_ok() {
                self.wait(WaitConditions::message_before(Instant::now() + ZYGOTE_REPLY_TIMEOUT))?;
            }
            return Ok(());
        }
        let (process_scope, zygote) = (self.process_scope, self.zygote.pid);
        processes::kill_all(|| process_scope.other_pids(zygote));
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }
}

/// The report: mechanisms of each limit before the call; usage, output and violations after it.
impl SandboxInit<'_> {
    pub(super) fn begin_report(&mut self, request: &InitRequest) -> Result<InitReport, InitError> {
        let limits = &request.limits;
        self.output.mailbox.take();
        self.output.mailbox.mark_running(request.request_number);
        self.begin_streams(limits.output_bytes);
        self.output.stack_sampler.begin();
        self.running.is_stopped = false;
        self.layer.apply_limits(limits)?;
        let mut enforced_by = self.limit_enforcer.list_mechanisms(limits, &self.layer);
        // This backend cannot pass GPUs on.
        let mut unenforced: Vec<Limit> =
            (limits.gpus > 0).then_some(Limit::Gpu).into_iter().collect();
        let faults = &request.conditions.faults;
        for (limit, by) in fault::list_mechanisms(faults, self.fault_support()) {
            match by {
                Some(mechanism) => drop(enforced_by.insert(limit, vec![mechanism])),
                None => unenforced.push(limit),
            }
        }
        if faults.iter().any(|fault| fault.mode == FaultMode::Cpu) {
            // The `cpu` fault is a processor share, so the mechanism of that limit enforces it.
            match enforced_by.get(&Limit::CpuShare).cloned() {
                Some(by) => drop(enforced_by.insert(Limit::FaultCpu, by)),
                None => unenforced.push(Limit::FaultCpu),
            }
        }
        for limit in self.limit_enforcer.list_unenforced(limits) {
            enforced_by.remove(&limit);
            unenforced.push(limit);
        }
        let notes = self.limit_enforcer.describe_uncounted_memory(limits).into_iter().collect();
        Ok(InitReport { enforced_by, unenforced, notes, ..InitReport::default() })
    }

    pub(super) fn finish_report(
        &mut self,
        report: &mut InitReport,
        limits: &CallLimits,
        max_rss_kib: Option<i64>,
    ) {
        report.stdout = self.output.out.take();
        report.stderr = self.output.err.take();
        report.stack_dumps = self.output.stack_sampler.take();
        if report.is_past_deadline {
            self.output.mailbox.discard_report();
        }
        let content = self.output.mailbox.take();
        (report.report_state, report.mailbox_request_number, report.mailbox) =
            (content.report_state, content.request_number, content.report);
        report.reported_violations = content.violations;
        report.unlisted_reported_violations = u64::from(content.unlisted);
        report.steps = content.steps;
        let used = self.layer.collect_changes();
        report.disk_full = used.is_full && limits.disk_bytes.is_some();
        let over = self.limit_enforcer.finish_call(report, limits, &used, max_rss_kib);
        if content.refused_fork {
            report.process_limit_hits = report.process_limit_hits.max(1);
        }
        report.killed = report.killed.or(over).or(self.layer.exceeded_at_end(limits, &used));
        report.files = used.files;
        report.violations = std::mem::take(&mut self.running.violations);
        report.unlisted_violations = std::mem::take(&mut self.running.unlisted_violations);
        if let Some(handler) = &mut self.zygote.notify_handler {
            report.pretended_syscalls = handler.supervisor.take_pretended();
            (report.outside_accesses, report.unlisted_accesses) =
                handler.supervisor.take_accesses();
        }
    }
}

/// Names processes that a call started and that were alive at its end.
fn report_leaked_processes(pids: impl Iterator<Item = i32>, report: &mut InitReport) {
    let named = pids.take(MAX_NAMED_PROCESSES).filter_map(processes::read_process);
    report.leaked_processes = named
        .filter(|process| !process.zombie)
        .map(|process| format!("{} ({})", process.name, process.pid))
        .collect();
}

#[expect(clippy::cast_sign_loss, reason = "clamped")]
fn seconds_to_ns(seconds: f64) -> u64 {
    (seconds.clamp(0.0, 1e9) * 1e9) as u64
}
