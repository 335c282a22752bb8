//! Holds a call to its limits, with whatever this machine has, and measures what it used.
//!
//! Control groups and the size of the writable layer are the kernel's; what they cannot do, the
//! init watches itself, every [`TICK`].

use std::io;
use std::time::{Duration, Instant};

use menace_model::{EnforcedBy, Limit, Limits, Mechanism};

use super::layer::{BLOCK, Layer, Used, WITHOUT_LIMIT, in_blocks};
use super::peak::Ended;
use super::processes::{self, Census};
use super::ration::Ration;
use crate::cgroup::{Controller, CpuUsage, GroupFiles, Version};
use crate::sys;
use crate::wire::messages::{Killed, Report};

/// How often the monitor looks.
pub(crate) const TICK: Duration = Duration::from_millis(10);
const MIB: u64 = 1 << 20;
/// How exactly memory can be told: the kernel counts in lots, one per processor, and the interpreter
/// writes to some of its own pages whatever it runs.
const GRAIN: u64 = MIB;
/// What the kernel remembers about a file in memory, in bytes of memory.
const PER_FILE: u64 = 2048;

/// What was in use before the call: all later figures are differences.
#[derive(Debug, Default, Clone, Copy)]
struct Start {
    cpu: CpuUsage,
    /// All memory of the group.
    memory: u64,
    /// What of it processes hold themselves; nothing when nobody wants to know.
    held: Option<u64>,
}

/// What happened in the group, ever, when last seen.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    oom_kills: u64,
    process_hits: u64,
}

