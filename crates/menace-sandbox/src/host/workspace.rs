//! The directory of one sandbox in the `landlock` tier.
//!
//! Invariant: dropping the value removes the directory, whatever happened to the sandbox; if Menace
//! is killed, the next one removes it.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use super::cancel::{CancelToken, CountedDirectory};
use super::leftovers;
use crate::wire::messages::UserIdentity;

#[derive(Debug)]
pub(crate) struct SandboxWorkspace {
    path: PathBuf,
    /// Shows other Menace processes, in whatever PID namespace, that this directory is in use.
    _lock: File,
    // Dropped after the directory has been removed.
    _counted: CountedDirectory,
}

impl SandboxWorkspace {
    /// Creates a directory that only `user` can use. `cancel` can wait for its removal.
    #[expect(clippy::disallowed_methods, reason = "a new directory; one that exists is an error")]
    pub(crate) fn create(
        below: &Path,
        name: &str,
        user: Option<UserIdentity>,
        cancel: &CancelToken,
    ) -> io::Result<Self> {
        let path = leftovers::workspace_path(below, name);
        let kept = cancel.count_directory();
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::open(&path).and_then(leftovers::lock_shared).and_then(|lock| {
            let Some(UserIdentity { uid, gid }) = user else { return Ok(lock) };
            chown(&path, Some(uid), Some(gid)).map(|()| lock)
        });
        let lock = lock.inspect_err(|_| leftovers::remove_workspace(&path))?;
        Ok(Self { path, _lock: lock, _counted: kept })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SandboxWorkspace {
    fn drop(&mut self) {
        leftovers::remove_workspace(&self.path);
    }
}
