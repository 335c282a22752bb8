//! The layer without mounts: a copy of the repository that is put right after each call.
//!
//! The guest cannot forge the change time of a file, so comparing it with what was recorded tells
//! what to mend. Invariant: after [`Copied::prepare`] the copy equals the repository (and what the
//! import left in it).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use menace_model::FileChange;

use super::layer::Used;
use super::touched::{Below, Walk};
use super::{During, InitError, paths};
use crate::wire::messages::{Identity, InitConfig};

#[derive(Debug)]
pub(crate) struct Copied {
    top: PathBuf,
    repo: PathBuf,
    room: PathBuf,
    /// The pristine state, out of the guest's reach.
    original: PathBuf,
    known: BTreeMap<PathBuf, Stamp>,
}

/// What changes whenever somebody touches a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    mode: u32,
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &fs::Metadata) -> Self {
        let size = if found.is_dir() { 0 } else { found.len() };
        let changed = if found.is_dir() { (0, 0) } else { (found.ctime(), found.ctime_nsec()) };
        Self { inode: found.ino(), size, mode: found.mode(), changed }
    }
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
            repo: top.join("repo"),
            room: top.join("box"),
            original: workspace.join("original"),
            top,
            known: BTreeMap::new(),
        };
        let owner = config.drop_to;
        fs::create_dir_all(&copied.top)
            .and_then(|()| copy(&config.repo, &copied.original))
            .and_then(|()| owner.map_or(Ok(()), |owner| give(workspace, owner)))
            .during(|| format!("cannot copy the repository to `{}`", workspace.display()))?;
        Ok(copied)
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn repo(&self) -> &Path {
        &self.repo
    }

    pub(crate) fn room(&self) -> &Path {
        &self.room
    }

    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        let mended = self.mend();
        mended.during(|| format!("cannot restore `{}`", self.repo.display()))
    }

    fn mend(&mut self) -> io::Result<()> {
        remove(&self.room)?;
        fs::create_dir(&self.room)?;
        for directory in paths::IN_BOX {
            fs::create_dir(self.room.join(directory))?;
        }
        if self.known.is_empty() {
            remove(&self.repo)?;
            copy(&self.original, &self.repo)?;
        } else {
            let now = stamps(&self.repo)?;
            // Deepest first, so that directories are empty when they go.
            for path in now.keys().rev().filter(|path| !self.known.contains_key(*path)) {
                remove(&self.repo.join(path))?;
            }
            for (path, stamp) in &self.known {
                if now.get(path) != Some(stamp) {
                    let (from, to) = (self.original.join(path), self.repo.join(path));
                    if !(to.is_dir() && from.is_dir()) {
                        remove(&to)?;
                    }
                    copy(&from, &to)?;
                }
            }
        }
        self.known = stamps(&self.repo)?;
        Ok(())
    }

    pub(crate) fn used(&self) -> Used {
        let mut walk = Walk::default();
        let repo = Below { shown_as: String::new(), lowers: Vec::new() };
        if let Ok(now) = stamps(&self.repo) {
            for (path, stamp) in &now {
                match self.known.get(path) {
                    None => walk.note(&repo, path, FileChange::Created, stamp.size),
                    Some(before) if before != stamp => {
                        walk.note(&repo, path, FileChange::Changed, stamp.size);
                    }
                    Some(_) => {}
                }
            }
            for (path, stamp) in self.known.iter().filter(|(path, _)| !now.contains_key(*path)) {
                walk.note(&repo, path, FileChange::Deleted, stamp.size);
            }
        }
        for (directory, shown_as) in
            [(paths::TMP, "/tmp"), (paths::HOME, "~"), (paths::DATA, "data:")]
        {
            let below = Below { shown_as: shown_as.to_owned(), lowers: Vec::new() };
            walk.upper(&self.room.join(directory), &below);
        }
        Used { files: walk.finish(), full: false }
    }

    /// What was added to the copy, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |top: &Path| stamps(top).map_or(0, |now| now.values().map(|s| s.size).sum());
        let before: u64 = self.known.values().map(|stamp| stamp.size).sum();
        (size(&self.repo) + size(&self.room)).saturating_sub(before)
    }

    /// What the import left in the repository is part of it from now on.
    pub(crate) fn keep_import(&mut self) -> Result<(), InitError> {
        let kept = remove(&self.original).and_then(|()| copy(&self.repo, &self.original));
        kept.during(|| "cannot keep what the import wrote".to_owned())?;
        self.known = stamps(&self.repo).during(|| "cannot look at the copy".to_owned())?;
        Ok(())
    }
}

fn stamps(top: &Path) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(inner) = waiting.pop() {
        let Ok(entries) = fs::read_dir(top.join(&inner)) else { continue };
        for entry in entries {
            let entry = entry?;
            let Ok(data) = entry.metadata() else { continue };
            let path = inner.join(entry.file_name());
            if data.is_dir() {
                waiting.push(path.clone());
            }
            found.insert(path, Stamp::of(&data));
        }
    }
    Ok(found)
}

fn remove(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.is_dir() {
        return fs::remove_file(path);
    }
    // A guest can take its own right to list or change a directory away.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(path)? {
        remove(&entry?.path())?;
    }
    fs::remove_dir(path)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.file_type().is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if found.is_dir() {
        if !to.is_dir() {
            fs::create_dir_all(to)?;
        }
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        // Owner must be able to write, to mend it again.
        let mode = found.mode() | 0o700;
        return fs::set_permissions(to, fs::Permissions::from_mode(mode));
    }
    if found.is_file() {
        fs::copy(from, to)?;
    }
    Ok(())
}

/// Makes everything below a directory somebody else's.
fn give(top: &Path, owner: Identity) -> io::Result<()> {
    std::os::unix::fs::lchown(top, Some(owner.uid), Some(owner.gid))?;
    if fs::symlink_metadata(top)?.is_dir() {
        for entry in fs::read_dir(top)? {
            give(&entry?.path(), owner)?;
        }
    }
    Ok(())
}
