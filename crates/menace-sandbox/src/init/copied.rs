//! The layer without mounts: a copy of the repository that is put right after each call.
//!
//! The guest cannot forge the change time of a file, so comparing it with what was recorded tells
//! what to mend. Invariant: after [`Copied::prepare`] the copy equals the repository (and what the
//! import left in it).

use std::fs;
use std::io;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use super::copying::copy;
use super::layer::{Used, Written};
use super::scan::Shut;
use super::touched::{Shown, Walk};
use super::tree::Tree;
use super::{During, InitError, paths};
use crate::wire::messages::{Identity, InitConfig};

/// Directories are held open one below the other: as many as anybody would nest.
const OPEN_FILES: u64 = 1 << 16;

#[derive(Debug)]
pub(crate) struct Copied {
    top: PathBuf,
    repo: Tree,
    /// Home and temporary directories.
    room: Tree,
    is_in_memory: bool,
}

impl Copied {
    /// Copies the repository into the workspace, for the guest's user.
    pub(crate) fn new(config: &InitConfig) -> Result<Self, InitError> {
        let workspace = config
            .workspace
            .as_ref()
            .ok_or_else(|| InitError::Refused("no workspace was given".to_owned()))?;
        let top = workspace.join("sandbox");
        let copied = Self {
            repo: Tree::new(top.join("repo"), workspace.join("original")),
            room: Tree::new(top.join("box"), workspace.join("original-box")),
            top,
            is_in_memory: statfs(workspace)
                .is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC),
        };
        getrlimit(Resource::RLIMIT_NOFILE)
            .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard.min(OPEN_FILES), hard))
            .during(|| "cannot raise the limit of open files".to_owned())?;
        copied
            .fill(config)
            .during(|| format!("cannot copy the repository to `{}`", workspace.display()))?;
        Ok(copied)
    }

    fn fill(&self, config: &InitConfig) -> io::Result<()> {
        let owner = config.drop_to;
        let room = self.room.original();
        let inside = paths::IN_BOX.iter().map(|name| room.join(name));
        for directory in [self.top.clone(), room.to_owned()].into_iter().chain(inside) {
            fs::create_dir(&directory)?;
            if let Some(Identity { uid, gid }) = owner {
                lchown(&directory, Some(uid), Some(gid))?;
            }
        }
        copy(&config.repo, self.repo.original(), owner, Shut::Refuse)
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn repo(&self) -> &Path {
        self.repo.live()
    }

    pub(crate) fn room(&self) -> &Path {
        self.room.live()
    }

    /// The copy lies in a file system that is memory, and what is written counts as such.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        for tree in [&mut self.repo, &mut self.room] {
            let mended = tree.mend();
            mended.during(|| format!("cannot restore `{}`", tree.live().display()))?;
        }
        Ok(())
    }

    pub(crate) fn used(&self) -> Used {
        let mut walk = Walk::default();
        let repo = self.repo.changes(Shown::Repo, &mut walk);
        let room = self.room.changes(Shown::Room, &mut walk);
        Used { files: walk.finish(), full: false, written: repo.and(room) }
    }

    /// What was added to the copy.
    pub(crate) fn written(&self, until: Instant) -> Written {
        self.repo.written(until).and(self.room.written(until))
    }

    /// What the import left is part of the pristine state from now on.
    pub(crate) fn keep_import(&mut self) -> io::Result<()> {
        self.repo.keep().and_then(|()| self.room.keep())
    }
}
