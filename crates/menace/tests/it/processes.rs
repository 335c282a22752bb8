//! Looks at processes and control groups from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Waits until something is so; false when it did not become so in time.
pub(crate) fn wait_until(limit: Duration, is_so: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while !is_so() {
        if started.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// State and parent of a process.
fn state_and_parent(pid: i32) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold spaces and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    state_and_parent(pid).map(|(_, parent)| parent)
}

/// The name of the program, or the one that a process gave itself.
pub(crate) fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// A zombie only waits to be counted.
pub(crate) fn is_alive(pid: i32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| !matches!(state, 'Z' | 'X'))
}

/// Children, their children, and so on.
pub(crate) fn descendants(pid: i32) -> Vec<i32> {
    let all: Vec<(i32, i32)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, state_and_parent(pid)?.1)))
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// Control groups that a Menace with this number made.
pub(crate) fn control_groups_of(pid: u32) -> Vec<PathBuf> {
    fn collect_groups(directory: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path());
            } else {
                collect_groups(&entry.path(), prefix, found);
            }
        }
    }
    let mut found = Vec::new();
    collect_groups(Path::new("/sys/fs/cgroup"), &format!("menace-{pid}-"), &mut found);
    found
}
