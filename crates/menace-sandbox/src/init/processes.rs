//! Who is alive in the sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// How long ending everything may take; the host loses patience a little later.
const ENDING: Duration = Duration::from_millis(400);
/// How often a list is made before those who are on it are killed.
const STOPS: usize = 20;

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
            Self::Descendants => descendants(),
        };
        let own = i32::try_from(std::process::id()).unwrap_or(1);
        pids.retain(|&pid| pid != own && pid != zygote);
        pids
    }
}

fn numbers_in_proc() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    entries.flatten().filter_map(number).collect()
}

fn descendants() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(1);
    let (mut found, mut waiting) = (Vec::new(), vec![own]);
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

/// Ends everybody below the init, for sandboxes that have no namespace to do it. Orphans come to
/// the init as long as it lives, so nobody gets out of sight.
pub(crate) fn end_descendants() {
    let patience = Instant::now() + ENDING;
    while Instant::now() < patience {
        while waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL))
            .is_ok_and(|status| status.pid().is_some())
        {}
        if descendants().is_empty() {
            return;
        }
        end(descendants);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills all who are listed. They are stopped first, until no new ones appear: whoever is killed
/// makes room for another fork of those who are not.
pub(crate) fn end(listed: impl Fn() -> Vec<i32>) {
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
    for pid in stopped {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
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

/// User and system time that a process used so far, in clock ticks.
pub(crate) fn cpu_ticks(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
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
