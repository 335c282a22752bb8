//! The layer without mounts: a copy of the repository that is put right after each call.
//!
//! The guest cannot forge the change time of a file, so comparing it with what was recorded tells
//! what to mend. Somebody of the guest's may be alive meanwhile, so all of it goes through descriptors
//! that were opened before (see [`Directory`]); when they leave no sure state, the sandbox is given up.
//! Invariant: after [`Copied::prepare`] the copy equals the repository (and what the import left in it).

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use super::copying::copy_all;
use super::layer::{Used, Written};
use super::touched::{Shown, Walk};
use super::tree::Tree;
use super::{During, InitError, paths};
use crate::directory::{Directory, Shut};
use crate::discard::discard_in;
use crate::wire::messages::{Identity, InitConfig};

/// Where the two trees are, below the top.
const REPO: &str = "repo";
const ROOM: &str = "box";

#[derive(Debug)]
pub(crate) struct Copied {
    path: PathBuf,
    repo_path: PathBuf,
    room_path: PathBuf,
    top: Directory,
    repo: Tree,
    /// Home and temporary directories.
    room: Tree,
    is_in_memory: bool,
    /// How often it can still be prepared, when there is nothing to mend it from.
    uses_left: Option<u8>,
}

impl Copied {
    /// Copies the repository into the workspace, for the guest's user.
    pub(crate) fn new(config: &InitConfig) -> Result<Self, InitError> {
        let workspace = config
            .workspace
            .as_ref()
            .ok_or_else(|| InitError::Refused("no workspace was given".to_owned()))?;
        Self::fill(workspace, config)
            .during(|| format!("cannot copy the repository to `{}`", workspace.display()))
    }

    fn fill(workspace: &Path, config: &InitConfig) -> io::Result<Self> {
        let owner = config.drop_to;
        let below = Directory::at(workspace)?;
        let original = create(&below, "original", owner)?;
        copy_all(&Directory::at(&config.repo)?, &original, owner, Shut::Refuse)?;
        let original_room = create(&below, "original-box", owner)?;
        for name in paths::IN_BOX {
            create(&original_room, name, owner)?;
        }
        let top = create(&below, "sandbox", owner)?;
        let path = workspace.join("sandbox");
        Ok(Self {
            repo_path: path.join(REPO),
            room_path: path.join(ROOM),
            path,
            repo: Tree::new(create(&top, REPO, owner)?, original),
            room: Tree::new(create(&top, ROOM, owner)?, original_room),
            top,
            is_in_memory: statfs(workspace)
                .is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC),
            uses_left: None,
        })
    }

    pub(crate) fn top(&self) -> &Path {
        &self.path
    }

    pub(crate) fn repo(&self) -> &Path {
        &self.repo_path
    }

    pub(crate) fn room(&self) -> &Path {
        &self.room_path
    }

    /// The copy lies in a file system that is memory, and what is written counts as such.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        if let Some(left) = self.uses_left {
            let used_up = || InitError::Refused("the copy was good for one call".to_owned());
            self.uses_left = Some(left.checked_sub(1).ok_or_else(used_up)?);
            return Ok(());
        }
        self.tidy_up().during(|| format!("cannot restore `{}`", self.path.display()))?;
        self.repo.mend().during(|| format!("cannot restore `{}`", self.repo_path.display()))?;
        self.room.mend().during(|| format!("cannot restore `{}`", self.room_path.display()))
    }

    /// At the top there are the two trees that are mended, and nothing else.
    fn tidy_up(&self) -> io::Result<()> {
        for (name, tree) in [(REPO, &self.repo), (ROOM, &self.room)] {
            if !self.top.look_at(OsStr::new(name))?.is_same_as(&tree.live().found()?) {
                return Err(io::Error::other(format!("`{name}` is another directory")));
            }
        }
        let names = self.top.names()?.into_iter();
        names
            .filter(|name| name != REPO && name != ROOM)
            .try_for_each(|name| discard_in(&self.top, &name))
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
    ///
    /// In company of something that goes on there is no such state. But then this is the import of a
    /// single call, after which nothing has to be mended.
    pub(crate) fn keep_import(&mut self, in_company: bool) -> io::Result<()> {
        if in_company {
            self.uses_left = Some(1);
            return self.repo.take_as_it_is().and_then(|()| self.room.take_as_it_is());
        }
        self.repo.keep().and_then(|()| self.room.keep())
    }
}

/// Makes a directory of the guest's user.
fn create(above: &Directory, name: &str, owner: Option<Identity>) -> io::Result<Directory> {
    let name = OsStr::new(name);
    above.create_directory(name)?;
    let made = above.open(name, Shut::Refuse)?;
    if let Some(Identity { uid, gid }) = owner {
        fchown(made.file(), Some(uid), Some(gid))?;
    }
    made.set_mode(0o755)?;
    Ok(made)
}
