//! Who is alive in the sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::sys;

const NANOS_PER_TICK: u64 = 10_000_000;
/// How often a list is made before those who are on it are killed.
const STOPS: usize = 20;
/// How long to wait for those who were killed before looking again: at first, and at most.
const SOON: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_millis(50);
/// How long the host tries to end what an init left; nothing that can be ended takes as long.
const ENDING: Duration = Duration::from_secs(2);

/// Without a user namespace the kernel counts all that the user runs: room for another sandbox of
/// the same Menace that starts while a call runs.
const NEIGHBOURS: u64 = 5;

/// Processes of the sandbox beside the init and the zygote, found in one of two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Census {
    /// Everybody in `/proc`, which shows this sandbox only.
    Namespace,
    /// Descendants of the init, which adopts its orphans.
    Descendants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub pid: i32,
    pub name: String,
    pub zombie: bool,
}

impl Census {
    /// Everybody but the init and the zygote.
    pub(crate) fn others(self, zygote: i32) -> Vec<i32> {
        let mut pids = match self {
            Self::Namespace => numbers_in_proc(),
            Self::Descendants => descendants_of(own()),
        };
        let own = own();
        pids.retain(|&pid| pid != own && pid != zygote);
        pids
    }

    /// How many threads the kernel counts against a limit on processes now, and how many more may
    /// come that are none of the call's.
    pub(crate) fn counted(self) -> u64 {
        match self {
            // The one who waits outside for the end of PID 1 is in the user namespace, too.
            Self::Namespace => {
                numbers_in_proc()
                    .into_iter()
                    .filter_map(threads)
                    .map(|(_, count)| count)
                    .sum::<u64>()
                    + 1
            }
            Self::Descendants => threads_of(nix::unistd::getuid().as_raw()) + NEIGHBOURS,
        }
    }
}

/// All threads of these processes.
pub(crate) fn threads_in(pids: impl Iterator<Item = i32>) -> u64 {
    pids.filter_map(threads).map(|(_, count)| count).sum()
}

/// All threads of a user, wherever they came from.
pub(crate) fn threads_of(user: u32) -> u64 {
    let listed = numbers_in_proc().into_iter().filter_map(threads);
    listed.filter(|(owner, _)| *owner == user).map(|(_, count)| count).sum()
}

/// The user and the number of threads of a process.
fn threads(pid: i32) -> Option<(u32, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let user = field("Uid:")?.split_whitespace().next()?.parse().ok()?;
    Some((user, field("Threads:")?.trim().parse().ok()?))
}

fn numbers_in_proc() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(number).collect()
}

fn own() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(1)
}

/// Everybody who descends from this process.
fn descendants_of(top: i32) -> Vec<i32> {
    let (mut found, mut waiting) = (Vec::new(), vec![top]);
    while let Some(pid) = waiting.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let Ok(children) = fs::read_to_string(task.path().join("children")) else { continue };
            for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
                found.push(child);
                waiting.push(child);
            }
        }
    }
    found
}

/// Ends everybody below the init when it leaves, however it leaves; for sandboxes that have no
/// namespace to do it. Orphans come to the init as long as it lives, so nobody gets out of sight.
#[derive(Debug)]
pub(crate) struct EndDescendants;

impl Drop for EndDescendants {
    fn drop(&mut self) {
        let mut pause = SOON;
        while reap_ended() {
            end(|| descendants_of(own()));
            std::thread::sleep(pause);
            pause = (pause * 2).min(LATER);
        }
    }
}

/// Takes note of children that have ended; whether there are others.
pub(crate) fn reap_ended() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// From outside: ends an init that does not leave by itself, after everybody below it. It is
/// stopped meanwhile, and keeps adopting their orphans.
pub(crate) fn end_with_descendants(init: i32) {
    let _ = kill(Pid::from_raw(init), Signal::SIGSTOP);
    let patience = Instant::now() + ENDING;
    let is_alive = |pid: &i32| look_at(*pid).is_some_and(|process| !process.zombie);
    while Instant::now() < patience {
        if !descendants_of(init).iter().any(is_alive) {
            break;
        }
        end(|| descendants_of(init));
        std::thread::sleep(SOON);
    }
    let _ = kill(Pid::from_raw(init), Signal::SIGKILL);
}

/// Kills all who are listed. They are stopped first, until no new ones appear: whoever is killed
/// makes room for another fork of those who are not.
pub(crate) fn end(listed: impl Fn() -> Vec<i32>) {
    for pid in stop(listed) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Stops all who are listed, until no new ones appear.
pub(crate) fn stop(listed: impl Fn() -> Vec<i32>) -> BTreeSet<i32> {
    let mut stopped = BTreeSet::new();
    for _ in 0..STOPS {
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

/// Name and state; nothing when it is gone already.
pub(crate) fn look_at(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (name, rest) = (stat.find('(')?, stat.rfind(')')?);
    Some(Process {
        pid,
        name: stat.get(name + 1..rest)?.to_owned(),
        zombie: stat.get(rest + 2..)?.starts_with('Z'),
    })
}

/// Processor time that a process used so far, and its children whose end it has seen, in nanoseconds.
/// Orphans are not reaped before the call is over, so that theirs counts until then.
pub(crate) fn cpu_ns(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut times = stat.get(stat.rfind(')')? + 2..)?.split(' ').skip(11).take(4);
    let mut both = || Some(ticks(times.next()?)? + ticks(times.next()?)?);
    let (own, children) = (both()?, both()?);
    // What is told in clock ticks leaves out the rest of two of them: much for who has few.
    Some(sys::cpu_clock_ns(pid).unwrap_or(own) + children)
}

fn ticks(written: &str) -> Option<u64> {
    written.parse::<u64>().ok().map(|ticks| ticks * NANOS_PER_TICK)
}

/// Resident memory that is not files, in bytes; what is shared with others counts.
pub(crate) fn memory_bytes(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    };
    Some((field("RssAnon:")? + field("RssShmem:")?) << 10)
}

/// What counts against the limit on data, in bytes.
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
