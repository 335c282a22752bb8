//! Enforces a call's limits with what this machine offers, and measures usage.
//!
//! The kernel enforces control groups and the size of the writable layer; for the rest, init checks
//! the usage every [`MONITOR_INTERVAL`].

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use menace_model::{CallLimits, Limit, LimitEnforcement, LimitMechanism};

use super::cpu_throttle::CpuThrottle;
use super::layer::{
    BLOCK_BYTES, DEFAULT_DISK_LIMIT_BYTES, LayerChanges, WritableLayer, round_up_to_blocks,
};
use super::open_files::HiddenUsage;
use super::peak_memory::PeakMemoryEstimate;
use super::processes::{self, CpuTally, ProcessMemory, ProcessScope};
use crate::cgroup::{CgroupController, CgroupCpuUsage, CgroupFiles, CgroupVersion};
use crate::sys;
use crate::wire::messages::{InitReport, KillReason};

/// How often usage is checked.
pub(crate) const MONITOR_INTERVAL: Duration = Duration::from_millis(10);
const MIB: u64 = 1 << 20;
/// How exact measured memory is: the kernel counts in batches per processor, and the interpreter
/// writes to some of its own pages whatever it runs.
const MEMORY_TOLERANCE_BYTES: u64 = MIB;
/// Kernel memory that a file on a tmpfs takes, in bytes.
const MEMORY_PER_FILE_BYTES: u64 = 2048;

/// How much data all pipes of a user may hold, in pages; then each further pipe has two.
const PIPE_PAGES_PATH: &str = "/proc/sys/fs/pipe-user-pages-soft";
const PAGE_BYTES: u64 = 4096;

/// Usage before the call, which is subtracted from later readings.
#[derive(Debug, Default, Clone, Copy)]
struct UsageAtStart {
    cpu: CgroupCpuUsage,
    /// All memory that the group is charged for.
    memory: u64,
    /// The part of it that processes hold; not read when no limit needs it.
    process_bytes: Option<u64>,
}

/// Counters of the group, which count since it was made, at the last reading.
#[derive(Debug, Default, Clone, Copy)]
struct CgroupEventCounts {
    oom_kills: u64,
    process_hits: u64,
}

