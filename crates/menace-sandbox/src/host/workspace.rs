//! A directory of its own for one sandbox that has no mounts.
//!
//! Invariant: it goes with its owner here, whatever the sandbox came to; if that is killed, the next
//! Menace removes it.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use super::cancel::{Cancel, Kept};
use super::leftovers;
use crate::wire::messages::Identity;

#[derive(Debug)]
pub(crate) struct Workspace {
    path: PathBuf,
    /// Tells other Menaces, whatever PID namespace they are in, that somebody is at work here.
    _lock: File,
    // Given up once the directory is gone.
    _kept: Kept,
}

impl Workspace {
    /// `user` must be able to use it, and nobody else. Who cancels can wait for its end.
    pub(crate) fn make(
        below: &Path,
        name: &str,
        user: Option<Identity>,
        cancel: &Cancel,
    ) -> io::Result<Self> {
        let path = leftovers::workspace(below, name);
        let kept = cancel.keep_directory();
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = File::open(&path).and_then(leftovers::locked).and_then(|lock| {
            let Some(Identity { uid, gid }) = user else { return Ok(lock) };
            chown(&path, Some(uid), Some(gid)).map(|()| lock)
        });
        let lock = lock.inspect_err(|_| leftovers::remove_workspace(&path))?;
        Ok(Self { path, _lock: lock, _kept: kept })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        leftovers::remove_workspace(&self.path);
    }
}
