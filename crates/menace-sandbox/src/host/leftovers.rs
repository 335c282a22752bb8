//! Removes workspaces and processes that a killed Menace left behind.
//!
//! As with control groups, a workspace is a leftover when the process in its name is gone *and* its
//! lock is free: a Menace in another container may share the directory, but not the process ids.

#![expect(clippy::disallowed_methods, reason = "directories of its own, and `/proc`")]

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::discard::discard;
use crate::init::paths;

/// How often `/proc` is searched for leftover processes.
const MAX_KILL_ROUNDS: usize = 10;

/// The name continues with that of the sandbox's control group, which contains the process id of
/// its owner.
const WORKSPACE_PREFIX: &str = "work-of-";

/// The directory of one sandbox in the `landlock` tier.
pub(crate) fn workspace_path(below: &Path, owner: &str) -> PathBuf {
    below.join(format!("{WORKSPACE_PREFIX}{owner}"))
}

/// Takes the lock that shows that the file's owner is alive.
pub(crate) fn lock_shared(file: File) -> io::Result<File> {
    file.lock_shared().map(|()| file)
}

/// Takes the lock of a leftover, to be held until it is removed; `None` when it is none. `owner` is
/// the part of its name that identifies its owner.
pub(crate) fn lock_abandoned(path: &Path, owner: &str) -> Option<File> {
    if crate::cgroup::owner_is_alive(owner) != Some(false) {
        return None;
    }
    File::open(path).ok().filter(|file| file.try_lock().is_ok())
}

/// Removes workspaces whose owner is dead; returns how many.
pub(crate) fn purge_workspaces(below: &Path, guest: u32) -> usize {
    let own = nix::unistd::geteuid().as_raw();
    let Ok(entries) = fs::read_dir(below) else { return 0 };
    let mut removed = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(|name| name.strip_prefix(WORKSPACE_PREFIX)) else {
            continue;
        };
        // Any user can create a directory of that name in a directory for temporary files.
        let is_ours = entry.metadata().is_ok_and(|found| {
            found.is_dir() && (found.uid() == own || own == 0 && found.uid() == guest)
        });
        if is_ours && let Some(_lock) = lock_abandoned(&entry.path(), owner) {
            remove_workspace(&entry.path());
            removed += 1;
        }
    }
    removed
}

/// Removes a workspace; if that fails, the next Menace tries again.
pub(crate) fn remove_workspace(path: &Path) {
    kill_workspace_processes(path);
    if let Err(error) = discard(path) {
        tracing::warn!("cannot remove `{}`: {error}", path.display());
    }
}

/// Init kills its guests itself, unless it was killed. Without namespaces the kernel does not do it
/// either, so the guests are found by the `HOME` or `TMPDIR` that init gave them.
fn kill_workspace_processes(workspace: &Path) {
    let given =
        [("HOME", paths::HOME_SUBDIR), ("TMPDIR", paths::TMP_SUBDIR)].map(|(name, inner)| {
            let value = workspace.join("sandbox/box").join(inner);
            [name.as_bytes(), b"=", value.as_os_str().as_bytes()].concat()
        });
    for _ in 0..MAX_KILL_ROUNDS {
        let mut found = false;
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|entry| given.iter().any(|g| g == entry)) {
                found = true;
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        if !found {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cancel::CancelToken;
    use super::super::workspace::SandboxWorkspace;
    use super::*;

    #[test]
    fn other_users_can_neither_read_nor_take_a_workspace() {
        let below = tempfile::tempdir().unwrap();
        let name = "menace-4194305-1-1";
        let create = || SandboxWorkspace::create(below.path(), name, None, &CancelToken::default());
        let mask = nix::sys::stat::umask(nix::sys::stat::Mode::empty());
        let workspace = create().unwrap();
        nix::sys::stat::umask(mask);
        let path = workspace.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        drop(workspace);
        // Where another user was first, there is none.
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), &path).unwrap();
        assert!(create().is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(create().is_err());
        assert!(path.exists(), "what is not ours is left");
    }

    #[test]
    fn a_workspace_of_another_user_is_not_removed() {
        let below = tempfile::tempdir().unwrap();
        let path = workspace_path(below.path(), "menace-4194305-1-2");
        fs::create_dir(&path).unwrap();
        // Only root can give a directory to another user.
        let is_given = std::os::unix::fs::chown(&path, Some(4321), Some(4321)).is_ok();
        assert_eq!(is_given, nix::unistd::geteuid().is_root());
        let (guest, is_removed) = (1234, usize::from(!is_given));
        assert_eq!(purge_workspaces(below.path(), guest), is_removed);
        assert_eq!(path.exists(), is_given);
    }

    /// As another container sees it: the owner's process is not on this machine.
    #[test]
    fn a_workspace_is_purged_only_once_its_lock_is_free() {
        let below = tempfile::tempdir().unwrap();
        let own = nix::unistd::geteuid().as_raw();
        let dead = "menace-4194305-1-0";
        let workspace =
            SandboxWorkspace::create(below.path(), dead, None, &CancelToken::default()).unwrap();
        let path = workspace.path().to_owned();
        assert_eq!(purge_workspaces(below.path(), own), 0);
        assert!(path.exists());
        drop(workspace);
        fs::create_dir(&path).unwrap();
        assert_eq!(purge_workspaces(below.path(), own), 1);
        assert!(!path.exists());
    }
}
