//! Lists, measures, stops and kills the processes of a sandbox.

#![expect(clippy::disallowed_methods, reason = "files of the kernel, below `/proc`")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::sys;

const NANOS_PER_TICK: u64 = 10_000_000;
/// Times that the kernel tells a parent are in whole microseconds, those of threads each.
const CLAIMED_CPU_ROUNDING_NS: u64 = 1_000_000;
/// How often the processes are listed and stopped before they are killed.
const MAX_STOP_ROUNDS: usize = 20;
/// The first and the longest pause between killing processes and listing them again.
const MIN_KILL_PAUSE: Duration = Duration::from_millis(1);
const MAX_KILL_PAUSE: Duration = Duration::from_millis(50);
/// How long the host tries to kill what an init left behind; processes that can be killed take
/// less.
const KILL_INIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Without a user namespace the kernel counts all processes of the user: this leaves room for
/// another sandbox of Menace that starts while a call runs.
const OTHER_SANDBOX_THREADS: u64 = 5;

/// How the processes of the sandbox beside init and zygote are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessScope {
    /// All processes in `/proc`, which shows this sandbox only.
    Namespace,
    /// Descendants of the init, which adopts its orphans.
    Descendants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessInfo {
    pub pid: i32,
    pub name: String,
    pub zombie: bool,
}

/// What a process is doing, and how often it has slept so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessActivity {
    state: String,
    sleeps: String,
}

impl ProcessActivity {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let sleeps = field("voluntary_ctxt_switches:")?.to_owned();
        Some(Self { state: field("State:")?.trim().to_owned(), sleeps })
    }

    /// Neither running nor busy with a disk.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.state.starts_with(['R', 'D'])
    }
}

impl ProcessScope {
    /// All processes but init and zygote.
    pub(crate) fn other_pids(self, zygote: i32) -> Vec<i32> {
        let mut pids = match self {
            Self::Namespace => list_pids(),
            Self::Descendants => list_descendants(own_pid()),
        };
        let own = own_pid();
        pids.retain(|&pid| pid != own && pid != zygote);
        pids
    }

    /// How many threads the kernel counts against the limit now, and how many may be added that are
    /// not the call's.
    pub(crate) fn count_threads(self) -> u64 {
        match self {
            // The process that waits outside for PID 1 is in the user namespace, too.
            Self::Namespace => {
                list_pids()
                    .into_iter()
                    .filter_map(read_owner_and_threads)
                    .map(|(_, count)| count)
                    .sum::<u64>()
                    + 1
            }
            Self::Descendants => {
                count_threads_of_user(nix::unistd::getuid().as_raw()) + OTHER_SANDBOX_THREADS
            }
        }
    }
}

/// The number of threads of these processes.
pub(crate) fn count_threads_in(pids: impl Iterator<Item = i32>) -> u64 {
    pids.filter_map(read_owner_and_threads).map(|(_, count)| count).sum()
}

/// The number of threads of a user on the whole machine.
pub(crate) fn count_threads_of_user(user: u32) -> u64 {
    let listed = list_pids().into_iter().filter_map(read_owner_and_threads);
    listed.filter(|(owner, _)| *owner == user).map(|(_, count)| count).sum()
}

/// The user and the number of threads of a process.
fn read_owner_and_threads(pid: i32) -> Option<(u32, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let user = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
    Some((user, field("Threads:")?.trim().parse().ok()?))
}

fn list_pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(number).collect()
}

/// The init of a sandbox with namespaces, given the process that started it.
pub(crate) fn namespaced_init(starter: i32) -> Option<i32> {
    list_children(starter).first().copied()
}

fn list_children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")));
    let parse = |list: String| -> Vec<i32> {
        list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
    };
    lists.flatten().flat_map(parse).collect()
}

pub(crate) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(1)
}

/// All descendants of this process.
fn list_descendants(top: i32) -> Vec<i32> {
    let (mut found, mut waiting) = (Vec::new(), vec![top]);
    while let Some(pid) = waiting.pop() {
        let children = list_children(pid);
        found.extend(&children);
        waiting.extend(children);
    }
    found
}

/// Kills all descendants of init when it exits, for whatever reason, where no namespace does. Init
/// adopts orphans as long as it lives, so no descendant is missed.
#[derive(Debug)]
pub(crate) struct KillDescendantsOnDrop;

impl Drop for KillDescendantsOnDrop {
    fn drop(&mut self) {
        let mut pause = MIN_KILL_PAUSE;
        while reap_ended() {
            kill_all(|| list_descendants(own_pid()));
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_KILL_PAUSE);
        }
    }
}

