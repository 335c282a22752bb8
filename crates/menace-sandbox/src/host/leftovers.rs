//! What a Menace that was killed could not remove: the next one does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Workspaces carry the name of the sandbox's control group, which tells whose they are.
const PREFIX: &str = "work-of-";

/// A directory for one sandbox that has no mounts.
pub(crate) fn workspace(below: &Path, owner: &str) -> PathBuf {
    below.join(format!("{PREFIX}{owner}"))
}

/// Removes workspaces whose owner is dead; says how many.
pub(crate) fn purge_workspaces(below: &Path) -> usize {
    let Ok(entries) = fs::read_dir(below) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
            continue;
        };
        if crate::cgroup::owner_is_alive(owner) == Some(false) {
            remove_workspace(&entry.path());
            removed += 1;
        }
    }
    removed
}

/// Removes a directory that a guest has had its hands on.
pub(crate) fn remove_workspace(path: &Path) {
    fn open_up(path: &Path) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        if found.is_dir() {
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                open_up(&entry.path());
            }
        }
    }
    if fs::remove_dir_all(path).is_err() {
        open_up(path);
        let _ = fs::remove_dir_all(path);
    }
}
