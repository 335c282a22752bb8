//! What the host looks like from here: processes, mounts, control groups, descriptors.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Everybody who descends from this process, parents first.
pub(crate) fn all_children() -> Vec<u32> {
    let mut found = children(std::process::id());
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        found.extend(children(pid));
        at += 1;
    }
    found
}

/// The same by number, name and state.
pub(crate) fn descendants() -> Vec<String> {
    all_children().into_iter().map(described).collect()
}

pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    let lists: Vec<String> = tasks.flatten().filter_map(of_task).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|n| n.parse().ok()).collect()
}

fn described(pid: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Everybody on this machine who has the text in the environment, whoever is their parent.
pub(crate) fn processes_of(marker: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(marker.len()).any(|window| window == marker.as_bytes())
    };
    pids.filter(has).map(described).collect()
}

/// Everybody on this machine who was started with this argument.
pub(crate) fn started_with(argument: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
    };
    pids.filter(has).map(described).collect()
}

pub(crate) fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").expect("/proc is there")
}

/// Control groups that Menace made for this process.
pub(crate) fn groups() -> BTreeSet<PathBuf> {
    let own = format!("menace-{}-", std::process::id());
    let (mut found, mut waiting) = (BTreeSet::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with(&own) {
                    found.insert(entry.path());
                }
                waiting.push(entry.path());
            }
        }
    }
    found
}

/// What is behind the descriptors of this process.
pub(crate) fn descriptors() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc is there").flatten();
    // The one that reads this very directory is not counted.
    let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.filter(|target| !target.starts_with(own_proc())).collect()
}

fn own_proc() -> PathBuf {
    Path::new("/proc").join(std::process::id().to_string())
}

/// Resident memory of this process in bytes.
pub(crate) fn memory() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("/proc is there");
    let pages: u64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}