/// Reaps children that have ended; true when there are others.
pub(crate) fn reap_ended() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// Called on the host: kills all descendants of an init that does not exit by itself, then init. It
/// is stopped meanwhile, and still adopts orphans.
pub(crate) fn kill_with_descendants(init: i32) {
    let _ = kill(Pid::from_raw(init), Signal::SIGSTOP);
    let deadline = Instant::now() + KILL_INIT_TIMEOUT;
    let is_alive = |pid: &i32| read_process(*pid).is_some_and(|process| !process.zombie);
    while Instant::now() < deadline {
        if !list_descendants(init).iter().any(is_alive) {
            break;
        }
        kill_all(|| list_descendants(init));
        std::thread::sleep(MIN_KILL_PAUSE);
    }
    let _ = kill(Pid::from_raw(init), Signal::SIGKILL);
}

/// Kills all listed processes. They are stopped first, until no new ones appear: otherwise each
/// killed process would make room for another fork.
pub(crate) fn kill_all(listed: impl Fn() -> Vec<i32>) {
    for pid in stop_all(listed) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Stops all listed processes, until no new ones appear.
pub(crate) fn stop_all(listed: impl Fn() -> Vec<i32>) -> BTreeSet<i32> {
    let mut stopped = BTreeSet::new();
    for _ in 0..MAX_STOP_ROUNDS {
        let fresh: Vec<i32> = listed().into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if fresh.is_empty() {
            break;
        }
        for pid in fresh {
            let _ = kill(Pid::from_raw(pid), Signal::SIGSTOP);
        }
    }
    stopped
}

/// Name and state of a process; nothing when it is gone.
pub(crate) fn read_process(pid: i32) -> Option<ProcessInfo> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = (stat.find('(')?, stat.rfind(')')?);
    Some(ProcessInfo {
        pid,
        name: stat.get(name + 1..rest)?.to_owned(),
        zombie: stat.get(rest + 2..)?.starts_with('Z'),
    })
}

/// How a process ended, as the kernel keeps it until the parent has reaped that process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessEnd {
    pub parent: i32,
    /// The wait status.
    pub status: i32,
    /// Processor time of the process, and of the children that it waited for.
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
}

impl ProcessEnd {
    /// Nothing when the process has not ended, or is reaped.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&stat, sys::cpu_clock_ns(pid).ok())
    }

    /// `own_cpu_ns`: more exact than the ticks of the process itself.
    fn parse(stat: &str, own_cpu_ns: Option<u64>) -> Option<Self> {
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split_whitespace().collect();
        if *fields.first()? != "Z" {
            return None;
        }
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let (user, system, children_user, children_system) =
            (ticks(11)?, ticks(12)?, ticks(13)?, ticks(14)?);
        let own = own_cpu_ns.unwrap_or((user + system) * NANOS_PER_TICK);
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            status: fields.get(49)?.parse().ok()?,
            cpu_ns: own + (children_user + children_system) * NANOS_PER_TICK,
            user_ticks: user + children_user,
            system_ticks: system + children_system,
        })
    }

    /// User and system time in nanoseconds. The claimed ones are more exact, and are taken as far
    /// as the kernel's figures allow.
    pub(crate) fn cpu_times(&self, claimed: Option<(u64, u64)>) -> (u64, u64) {
        // Both times of the children are cut to whole ticks.
        let most = self.cpu_ns.saturating_add(2 * NANOS_PER_TICK);
        let least = self.cpu_ns.saturating_sub(CLAIMED_CPU_ROUNDING_NS);
        let is_possible =
            |(user, system): &(u64, u64)| (least..=most).contains(&user.saturating_add(*system));
        claimed.filter(is_possible).unwrap_or_else(|| {
            let ticks = u128::from(self.user_ticks + self.system_ticks).max(1);
            let system = u128::from(self.cpu_ns) * u128::from(self.system_ticks) / ticks;
            let system = u64::try_from(system).unwrap_or(u64::MAX);
            (self.cpu_ns.saturating_sub(system), system)
        })
    }
}

/// Adds up the processor time of processes that come and go.
#[derive(Debug, Default)]
pub(crate) struct CpuTally {
    total_ns: u64,
    last_seen: BTreeMap<i32, CpuTimes>,
}

/// Processor time of a process so far, and of its children whose end it has seen, in nanoseconds.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CpuTimes {
    own: u64,
    children: u64,
}

impl CpuTimes {
    /// Orphans are not reaped before the call is over, so that theirs counts until then.
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut times = stat.get(stat.rfind(')')? + 2..)?.split(' ').skip(11).take(4);
        let mut both = || Some(ticks_to_ns(times.next()?)? + ticks_to_ns(times.next()?)?);
        let (own, children) = (both()?, both()?);
        // Figures in clock ticks leave out fractions of two ticks: much for a short process.
        Some(Self { own: sys::cpu_clock_ns(pid).unwrap_or(own), children })
    }
}

impl CpuTally {
    /// What these processes have used already does not count.
    pub(crate) fn since_now(pids: impl Iterator<Item = i32>) -> Self {
        let mut tally = Self::default();
        tally.update(pids);
        Self { total_ns: 0, ..tally }
    }

