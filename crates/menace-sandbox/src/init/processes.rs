//! Who is alive in the sandbox.

use std::fs;

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

/// Resident memory that is not files, in bytes.
pub(crate) fn memory_bytes(pid: i32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let mut fields = statm.split(' ');
    let resident: u64 = fields.nth(1)?.parse().ok()?;
    let shared: u64 = fields.next()?.parse().ok()?;
    Some(resident.saturating_sub(shared) * 4096)
}

/// What counts against the limit on data, in bytes.
pub(crate) fn data_bytes(pid: i32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let data: u64 = statm.split(' ').nth(5)?.parse().ok()?;
    Some(data * 4096)
}

/// Bytes read and written through system calls.
pub(crate) fn io_bytes(pid: i32) -> Option<(u64, u64)> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field = |name: &str| {
        io.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok()
    };
    Some((field("rchar:")?, field("wchar:")?))
}
