//! The writable layer where mounts are not possible: a copy of the repository that is restored
//! after each call.
//!
//! The guest cannot forge a file's change time (ctime), so comparing it with the recorded one shows
//! what to restore. Processes of the guest may be alive meanwhile, so all accesses go through
//! descriptors that were opened before (see [`OpenDirectory`]); when the state is not certain, the
//! sandbox is unusable. Invariant: after [`CopiedLayer::prepare`] the copy equals the repository
//! (and what the import left in it).

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::fchown;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::statfs::{TMPFS_MAGIC, statfs};

use super::file_changes::{DisplayRoot, FileChangeCollector};
use super::layer::{LayerChanges, LayerDiskUsage};
use super::restorable_tree::RestorableTree;
use super::tree_copy::copy_tree;
use super::{InitError, InitErrorContext, paths};
use crate::directory::{InaccessiblePolicy, OpenDirectory};
use crate::discard::discard_in;
use crate::wire::messages::{InitConfig, UserIdentity};

/// Names of the two trees in the top directory.
const REPO_NAME: &str = "repo";
const SCRATCH_NAME: &str = "box";

#[derive(Debug)]
pub(crate) struct CopiedLayer {
    path: PathBuf,
    repo_path: PathBuf,
    scratch_path: PathBuf,
    top: OpenDirectory,
    repo: RestorableTree,
    /// Home and temporary directories of the guest.
    scratch: RestorableTree,
    is_in_memory: bool,
    /// How often the layer can still be prepared, where there is no state to restore it from.
    uses_left: Option<u8>,
}

impl CopiedLayer {
    /// Copies the repository into the workspace, for the guest's user.
    pub(crate) fn new(config: &InitConfig) -> Result<Self, InitError> {
        let workspace = config
            .workspace
            .as_ref()
            .ok_or_else(|| InitError::Failed("no workspace was given".to_owned()))?;
        Self::copy_repository(workspace, config)
            .with_context(|| format!("cannot copy the repository to `{}`", workspace.display()))
    }

    fn copy_repository(workspace: &Path, config: &InitConfig) -> io::Result<Self> {
        let owner = config.switch_to;
        let below = OpenDirectory::open_path(workspace)?;
        let original = create_dir(&below, "original", owner)?;
        copy_tree(
            &OpenDirectory::open_path(&config.repo)?,
            &original,
            owner,
            InaccessiblePolicy::Refuse,
        )?;
        let original_scratch = create_dir(&below, "original-scratch", owner)?;
        for name in paths::SCRATCH_SUBDIRS {
            create_dir(&original_scratch, name, owner)?;
        }
        let top = create_dir(&below, "sandbox", owner)?;
        let path = workspace.join("sandbox");
        Ok(Self {
            repo_path: path.join(REPO_NAME),
            scratch_path: path.join(SCRATCH_NAME),
            path,
            repo: RestorableTree::new(create_dir(&top, REPO_NAME, owner)?, original),
            scratch: RestorableTree::new(create_dir(&top, SCRATCH_NAME, owner)?, original_scratch),
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

    pub(crate) fn scratch_dir(&self) -> &Path {
        &self.scratch_path
    }

    /// Whether the copy is on a tmpfs, so that written files count as memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        if let Some(left) = self.uses_left {
            let used_up = || InitError::Failed("the copy was good for one call".to_owned());
            self.uses_left = Some(left.checked_sub(1).ok_or_else(used_up)?);
            return Ok(());
        }
        self.remove_strays()
            .with_context(|| format!("cannot restore `{}`", self.path.display()))?;
        self.repo
            .restore()
            .with_context(|| format!("cannot restore `{}`", self.repo_path.display()))?;
        self.scratch
            .restore()
            .with_context(|| format!("cannot restore `{}`", self.scratch_path.display()))
    }

    /// Removes everything in the top directory but the two trees that are restored.
    fn remove_strays(&self) -> io::Result<()> {
        for (name, tree) in [(REPO_NAME, &self.repo), (SCRATCH_NAME, &self.scratch)] {
            if !self.top.entry_metadata(OsStr::new(name))?.is_same_as(&tree.live().metadata()?) {
                return Err(io::Error::other(format!("`{name}` is another directory")));
            }
        }
        let names = self.top.names()?.into_iter();
        names
            .filter(|name| name != REPO_NAME && name != SCRATCH_NAME)
            .try_for_each(|name| discard_in(&self.top, &name))
    }

    pub(crate) fn collect_changes(&self) -> LayerChanges {
        let mut collector = FileChangeCollector::default();
        let repo = self.repo.collect_changes(DisplayRoot::Repo, &mut collector);
        let scratch = self.scratch.collect_changes(DisplayRoot::Scratch, &mut collector);
        LayerChanges { files: collector.finish(), is_full: false, written: repo.plus(scratch) }
    }

    /// What the call added to the copy.
    pub(crate) fn measure_written(&self, until: Instant) -> LayerDiskUsage {
        self.repo.measure_written(until).plus(self.scratch.measure_written(until))
    }

    /// Makes what the import left part of the state that is restored.
    ///
    /// While processes or threads of the import run no state is stable. But then the import serves
    /// a single call, and nothing has to be restored.
    pub(crate) fn keep_import(&mut self, has_unforkable_state: bool) -> io::Result<()> {
        if has_unforkable_state {
            self.uses_left = Some(1);
            return self.repo.record_live_state().and_then(|()| self.scratch.record_live_state());
        }
        self.repo.adopt_live_state().and_then(|()| self.scratch.adopt_live_state())
    }
}

/// Creates a directory that belongs to the guest's user.
fn create_dir(
    above: &OpenDirectory,
    name: &str,
    owner: Option<UserIdentity>,
) -> io::Result<OpenDirectory> {
    let name = OsStr::new(name);
    above.create_directory(name)?;
    let made = above.open(name, InaccessiblePolicy::Refuse)?;
    if let Some(UserIdentity { uid, gid }) = owner {
        fchown(made.file(), Some(uid), Some(gid))?;
    }
    made.set_mode(0o755)?;
    Ok(made)
}
