//! Names of groups, and removal of groups that a killed Menace left behind.
//!
//! A name contains its owner: `menace-<pid>-<start of pid in clock ticks>-<n>`. A group is a
//! leftover when that process is gone *and* no process holds the lock on its directory: the first
//! alone would be wrong for a Menace in another PID namespace, the second alone between `mkdir` and
//! the lock.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::mounts::{self, CgroupMount};
use super::{CgroupController, CgroupError, CgroupResult, CgroupVersion, group, kill, v1};

/// The deepest directory searched; service managers nest less.
const MAX_SEARCH_DEPTH: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CgroupOwner {
    pid: u32,
    started_ticks: u64,
}

impl CgroupOwner {
    fn parse_name(name: &str) -> Option<Self> {
        let mut fields = name.strip_prefix("menace-")?.split('-');
        let owner =
            Self { pid: fields.next()?.parse().ok()?, started_ticks: fields.next()?.parse().ok()? };
        fields.next()?.parse::<u64>().ok()?;
        fields.next().is_none().then_some(owner)
    }

    /// Parses `/proc/<pid>/stat`; a zombie owns no group any more.
    fn parse_stat(stat: &str) -> Option<Self> {
        // The program's name may contain spaces and parentheses.
        let (pid, rest) = stat.split_once(' ')?;
        let mut fields = rest.rsplit_once(')')?.1.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        Some(Self { pid: pid.parse().ok()?, started_ticks: fields.nth(18)?.parse().ok()? })
    }

    fn is_alive(self) -> bool {
        fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .ok()
            .and_then(|stat| Self::parse_stat(&stat))
            .is_some_and(|found| found == self)
    }
}

/// A name that no other group has.
pub(crate) fn next_name() -> CgroupResult<String> {
    static NEXT_GROUP_NUMBER: AtomicU64 = AtomicU64::new(0);
    // The pid as this procfs shows it, since that is where other processes will look it up.
    let path = Path::new("/proc/self/stat");
    let stat = fs::read_to_string(path)
        .map_err(|source| CgroupError::Read { path: path.to_owned(), source })?;
    let owner = CgroupOwner::parse_stat(&stat)
        .ok_or_else(|| CgroupError::MalformedStat { path: path.to_owned() })?;
    let n = NEXT_GROUP_NUMBER.fetch_add(1, Ordering::Relaxed);
    Ok(format!("menace-{}-{}-{n}", owner.pid, owner.started_ticks))
}

/// Whether the `menace` process named by `name` is alive, as far as this PID namespace shows;
/// `None` when it is not the name of a group.
pub(crate) fn owner_is_alive(name: &str) -> Option<bool> {
    CgroupOwner::parse_name(name).map(CgroupOwner::is_alive)
}

/// What [`purge_leftovers`] did.
#[derive(Debug, Default)]
pub(crate) struct PurgedCgroups {
    /// Number of groups, each counted once however many directories it had.
    pub(crate) groups: usize,
    /// Directories that could not be removed.
    pub(crate) failed: Vec<CgroupError>,
}

/// Removes the groups of owners that are not alive any more, with what still runs in them.
pub(crate) fn purge_leftovers() -> CgroupResult<PurgedCgroups> {
    let path = Path::new("/proc/self/mountinfo");
    let mountinfo = fs::read_to_string(path)
        .map_err(|source| CgroupError::Read { path: path.to_owned(), source })?;
    let mut purged = PurgedCgroups::default();
    let mut names = BTreeSet::new();
    for mount in mounts::parse_mounts(&mountinfo)
        .iter()
        .filter(|mount| mount.writable && may_hold_groups(mount))
    {
        for leftover in find_dead_groups(&mount.mount_point) {
            match purge_group(&leftover) {
                Ok(true) => {
                    names.extend(leftover.file_name().map(ToOwned::to_owned));
                }
                Ok(false) => {}
                Err(error) => purged.failed.push(error),
            }
        }
    }
    purged.groups = names.len();
    Ok(purged)
}

fn may_hold_groups(mount: &CgroupMount) -> bool {
    mount.version == CgroupVersion::CgroupV2
        || CgroupController::ALL.iter().any(|&one| {
            let name = v1::v1_name(one);
            mount.options.iter().any(|option| option == name)
        })
}

/// Directories named after a `menace` process that is not alive.
fn find_dead_groups(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(top.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            match entry.file_name().to_str().and_then(CgroupOwner::parse_name) {
                Some(owner) if owner.is_alive() => {}
                Some(_) => found.push(entry.path()),
                None if depth < MAX_SEARCH_DEPTH => open.push((entry.path(), depth + 1)),
                None => {}
            }
        }
    }
    found
}

/// Removes one group; false when it is in use, gone, or another user's.
fn purge_group(path: &Path) -> CgroupResult<bool> {
    // The directory stays open, and locked, until it is removed, so that two purges do not count it
    // twice.
    let Ok(directory) = File::open(path) else {
        return Ok(false);
    };
    // Only that user or root may remove another user's group.
    let own = nix::unistd::geteuid();
    if !own.is_root() && directory.metadata().is_ok_and(|found| found.uid() != own.as_raw()) {
        return Ok(false);
    }
    if directory.try_lock().is_err() {
        return Ok(false);
    }
    group::remove_directory(path, || {
        kill_group_processes(path);
        Ok(())
    })?;
    Ok(true)
}

fn kill_group_processes(path: &Path) {
    let write = |file: &str, value: &str| {
        OpenOptions::new()
            .write(true)
            .open(path.join(file))
            .and_then(|mut file| std::io::Write::write_all(&mut file, value.as_bytes()))
            .is_ok()
    };
    if write("cgroup.kill", "1") {
        return;
    }
    if let Ok(procs) = File::open(path.join("cgroup.procs")) {
        kill::kill_each(&procs);
    }
    // The owner may have died while the group was frozen; frozen processes do not die of a signal.
    write("freezer.state", "THAWED");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_owner() {
        let owner = CgroupOwner { pid: 12, started_ticks: 345 };
        assert_eq!(CgroupOwner::parse_name("menace-12-345-0"), Some(owner));
        for other in ["menace-12-345", "menace-12-345-x", "menace-a-1-2", "menace-1-2-3-4", "x"] {
            assert_eq!(CgroupOwner::parse_name(other), None, "{other}");
        }
    }

    #[test]
    fn our_own_names_differ_and_their_owner_is_alive() {
        let (one, other) = (next_name().unwrap(), next_name().unwrap());
        assert_ne!(one, other);
        assert_eq!(owner_is_alive(&one), Some(true));
        assert_eq!(owner_is_alive("menace-4194305-1-0"), Some(false));
        assert_eq!(owner_is_alive("something-else"), None);
    }

    #[test]
    fn the_start_is_read_past_a_name_with_parentheses() {
        let stat = "7 (a) b) (c) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let owner = CgroupOwner::parse_stat(stat).unwrap();
        assert_eq!((owner.pid, owner.started_ticks), (7, 98765));
        assert_eq!(CgroupOwner::parse_stat(&stat.replace(") S", ") Z")), None);
    }

    #[test]
    fn another_process_of_the_same_number_is_not_the_owner() {
        let owner = CgroupOwner::parse_name(&next_name().unwrap()).unwrap();
        let reused = CgroupOwner { started_ticks: owner.started_ticks + 1, ..owner };
        assert!(!reused.is_alive());
    }
}