/// What the zygote was given; a call's own limit cannot be higher.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceilings {
    pub open_files: u64,
    /// When no control group counts processes.
    pub processes: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Keeper {
    group: Option<GroupFiles>,
    census: Census,
    zygote: i32,
    ceilings: Ceilings,
    /// Set while a call or an import is under way.
    start: Option<Start>,
    seen: Seen,
    /// What the group had at the height of the call and had not at its end.
    transient: Option<u64>,
    /// What the group was last told, to tell it again only when it changes.
    told: Option<Told>,
    /// Data segment of the zygote, once its module is imported.
    zygote_data: u64,
    zygote_memory: u64,
    zygote_resident: u64,
    /// Processor time of the zygote before an import, while one is under way: then what it takes
    /// is what counts.
    importing: Option<u64>,
    /// Bytes read and written by the zygote and all that it has reaped, when last seen.
    io: (u64, u64),
    peak_seen: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Told {
    memory: Option<u64>,
    disk: u64,
    cpu_share: Option<f64>,
    processes: u64,
}

impl Keeper {
    pub(crate) fn new(
        group: Option<GroupFiles>,
        census: Census,
        zygote: i32,
        ceilings: Ceilings,
    ) -> Self {
        Self {
            group,
            census,
            zygote,
            ceilings,
            start: None,
            seen: Seen::default(),
            transient: None,
            told: None,
            zygote_data: 0,
            zygote_memory: 0,
            zygote_resident: 0,
            importing: None,
            io: (0, 0),
            peak_seen: 0,
        }
    }

    /// The zygote's own size is not the call's: looks at it again.
    pub(crate) fn weigh_zygote(&mut self) {
        self.zygote_data = processes::data_bytes(self.zygote).unwrap_or(0);
        self.zygote_memory = processes::memory_bytes(self.zygote).unwrap_or(0);
        self.zygote_resident = processes::resident_bytes(self.zygote).unwrap_or(0);
        self.io = processes::io_bytes(self.zygote).unwrap_or(self.io);
        self.seen = self.look();
        self.told = None;
    }

    fn look(&self) -> Seen {
        let Some(group) = &self.group else { return Seen::default() };
        Seen {
            oom_kills: group.oom_kills().unwrap_or(0),
            process_hits: group.pids_limit_hits().unwrap_or(0),
        }
    }

    /// Whether the zygote itself has to keep to the limits: it does while it imports.
    pub(crate) fn watch_zygote(&mut self, watch: bool) {
        self.importing = watch.then(|| processes::cpu_ns(self.zygote).unwrap_or(0));
    }

    /// Before the call may go.
    pub(crate) fn begin(&mut self, limits: &Limits) -> io::Result<()> {
        self.peak_seen = 0;
        self.transient = None;
        let mut start = Start::default();
        if let Some(group) = &mut self.group {
            let told = Told {
                memory: limits.memory_bytes,
                disk: in_blocks(limits.disk_bytes.unwrap_or(WITHOUT_LIMIT)),
                cpu_share: limits.cpu_share,
                processes: limits.processes,
            };
            if self.told != Some(told) {
                tell(group, told)?;
                self.told = Some(told);
            }
            let _ = group.reset_peak();
            start.cpu = group.cpu_usage().unwrap_or_default();
            start.memory = group.memory_usage().unwrap_or(0);
            if limits.memory_bytes.is_some() || self.importing.is_some() {
                start.held = group.memory_held().ok();
            }
        }
        self.start = Some(start);
        Ok(())
    }

    /// On the process of the call, before it may go.
    pub(crate) fn limit_process(&self, pid: i32, limits: &Limits) -> io::Result<()> {
        let set = |resource, value| sys::set_limit_of(pid, resource, value);
        if let Some(cpu) = limits.cpu_ms {
            // Whole seconds only; the monitor is exact.
            set(libc::RLIMIT_CPU, cpu.div_ceil(1000) + 1)?;
        }
        if let Some(memory) = limits.memory_bytes {
            // With a control group this is only for a single absurd demand, which then fails with
            // an exception that says where, instead of a kill that says nothing.
            let slack = if self.counts_memory() { memory.max(256 * MIB) } else { GRAIN };
            set(libc::RLIMIT_DATA, self.zygote_data + memory + slack)?;
        }
        if let Some(disk) = limits.disk_bytes {
            set(libc::RLIMIT_FSIZE, disk)?;
        }
        if let Some(most) = self.ceilings.processes {
            // Who is there already is none of the call's: its first process is among them.
            let all = limits.processes.saturating_add(self.census.counted());
            set(libc::RLIMIT_NPROC, all.min(most))?;
        }
        set(libc::RLIMIT_NOFILE, limits.open_files.min(self.ceilings.open_files))
    }

    fn has(&self, controller: Controller) -> bool {
        self.group.as_ref().is_some_and(|group| group.version(controller).is_some())
    }

    fn counts_memory(&self) -> bool {
        self.has(Controller::Memory)
    }

    /// One look of the monitor: what the call has to be killed for.
    pub(crate) fn exceeded(
        &mut self,
        limits: &Limits,
        layer: &Layer,
        until: Instant,
    ) -> Option<Killed> {
        if let Some(allowed) = limits.cpu_ms
            && self.cpu_ns() / 1_000_000 > allowed
        {
            return Some(Killed::Cpu);
        }
        if let Some(allowed) = limits.memory_bytes {
            let used = self.memory_now(layer, until);
            self.peak_seen = self.peak_seen.max(used);
            if used > allowed.saturating_add(GRAIN) {
                return Some(Killed::Memory);
            }
        }
        let over = limits.disk_bytes.is_some_and(|allowed| layer.exceeds(allowed, until));
        over.then_some(Killed::Disk)
    }

    /// What holds the share of the processors where no control group does.
    pub(crate) fn ration(&self, limits: &Limits) -> Option<Ration> {
        let share = limits.cpu_share.filter(|_| !self.has(Controller::Cpu))?;
        self.importing.is_none().then(|| Ration::new(share, Instant::now()))
    }

    /// Whether as many processes and threads are there as may be, where the kernel does not tell that
    /// it refused more.
    pub(crate) fn is_full(&self, limits: &Limits) -> bool {
        if self.has(Controller::Pids) {
            return false;
        }
        let importing = self.importing.map(|_| self.zygote);
        let all = self.census.others(self.zygote).into_iter().chain(importing);
        // The first one does not count.
        processes::threads_in(all) > limits.processes
    }

    /// Processor time of the call so far.
    pub(crate) fn cpu_ns(&self) -> u64 {
        if let Some(group) = &self.group
            && let Ok(now) = group.cpu_usage()
        {
            let start = self.start.unwrap_or_default();
            return now.total_ns.saturating_sub(start.cpu.total_ns);
        }
        let others = self.census.others(self.zygote);
        let own = self
            .importing
            .map_or(0, |before| processes::cpu_ns(self.zygote).unwrap_or(0).saturating_sub(before));
        own + others.into_iter().filter_map(processes::cpu_ns).sum::<u64>()
    }

    /// Memory of the call now, without its files.
    fn memory_now(&self, layer: &Layer, until: Instant) -> u64 {
        if let (Some(group), Some(Start { held: Some(before), .. })) = (&self.group, self.start)
            && let Ok(now) = group.memory_held()
        {
            return now.saturating_sub(before).saturating_sub(layer.bytes_in_memory(until));
        }
        // A fork starts with the zygote's pages, which it shares.
        let own =
            |pid| processes::memory_bytes(pid).map(|used| used.saturating_sub(self.zygote_memory));
        let zygote = self.importing.map(|_| self.zygote);
        self.census.others(self.zygote).into_iter().chain(zygote).filter_map(own).sum()
    }

    /// Once the processes of the call are gone, before anything else takes memory.
    pub(crate) fn take_stock(&mut self, layer: &Layer, until: Instant) {
        let Some(start) = self.start else { return };
        if self.importing.is_some() {
            self.peak_seen = self.peak_seen.max(self.memory_now(layer, until));
        }
        let Some(group) = &self.group else { return };
        if let (Ok(Some(peak)), Ok(now)) = (group.peak(), group.memory_usage()) {
            // Caches and files stay; what the waiting process had is gone with it, but is not the
            // call's: of the two, the larger is known not to be.
            self.transient = Some(peak.saturating_sub(now.max(start.memory)));
        }
    }

    /// What the call used, once its processes are gone; what it has to be told off for, if nobody
    /// looked at the right moment.
    pub(crate) fn finish(
        &mut self,
        report: &mut Report,
        limits: &Limits,
        used: &Used,
        max_rss_kib: Option<i64>,
    ) -> Option<Killed> {
        // The kernel adds what a process did to the account of who reaps it.
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
            let (before, now) = (self.seen, self.look());
            report.oom_kills = now.oom_kills.saturating_sub(before.oom_kills);
            report.process_limit_hits += now.process_hits.saturating_sub(before.process_hits);
            self.seen = now;
        }
        let told = report.stdout.total + report.stderr.total;
        let first = max_rss_kib.map_or(0, |rss| rss.unsigned_abs() * 1024);
        let ended = Ended {
            transient: self.transient.take(),
            first_process: first.saturating_sub(self.zygote_resident),
            removed_files: report.bytes_written.saturating_sub(told + used.written.bytes),
        };
        // The import's own memory stays, and comes on top.
        let kept = if self.importing.is_some() { self.peak_seen } else { 0 };
        let held = self.peak_seen.max(kept + ended.held());
        report.peak_memory_bytes = held.max(kept + ended.peak());
        let over = limits.memory_bytes.is_some_and(|allowed| held > allowed.saturating_add(GRAIN));
        over.then_some(Killed::Memory)
    }

    /// What holds each limit that was asked for.
    pub(crate) fn account(&self, limits: &Limits, layer: &Layer) -> EnforcedBy {
        let mut by = EnforcedBy::new();
        let version = |controller: Controller| -> Vec<Mechanism> {
            let found = self.group.as_ref().and_then(|group| group.version(controller));
            let mechanism = |version| match version {
                Version::CgroupV1 => Mechanism::CgroupV1,
                Version::CgroupV2 => Mechanism::CgroupV2,
            };
            found.map(mechanism).into_iter().collect()
        };
        by.insert(Limit::Timeout, vec![Mechanism::Monitor]);
        by.insert(Limit::Output, vec![Mechanism::Monitor]);
        by.insert(Limit::OpenFiles, vec![Mechanism::Rlimit]);
        if limits.cpu_ms.is_some() {
            by.insert(Limit::Cpu, vec![Mechanism::Rlimit, Mechanism::Monitor]);
        }
        if limits.cpu_share.is_some() {
            let mut held = version(Controller::Cpu);
            if held.is_empty() {
                held.push(Mechanism::Freezer);
            }
            by.insert(Limit::CpuShare, held);
        }
        if limits.memory_bytes.is_some() {
            let mut held = version(Controller::Memory);
            held.extend([Mechanism::Rlimit, Mechanism::Monitor]);
            by.insert(Limit::Memory, held);
        }
        if limits.disk_bytes.is_some() {
            let held = match layer {
                Layer::Overlay(_) => vec![Mechanism::TmpfsSize],
                Layer::Copied(_) => vec![Mechanism::Rlimit, Mechanism::Monitor],
            };
            by.insert(Limit::Disk, held);
        }
        let mut held = version(Controller::Pids);
        if held.is_empty() {
            held.push(Mechanism::Rlimit);
        }
        by.insert(Limit::Processes, held);
        by
    }
}

/// Does anything have to be watched while the call runs?
pub(crate) fn must_watch(limits: &Limits, layer: &Layer) -> bool {
    limits.cpu_ms.is_some()
        || limits.memory_bytes.is_some()
        || matches!(layer, Layer::Copied(_)) && limits.disk_bytes.is_some()
}

fn tell(group: &mut GroupFiles, told: Told) -> io::Result<()> {
    let usage = group.memory_usage().unwrap_or(0);
    // Files of the call live in memory too, and have a limit of their own.
    let files = told.disk.saturating_add(told.disk / BLOCK * PER_FILE);
    let hard = told.memory.map(|memory| usage.saturating_add(memory).saturating_add(files));
    ignore_missing(group.set_memory_limit(hard))?;
    ignore_missing(group.set_cpu_share(told.cpu_share))?;
    // The zygote and the call's first process are there in any case.
    ignore_missing(group.set_pids_limit(Some(told.processes + 2)))
}

/// A controller that is not there is reported with the outcome, not here.
fn ignore_missing(result: crate::cgroup::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(crate::cgroup::Error::Unavailable { .. }) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}
