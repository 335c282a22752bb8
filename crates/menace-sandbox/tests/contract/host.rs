//! What the host looks like from here: processes, mounts, control groups, descriptors.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use menace_sandbox::Tier;
use tempfile::TempDir;

/// What the sandboxes of one bench show on this very machine while they live: processes, and
/// directories for those that have no mounts. A backend that runs calls elsewhere shows nothing.
#[derive(Debug)]
pub(crate) struct HostTraces {
    tier: Tier,
    /// In the environment of every guest, to find its processes by.
    marker: String,
    workspaces: TempDir,
}

impl HostTraces {
    pub(crate) fn new(tier: Tier, repo: &Path) -> Self {
        let workspaces = TempDir::with_prefix("work-").expect("a workspace can be made");
        // The guest is another user; it needs access to its copy.
        fs::set_permissions(workspaces.path(), fs::Permissions::from_mode(0o711)).expect("ours");
        let marker = format!("menace-test-{}-{}", std::process::id(), repo.display());
        Self { tier, marker, workspaces }
    }

    pub(crate) fn variable(&self) -> (String, String) {
        ("MENACE_TEST_MARKER".to_owned(), self.marker.clone())
    }

    pub(crate) fn workspaces(&self) -> &Path {
        self.workspaces.path()
    }

    /// Between two calls there are only the processes that idle sandboxes have: the init, with
    /// namespaces its parent, the interpreter, and the one that waits to become the next call.
    pub(crate) fn assert_idle(&self) {
        let processes = all_children();
        // Another sandbox may start or end meanwhile, so sandboxes are counted in the same list.
        let own = std::process::id();
        let is_sandbox = |pid: &&u32| parent(**pid).is_none_or(|parent| parent == own);
        let sandboxes = processes.iter().filter(is_sandbox).count();
        let idle = sandboxes * if self.tier.has_namespaces() { 4 } else { 3 };
        let left: Vec<String> = processes.into_iter().map(describe_process).collect();
        assert!(left.len() <= idle, "processes were left: {left:?}");
    }

    /// Nothing is left of any sandbox.
    pub(crate) fn assert_gone(&self) {
        let left = [processes_with_marker(&self.marker), descendants()].concat();
        assert_eq!(left, Vec::<String>::new(), "processes were left");
        let entries = fs::read_dir(self.workspaces.path()).expect("still there").flatten();
        let left: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "directories were left: {left:?}");
    }
}

/// All descendants of this process, parents first.
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
    all_children().into_iter().map(describe_process).collect()
}

/// Found by the parent that each process names: the lists of threads lose a child for a moment
/// when the thread that started it ends.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|child| parent(*child) == Some(pid)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold spaces and parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn describe_process(pid: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// All processes of this machine that have the text in the environment, whatever their parent is.
pub(crate) fn processes_with_marker(marker: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(marker.len()).any(|window| window == marker.as_bytes())
    };
    pids.filter(has).map(describe_process).collect()
}

/// All processes of this machine that were started with this argument.
pub(crate) fn started_with(argument: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes())
    };
    pids.filter(has).map(describe_process).collect()
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
