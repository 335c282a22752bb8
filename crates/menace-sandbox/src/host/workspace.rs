//! A directory of its own for one sandbox that has no mounts.
//!
//! Invariant: it goes with its owner here, whatever the sandbox came to; if that is killed, the next
//! Menace removes it.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use super::leftovers;
use crate::wire::messages::Identity;

#[derive(Debug)]
pub(crate) struct Workspace(PathBuf);

impl Workspace {
    /// `user` must be able to use it, and nobody else.
    pub(crate) fn make(below: &Path, name: &str, user: Option<Identity>) -> io::Result<Self> {
        let path = leftovers::workspace(below, name);
        DirBuilder::new().mode(0o700).create(&path)?;
        let workspace = Self(path);
        if let Some(Identity { uid, gid }) = user {
            chown(&workspace.0, Some(uid), Some(gid))?;
        }
        Ok(workspace)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        leftovers::remove_workspace(&self.0);
    }
}