    /// Looks at all processes, and says how much they and earlier ones have used.
    pub(crate) fn update(&mut self, pids: impl Iterator<Item = i32>) -> u64 {
        let times = pids.filter_map(|pid| Some((pid, CpuTimes::read(pid)?)));
        self.add(times.collect())
    }

    fn add(&mut self, now: BTreeMap<i32, CpuTimes>) -> u64 {
        let (mut own, mut children) = (0, 0);
        for (pid, times) in &now {
            let before = self.last_seen.get(pid).copied().unwrap_or_default();
            own += times.own.saturating_sub(before.own);
            children += times.children.saturating_sub(before.children);
        }
        // What ended was counted as far as it was seen. Its parent has all of it, if it waited.
        let ended = self.last_seen.iter().filter(|(pid, _)| !now.contains_key(pid));
        let counted: u64 = ended.map(|(_, times)| times.own + times.children).sum();
        self.total_ns += own + children.saturating_sub(counted);
        self.last_seen = now;
        self.total_ns
    }
}

fn ticks_to_ns(written: &str) -> Option<u64> {
    written.parse::<u64>().ok().map(|ticks| ticks * NANOS_PER_TICK)
}

/// Memory of one process, in bytes.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ProcessMemory {
    /// Resident, in no file; the page tables, too.
    pub private: u64,
    /// Of these, the page tables.
    pub page_tables: u64,
    /// Resident, and maybe shared with other processes.
    pub shared: u64,
}

impl ProcessMemory {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
        };
        let page_tables = field("VmPTE:")?;
        let private = field("RssAnon:")? + page_tables;
        Some(Self { private, page_tables, shared: field("RssShmem:")? })
    }
}

/// The bytes that count for `RLIMIT_DATA`.
pub(crate) fn data_bytes(pid: i32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let data: u64 = statm.split(' ').nth(5)?.parse().ok()?;
    Some(data * 4096)
}

/// Resident memory with everything that is mapped, files included, in bytes.
pub(crate) fn resident_bytes(pid: i32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let resident: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(resident * 4096)
}

/// Bytes read and written through system calls.
pub(crate) fn io_bytes(pid: i32) -> Option<(u64, u64)> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field = |name: &str| {
        io.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok()
    };
    Some((field("rchar:")?, field("wchar:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seen: &[(i32, u64, u64)]) -> BTreeMap<i32, CpuTimes> {
        seen.iter().map(|&(pid, own, children)| (pid, CpuTimes { own, children })).collect()
    }

    /// Of a process with this state, ticks and exit status.
    fn stat(state: &str, ticks: [u64; 4], status: i32) -> String {
        let [user, system, children_user, children_system] = ticks;
        let zeros = |count: usize| "0 ".repeat(count);
        let times = format!("{user} {system} {children_user} {children_system}");
        format!("77 (a ) Z (b) {state} 5 {}{times} {}{status}\n", zeros(9), zeros(34))
    }

    #[test]
    fn the_end_of_a_process_is_read_unless_it_lives() {
        let end = ProcessEnd::parse(&stat("Z", [1, 2, 3, 4], 139), Some(31_000_000)).unwrap();
        assert_eq!((end.parent, end.status, end.cpu_ns), (5, 139, 101_000_000));
        let end = ProcessEnd::parse(&stat("Z", [1, 2, 3, 4], 0), None).unwrap();
        assert_eq!((end.status, end.cpu_ns), (0, 100_000_000));
        assert_eq!(ProcessEnd::parse(&stat("S", [1, 2, 3, 4], 0), None), None);
        assert_eq!(ProcessEnd::parse("77 (a) Z 5 0", None), None);
        assert_eq!(ProcessEnd::read(own_pid()), None);
    }

    #[test]
    fn claimed_times_are_believed_as_far_as_the_kernel_allows() {
        let end = ProcessEnd::parse(&stat("Z", [3, 1, 0, 0], 0), Some(40_000_000)).unwrap();
        assert_eq!(end.cpu_times(Some((33_000_000, 6_999_000))), (33_000_000, 6_999_000));
        for claimed in [None, Some((1000, 1000)), Some((80_000_000, 0)), Some((u64::MAX, 9))] {
            assert_eq!(end.cpu_times(claimed), (30_000_000, 10_000_000), "{claimed:?}");
        }
        let short = ProcessEnd::parse(&stat("Z", [0; 4], 0), Some(700_000)).unwrap();
        assert_eq!(short.cpu_times(None), (700_000, 0));
    }

    #[test]
    fn a_child_counts_once_whether_or_not_its_parent_waits_for_it() {
        for (children, total) in [(0, 55), (70, 75)] {
            let mut tally = CpuTally::default();
            assert_eq!(tally.add(times(&[(1, 1, 0)])), 1);
            assert_eq!(tally.add(times(&[(1, 2, 0), (2, 50, 0)])), 52);
            assert_eq!(tally.add(times(&[(1, 5, children)])), total);
            assert_eq!(tally.add(times(&[])), total);
        }
    }
}