/// The hard limits that the zygote got at its start; a call's own limit cannot be higher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitCeilings {
    pub open_files: u64,
    /// Set when no control group counts processes.
    pub processes: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct LimitEnforcer {
    group: Option<CgroupFiles>,
    process_scope: ProcessScope,
    zygote: i32,
    ceilings: LimitCeilings,
    /// Set while a call or an import is under way.
    start: Option<UsageAtStart>,
    event_counts: CgroupEventCounts,
    /// How much memory the group had at the call's peak and no more at its end.
    transient_bytes: Option<u64>,
    /// The limits written to the group last; they are written again only when they change.
    applied_limits: Option<AppliedLimits>,
    /// Data segment of the zygote after the import: not part of a call's usage.
    zygote_data: u64,
    zygote_memory: ProcessMemory,
    /// What the zygote holds through descriptors.
    zygote_hidden: HiddenUsage,
    zygote_resident: u64,
    /// Whether an import is under way: then the zygote's own usage counts.
    is_importing: bool,
    /// Processor time of the call's processes, ended ones too; only where no group counts it.
    cpu_counter: Option<File>,
    /// The same where there is no counter: of ended processes, what was seen.
    cpu_tally: CpuTally,
    /// Bytes read and written by the zygote and all that it has reaped, when last seen.
    io: (u64, u64),
    peak_memory_bytes: u64,
    /// Whether processor time counts also of processes that ended and were not waited for.
    counts_cpu_of_ended: bool,
    /// How much memory pipes may hold that no control group counts; nothing where one does.
    uncounted_pipe_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct AppliedLimits {
    memory: Option<u64>,
    disk: u64,
    cpu_share: Option<f64>,
    processes: u64,
}

impl LimitEnforcer {
    pub(crate) fn new(
        group: Option<CgroupFiles>,
        process_scope: ProcessScope,
        zygote: i32,
        ceilings: LimitCeilings,
    ) -> Self {
        let has =
            |controller| group.as_ref().is_some_and(|group| group.version(controller).is_some());
        let counts_memory = has(CgroupController::Memory);
        let counts_cpu_of_ended =
            has(CgroupController::Cpuacct) || sys::open_cpu_counter(zygote).is_ok();
        Self {
            counts_cpu_of_ended,
            uncounted_pipe_bytes: (!counts_memory).then(read_pipe_capacity),
            group,
            process_scope,
            zygote,
            ceilings,
            start: None,
            event_counts: CgroupEventCounts::default(),
            transient_bytes: None,
            applied_limits: None,
            zygote_data: 0,
            zygote_memory: ProcessMemory::default(),
            zygote_hidden: HiddenUsage::default(),
            zygote_resident: 0,
            is_importing: false,
            cpu_counter: None,
            cpu_tally: CpuTally::default(),
            io: (0, 0),
            peak_memory_bytes: 0,
        }
    }

    /// Measures the zygote again, whose own size does not count for a call.
    pub(crate) fn measure_zygote(&mut self) {
        self.zygote_data = processes::data_bytes(self.zygote).unwrap_or(0);
        self.zygote_memory = ProcessMemory::read(self.zygote).unwrap_or_default();
        self.zygote_hidden = HiddenUsage::measure([self.zygote].into_iter(), Path::new("/"));
        self.zygote_resident = processes::resident_bytes(self.zygote).unwrap_or(0);
        self.io = processes::io_bytes(self.zygote).unwrap_or(self.io);
        self.event_counts = self.read_event_counts();
        self.applied_limits = None;
    }

    fn read_event_counts(&self) -> CgroupEventCounts {
        let Some(group) = &self.group else { return CgroupEventCounts::default() };
        CgroupEventCounts {
            oom_kills: group.oom_kills().unwrap_or(0),
            process_hits: group.pids_limit_hits().unwrap_or(0),
        }
    }

    /// Sets whether the zygote itself is subject to the limits, as it is during the import.
    pub(crate) fn set_importing(&mut self, is_importing: bool) {
        self.is_importing = is_importing;
    }

    /// Applies the limits and reads the usage, before the call starts.
    pub(crate) fn begin_call(&mut self, limits: &CallLimits) -> io::Result<()> {
        self.peak_memory_bytes = 0;
        self.transient_bytes = None;
        self.cpu_counter = None;
        self.cpu_tally = CpuTally::since_now(self.is_importing.then_some(self.zygote).into_iter());
        let mut start = UsageAtStart::default();
        if let Some(group) = &mut self.group {
            let applied = AppliedLimits {
                memory: limits.memory_bytes,
                disk: round_up_to_blocks(limits.disk_bytes.unwrap_or(DEFAULT_DISK_LIMIT_BYTES)),
                cpu_share: limits.cpu_share,
                processes: limits.processes,
            };
            if self.applied_limits != Some(applied) {
                apply_group_limits(group, applied)?;
                self.applied_limits = Some(applied);
            }
            let _ = group.reset_peak_memory();
            start.cpu = group.cpu_usage().unwrap_or_default();
            start.memory = group.memory_usage().unwrap_or(0);
            if limits.memory_bytes.is_some() || self.is_importing {
                start.process_bytes = group.process_memory().ok();
            }
        }
        self.start = Some(start);
        Ok(())
    }

    /// On the process of the call, before it may go.
    pub(crate) fn limit_process(&mut self, pid: i32, limits: &CallLimits) -> io::Result<()> {
        let counts_cpu = self.has_controller(CgroupController::Cpuacct);
        if !counts_cpu && (limits.cpu_ms.is_some() || limits.cpu_share.is_some()) {
            self.cpu_counter = sys::open_cpu_counter(pid).ok();
        }
        let set = |resource, value| sys::set_process_limit(pid, resource, value);
        if let Some(cpu) = limits.cpu_ms {
            // The kernel limits whole seconds only; init's own checks are exact.
            set(sys::Resource::Cpu, cpu.div_ceil(1000) + 1)?;
        }
        if let Some(memory) = limits.memory_bytes {
            // With a control group this stops only a single huge allocation, with an exception that
            // shows its place instead of a kill that does not.
            let slack =
                if self.counts_memory() { memory.max(256 * MIB) } else { MEMORY_TOLERANCE_BYTES };
            set(sys::Resource::Data, self.zygote_data + memory + slack)?;
        }
        if let Some(disk) = limits.disk_bytes {
            set(sys::Resource::Fsize, disk)?;
        }
        if let Some(most) = self.ceilings.processes {
            // Existing processes do not count for the call; its first process is one of them.
            let all = limits.processes.saturating_add(self.process_scope.count_threads());
            set(sys::Resource::Nproc, all.min(most))?;
        }
        set(sys::Resource::Nofile, limits.open_files.min(self.ceilings.open_files))
    }

    fn has_controller(&self, controller: CgroupController) -> bool {
        self.group.as_ref().is_some_and(|group| group.version(controller).is_some())
    }

    fn counts_memory(&self) -> bool {
        self.has_controller(CgroupController::Memory)
    }

    /// Checks the usage once; returns the limit for which the call has to be killed.
    pub(crate) fn find_exceeded_limit(
        &mut self,
        limits: &CallLimits,
        layer: &WritableLayer,
        until: Instant,
    ) -> Option<KillReason> {
        if let Some(allowed) = limits.cpu_ms
            && self.cpu_ns() / 1_000_000 > allowed
        {
            return Some(KillReason::Cpu);
        }
        if let Some(allowed) = limits.memory_bytes {
            let used = self.memory_now(layer, until);
            self.peak_memory_bytes = self.peak_memory_bytes.max(used);
            if used > allowed.saturating_add(MEMORY_TOLERANCE_BYTES) {
                return Some(KillReason::Memory);
            }
        }
        let over = limits.disk_bytes.is_some_and(|allowed| {
            let nameless = self.nameless_file_bytes(layer);
            nameless > allowed || layer.exceeds_disk_limit(allowed - nameless, until)
        });
        over.then_some(KillReason::Disk)
    }

    /// The processes of the call, or of the import.
    fn pids(&self) -> Vec<i32> {
        let mut pids = self.process_scope.other_pids(self.zygote);
        pids.extend(self.is_importing.then_some(self.zygote));
        pids
    }

    /// What of the call's files is in no directory; not looked for where the kernel counts it.
    fn nameless_file_bytes(&self, layer: &WritableLayer) -> u64 {
        match layer {
            WritableLayer::Overlay(_) => 0,
            WritableLayer::Copied(copied) => {
                HiddenUsage::measure(self.pids().into_iter(), copied.top()).nameless_files
            }
        }
    }

    /// What enforces the share of the processors where no control group does.
    pub(crate) fn cpu_throttle(&self, limits: &CallLimits) -> Option<CpuThrottle> {
        let share = limits.cpu_share.filter(|_| !self.has_controller(CgroupController::Cpu))?;
        (!self.is_importing).then(|| CpuThrottle::new(share, Instant::now()))
    }

    /// Whether as many processes and threads exist as the limit allows, where the kernel does not
    /// count refused forks.
    pub(crate) fn is_process_limit_reached(&self, limits: &CallLimits) -> bool {
        if self.has_controller(CgroupController::Pids) {
            return false;
        }
        // The first one does not count.
        processes::count_threads_in(self.pids().into_iter()) > limits.processes
    }

    /// Processor time of the call so far.
    pub(crate) fn cpu_ns(&mut self) -> u64 {
        if let Some(group) = &self.group
            && let Ok(now) = group.cpu_usage()
        {
            let start = self.start.unwrap_or_default();
            return now.total_ns.saturating_sub(start.cpu.total_ns);
        }
        if let Some(counter) = &self.cpu_counter
            && let Ok(used) = sys::read_cpu_counter(counter)
        {
            return used;
        }
        let pids = self.pids();
        self.cpu_tally.update(pids.into_iter())
    }

    /// Memory of the call at present, without its files.
    fn memory_now(&self, layer: &WritableLayer, until: Instant) -> u64 {
        if let (Some(group), Some(UsageAtStart { process_bytes: Some(before), .. })) =
            (&self.group, self.start)
            && let Ok(now) = group.process_memory()
        {
            let used = now.saturating_sub(before).saturating_sub(layer.bytes_in_memory(until));
            // The group's own limit has room for files, which page tables must not take.
            let pids = self.pids().into_iter();
            let page_tables = pids.filter_map(ProcessMemory::read).map(|used| used.page_tables);
            let before = self.zygote_memory.page_tables;
            return used + page_tables.map(|bytes| bytes.saturating_sub(before)).sum::<u64>();
        }
        let pids = self.pids();
        let (mut private, mut shared) = (0, 0);
        for used in pids.iter().filter_map(|pid| ProcessMemory::read(*pid)) {
            // A fork starts with the zygote's pages, which it shares.
            private += used.private.saturating_sub(self.zygote_memory.private);
            shared += used.shared.saturating_sub(self.zygote_memory.shared);
        }
        let hidden = HiddenUsage::measure(pids.into_iter(), &layer.layer_root());
        let before = self.zygote_hidden;
        let memory_files = hidden.memory_files.saturating_sub(before.memory_files);
        // What is mapped of these files is in both figures.
        private + shared.max(memory_files) + hidden.sockets.saturating_sub(before.sockets)
    }

    /// Reads the peak of the group once the processes of the call are gone, and before anything
    /// else allocates memory.
    pub(crate) fn sample_usage(&mut self, layer: &WritableLayer, until: Instant) {
        let Some(start) = self.start else { return };
        if self.is_importing {
            self.peak_memory_bytes = self.peak_memory_bytes.max(self.memory_now(layer, until));
        }
        let Some(group) = &self.group else { return };
        if let (Ok(Some(peak)), Ok(now)) = (group.peak_memory(), group.memory_usage()) {
            // Not the call's are: caches and files, which are still charged at the end, and the
            // zygote and the waiting fork, which were charged at the start. The larger of both
            // figures is subtracted.
            self.transient_bytes = Some(peak.saturating_sub(now.max(start.memory)));
        }
    }

    /// Adds the call's usage to the report, once its processes are gone; returns the memory limit
    /// if it was exceeded between two checks.
    pub(crate) fn finish_call(
        &mut self,
        report: &mut InitReport,
        limits: &CallLimits,
        used: &LayerChanges,
        max_rss_kib: Option<i64>,
    ) -> Option<KillReason> {
        // The kernel adds the I/O of a process to its parent when it is reaped; that parent is the
        // zygote.
        if let Some(now) = processes::io_bytes(self.zygote) {
            let (read, written) = std::mem::replace(&mut self.io, now);
            report.bytes_read = report.bytes_read.max(now.0.saturating_sub(read));
            report.bytes_written = report.bytes_written.max(now.1.saturating_sub(written));
        }
        let start = self.start.take()?;
        if let Some(group) = &self.group {
            if let Ok(now) = group.cpu_usage() {
                let used = now.since(start.cpu);
                (report.user_ns, report.system_ns) = (used.user_ns, used.system_ns);
            }
            let (before, now) = (self.event_counts, self.read_event_counts());
            report.oom_kills = now.oom_kills.saturating_sub(before.oom_kills);
            report.process_limit_hits += now.process_hits.saturating_sub(before.process_hits);
            self.event_counts = now;
        }
        let output_bytes = report.stdout.total_bytes + report.stderr.total_bytes;
        let first = max_rss_kib.map_or(0, |rss| rss.unsigned_abs() * 1024);
        let estimate = PeakMemoryEstimate {
            transient_bytes: self.transient_bytes.take(),
            first_process_bytes: first.saturating_sub(self.zygote_resident),
            removed_file_bytes: report
                .bytes_written
                .saturating_sub(output_bytes + used.written.bytes),
        };
        // The memory that the import keeps is still in use, and is added.
        let kept = if self.is_importing { self.peak_memory_bytes } else { 0 };
        let used = self.peak_memory_bytes.max(kept + estimate.group_bytes());
        report.peak_memory_bytes = used.max(kept + estimate.peak_bytes());
        let over = limits
            .memory_bytes
            .is_some_and(|allowed| used > allowed.saturating_add(MEMORY_TOLERANCE_BYTES));
        over.then_some(KillReason::Memory)
    }

    /// Requested limits that a call can evade by more than the limit itself.
    pub(crate) fn list_unenforced(&self, limits: &CallLimits) -> Vec<Limit> {
        let is_cpu_evaded = limits.cpu_ms.is_some() && !self.counts_cpu_of_ended;
        is_cpu_evaded.then_some(Limit::Cpu).into_iter().collect()
    }

    /// What does not count for the memory limit, where that is much in comparison with the limit.
    pub(crate) fn describe_uncounted_memory(&self, limits: &CallLimits) -> Option<String> {
        let (limit, pipes) = (limits.memory_bytes?, self.uncounted_pipe_bytes?);
        (limit <= pipes).then(|| {
            let pipes = match pipes {
                u64::MAX => "data in pipes".to_owned(),
                bytes => format!("{} MiB of data in pipes", bytes / MIB),
            };
            format!(
                "without a control group, {pipes} (and 8 KiB in each further pipe), and files in \
                 memory whose descriptors wait in a socket, do not count for the memory limit"
            )
        })
    }

    /// The mechanisms that enforce each requested limit.
    pub(crate) fn list_mechanisms(
        &self,
        limits: &CallLimits,
        layer: &WritableLayer,
    ) -> LimitEnforcement {
        let mut by = LimitEnforcement::new();
        let version = |controller: CgroupController| -> Vec<LimitMechanism> {
            let found = self.group.as_ref().and_then(|group| group.version(controller));
            let mechanism = |version| match version {
                CgroupVersion::CgroupV1 => LimitMechanism::CgroupV1,
                CgroupVersion::CgroupV2 => LimitMechanism::CgroupV2,
            };
            found.map(mechanism).into_iter().collect()
        };
        let version_or = |controller: CgroupController, otherwise: LimitMechanism| {
            let found = version(controller);
            if found.is_empty() { vec![otherwise] } else { found }
        };
        by.insert(Limit::Timeout, vec![LimitMechanism::Monitor]);
        by.insert(Limit::Output, vec![LimitMechanism::Monitor]);
        by.insert(Limit::OpenFiles, vec![LimitMechanism::Rlimit]);
        if limits.cpu_ms.is_some() {
            by.insert(Limit::Cpu, vec![LimitMechanism::Rlimit, LimitMechanism::Monitor]);
        }
        if limits.cpu_share.is_some() {
            by.insert(Limit::CpuShare, version_or(CgroupController::Cpu, LimitMechanism::Sigstop));
        }
        if limits.memory_bytes.is_some() {
            let mut mechanisms = version(CgroupController::Memory);
            mechanisms.extend([LimitMechanism::Rlimit, LimitMechanism::Monitor]);
            by.insert(Limit::Memory, mechanisms);
        }
        if limits.disk_bytes.is_some() {
            let mechanisms = match layer {
                WritableLayer::Overlay(_) => vec![LimitMechanism::TmpfsSize],
                WritableLayer::Copied(_) => vec![LimitMechanism::Rlimit, LimitMechanism::Monitor],
            };
            by.insert(Limit::Disk, mechanisms);
        }
        by.insert(Limit::Processes, version_or(CgroupController::Pids, LimitMechanism::Rlimit));
        by
    }
}

#[expect(clippy::disallowed_methods, reason = "a file of the kernel, below `/proc`")]
fn read_pipe_capacity() -> u64 {
    let pages = std::fs::read_to_string(PIPE_PAGES_PATH);
    let pages = pages.ok().and_then(|pages| pages.trim().parse::<u64>().ok());
    // Zero is no limit.
    pages.filter(|pages| *pages > 0).map_or(u64::MAX, |pages| pages.saturating_mul(PAGE_BYTES))
}

/// Whether a limit has to be checked while the call runs.
pub(crate) fn needs_monitor(limits: &CallLimits, layer: &WritableLayer) -> bool {
    limits.cpu_ms.is_some()
        || limits.memory_bytes.is_some()
        || matches!(layer, WritableLayer::Copied(_)) && limits.disk_bytes.is_some()
}

fn apply_group_limits(group: &mut CgroupFiles, limits: AppliedLimits) -> io::Result<()> {
    let usage = group.memory_usage().unwrap_or(0);
    // Files of the call are in memory too, and have a limit of their own.
    let files = limits.disk.saturating_add(limits.disk / BLOCK_BYTES * MEMORY_PER_FILE_BYTES);
    let hard = limits.memory.map(|memory| usage.saturating_add(memory).saturating_add(files));
    ignore_missing(group.set_memory_limit(hard))?;
    ignore_missing(group.set_cpu_share(limits.cpu_share))?;
    // The zygote and the call's first process do not count for the call.
    ignore_missing(group.set_pids_limit(Some(limits.processes + 2)))
}

/// Ignores a missing controller, which the outcome reports.
fn ignore_missing(result: crate::cgroup::CgroupResult<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(crate::cgroup::CgroupError::Unavailable { .. }) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enforcer() -> LimitEnforcer {
        let ceilings = LimitCeilings { open_files: 1024, processes: None };
        let own = processes::own_pid();
        LimitEnforcer::new(None, ProcessScope::Descendants, own, ceilings)
    }

    #[test]
    fn processor_time_that_ended_children_hide_is_not_enforced() {
        let enforcer = |counts_cpu_of_ended| LimitEnforcer { counts_cpu_of_ended, ..enforcer() };
        let limits = CallLimits { cpu_ms: Some(100), ..CallLimits::default() };
        assert_eq!(enforcer(false).list_unenforced(&limits), [Limit::Cpu]);
        assert_eq!(enforcer(true).list_unenforced(&limits), []);
        assert_eq!(enforcer(false).list_unenforced(&CallLimits::default()), []);
    }

    #[test]
    fn uncounted_memory_is_noted_where_it_is_much() {
        let enforcer = |pipes| LimitEnforcer { uncounted_pipe_bytes: pipes, ..enforcer() };
        let note = |pipes, memory_bytes| {
            let limits = CallLimits { memory_bytes, ..CallLimits::default() };
            enforcer(pipes).describe_uncounted_memory(&limits)
        };
        assert_eq!(note(None, Some(1)), None);
        assert_eq!(note(Some(64 * MIB), None), None);
        assert_eq!(note(Some(64 * MIB), Some(65 * MIB)), None);
        assert!(note(Some(64 * MIB), Some(64 * MIB)).unwrap().contains("64 MiB of data in pipes"));
        assert!(note(Some(u64::MAX), Some(512 * MIB)).unwrap().contains(", data in pipes"));
        // What this machine says, as a figure.
        assert!(enforcer(Some(read_pipe_capacity())).uncounted_pipe_bytes.unwrap() >= PAGE_BYTES);
    }
}
