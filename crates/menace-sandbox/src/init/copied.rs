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
use crate::discard::discard;
use crate::wire::messages::{Identity, InitConfig};

#[derive(Debug)]
pub(crate) struct Copied {
    top: PathBuf,
    repo: Tree,
    /// Home and temporary directories.
    room: Tree,
}

/// A directory of the guest's that can be put right.
#[derive(Debug)]
struct Tree {
    live: PathBuf,
    /// The pristine state, out of the guest's reach.
    original: PathBuf,
    /// What the live one looks like when it is right.
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

const BLOCK: u64 = 4096;
/// More than any limit, and still far from an overflow.
const UNKNOWN: u64 = 1 << 50;

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
        let tree = |live: &str, original: &str| Tree {
            live: top.join(live),
            original: workspace.join(original),
            known: BTreeMap::new(),
        };
        let copied =
            Self { repo: tree("repo", "original"), room: tree("box", "original-box"), top };
        let owner = config.drop_to;
        fs::create_dir_all(&copied.top)
            .and_then(|()| copy(&config.repo, &copied.repo.original))
            .and_then(|()| {
                let inside = paths::IN_BOX.iter().map(|name| copied.room.original.join(name));
                inside.into_iter().try_for_each(fs::create_dir_all)
            })
            .and_then(|()| owner.map_or(Ok(()), |owner| give(workspace, owner)))
            .during(|| format!("cannot copy the repository to `{}`", workspace.display()))?;
        Ok(copied)
    }

    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    pub(crate) fn repo(&self) -> &Path {
        &self.repo.live
    }

    pub(crate) fn room(&self) -> &Path {
        &self.room.live
    }

    pub(crate) fn prepare(&mut self) -> Result<(), InitError> {
        for tree in [&mut self.repo, &mut self.room] {
            let mended = tree.mend();
            mended.during(|| format!("cannot restore `{}`", tree.live.display()))?;
        }
        Ok(())
    }

    pub(crate) fn used(&self) -> Used {
        let mut walk = Walk::default();
        self.repo.changes(|path, what, bytes| {
            walk.note(&Below { shown_as: String::new(), lowers: Vec::new() }, path, what, bytes);
        });
        self.room.changes(|path, what, bytes| {
            for (directory, shown_as) in [
                (paths::TMP, "/tmp"),
                (paths::HOME, "~"),
                (paths::SHM, "/dev/shm"),
                (paths::DATA, "data:"),
            ] {
                if let Ok(inner) = path.strip_prefix(directory) {
                    let below = Below { shown_as: shown_as.to_owned(), lowers: Vec::new() };
                    walk.note(&below, inner, what, bytes);
                }
            }
        });
        Used { files: walk.finish(), full: false }
    }

    /// What was added to the copy, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.repo.added() + self.room.added()
    }

    /// What the import left is part of the pristine state from now on.
    pub(crate) fn keep_import(&mut self) -> Result<(), InitError> {
        let kept = self.repo.keep().and_then(|()| self.room.keep());
        kept.during(|| "cannot keep what the import wrote".to_owned())
    }
}

impl Tree {
    /// Makes the live directory equal to the original. It stays the same directory, which the
    /// guest's rights are tied to.
    fn mend(&mut self) -> io::Result<()> {
        if self.known.is_empty() {
            discard(&self.live)?;
            copy(&self.original, &self.live)?;
        } else {
            fs::set_permissions(&self.live, fs::Permissions::from_mode(0o700))?;
            let now = stamps(&self.live)?;
            // What is below another is gone when its turn comes.
            for path in now.keys().filter(|path| !self.known.contains_key(*path)) {
                discard(&self.live.join(path))?;
            }
            for (path, stamp) in &self.known {
                if now.get(path) != Some(stamp) {
                    let (from, to) = (self.original.join(path), self.live.join(path));
                    if !(is_directory(&to) && is_directory(&from)) {
                        discard(&to)?;
                    }
                    copy(&from, &to)?;
                }
            }
        }
        self.known = stamps(&self.live)?;
        Ok(())
    }

    fn changes(&self, mut note: impl FnMut(&Path, FileChange, u64)) {
        let Ok(now) = stamps(&self.live) else { return };
        for (path, stamp) in &now {
            match self.known.get(path) {
                None => note(path, FileChange::Created, stamp.size),
                Some(before) if before != stamp => note(path, FileChange::Changed, stamp.size),
                Some(_) => {}
            }
        }
        for (path, stamp) in self.known.iter().filter(|(path, _)| !now.contains_key(*path)) {
            note(path, FileChange::Deleted, stamp.size);
        }
    }

    fn added(&self) -> u64 {
        // A directory, like an empty file, takes a block.
        let block = |stamp: &Stamp| stamp.size.max(1).next_multiple_of(BLOCK);
        let size = |stamps: &BTreeMap<_, Stamp>| stamps.values().map(block).sum::<u64>();
        stamps(&self.live).map_or(0, |now| size(&now).saturating_sub(size(&self.known)))
    }

    fn keep(&mut self) -> io::Result<()> {
        discard(&self.original)?;
        copy(&self.live, &self.original)?;
        self.known = stamps(&self.live)?;
        Ok(())
    }
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn stamps(top: &Path) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(inner) = waiting.pop() {
        let Ok(entries) = fs::read_dir(top.join(&inner)) else {
            // A directory that cannot be looked into may hold anything.
            if let Some(stamp) = found.get_mut(&inner) {
                let stamp: &mut Stamp = stamp;
                stamp.size = UNKNOWN;
            }
            continue;
        };
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
