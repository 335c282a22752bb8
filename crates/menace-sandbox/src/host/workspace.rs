//! A directory of its own for one sandbox that has no mounts.
//!
//! Invariant: it goes with its owner here, whatever the sandbox came to; if that is killed, the
//! next Menace removes it.

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
    /// Tells other Menaces, whatever PID namespace they are in, that this directory is in use.
    _lock: File,
    // Given up once the directory is gone.
    _counted: CountedDirectory,
}

impl SandboxWorkspace {
    /// `user` can use it, and no other user. `cancel` can wait for its removal.
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
