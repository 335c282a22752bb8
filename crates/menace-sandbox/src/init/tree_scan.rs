//! Scans a directory tree, for comparison with an earlier scan.
//!
//! Directories have numbers and are opened one below the other, so that neither the depth of a tree
//! nor the length of a path matters; a guest can exceed what the kernel accepts as a path.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use menace_model::FileChangeKind;
use nix::sys::stat::SFlag;

use super::layer::LayerDiskUsage;
use crate::directory::{EntryMetadata, InaccessiblePolicy, OpenDirectory};

/// The number of the directory at the top.
pub(super) const TOP_DIRECTORY_NUMBER: u32 = 0;

/// The properties that are compared. A guest can set a file's times, but not `changed_at` (ctime).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanEntryStamp {
    mode: u32,
    inode: u64,
    size: u64,
    changed_at: (i64, i64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ScanEntry {
    stamp: ScanEntryStamp,
    /// Allocated bytes, which are fewer than the size when the file has holes.
    bytes: u64,
    /// The number, if the entry is a directory.
    directory: Option<u32>,
}

impl ScanEntry {
    fn new(found: &EntryMetadata, directory: Option<u32>) -> Self {
        let mode = found.mode();
        let stamp = if found.is_directory() {
            // Of a directory only the mode is compared; its entries are compared themselves.
            ScanEntryStamp { mode, inode: 0, size: 0, changed_at: (0, 0) }
        } else {
            ScanEntryStamp {
                mode,
                inode: found.inode(),
                size: found.size(),
                changed_at: found.changed_at(),
            }
        };
        Self { stamp, bytes: found.allocated_bytes(), directory }
    }

    fn has_kind(&self, kind: SFlag) -> bool {
        self.stamp.mode & SFlag::S_IFMT.bits() == kind.bits()
    }

    pub(super) fn is_file(&self) -> bool {
        self.has_kind(SFlag::S_IFREG)
    }

    /// Sockets and devices cannot be copied.
    fn can_be_copied(&self) -> bool {
        let kinds = [SFlag::S_IFREG, SFlag::S_IFDIR, SFlag::S_IFLNK, SFlag::S_IFIFO];
        kinds.into_iter().any(|kind| self.has_kind(kind))
    }

    /// Whether one is a copy of the other, whatever the times and inodes.
    fn is_like_copy_of(&self, other: &Self) -> bool {
        const COMPARED_MODE_BITS: u32 = SFlag::S_IFMT.bits() | 0o777;
        self.stamp.mode & COMPARED_MODE_BITS == other.stamp.mode & COMPARED_MODE_BITS
            && self.stamp.size == other.stamp.size
    }

    /// Whether the only change is that Menace itself made the file readable for a moment, which
    /// changes its ctime.
    fn differs_only_by_our_chmod(&self, before: &Self) -> bool {
        let stamp_of_then = ScanEntryStamp { changed_at: before.stamp.changed_at, ..self.stamp };
        self.is_file() && self.stamp.mode & 0o400 == 0 && stamp_of_then == before.stamp
    }

    pub(super) fn is_directory(&self) -> bool {
        self.directory.is_some()
    }

    pub(super) fn mode(&self) -> u32 {
        self.stamp.mode
    }

    pub(super) fn size(&self) -> u64 {
        self.stamp.size
    }
}

/// An entry that was created, changed or deleted.
#[derive(Debug)]
pub(super) struct TreeDifference<'a> {
    pub(super) what: FileChangeKind,
    /// The number of the directory that the entry is in.
    pub(super) parent: u32,
    pub(super) name: &'a OsStr,
    /// The present entry, or the former one if it was deleted.
    pub(super) entry: &'a ScanEntry,
    /// Whether the directory that contains it is no difference itself.
    pub(super) topmost: bool,
    /// A directory before and after: only its mode has changed.
    pub(super) only_mode: bool,
}

#[derive(Debug, Default)]
pub(super) struct TreeScan {
    /// The entries, by the number of their directory and their name.
    entries: BTreeMap<(u32, OsString), ScanEntry>,
    /// For each directory, the number of its parent and its name there.
    locations: BTreeMap<u32, (u32, OsString)>,
    pub(super) written: LayerDiskUsage,
}

impl TreeScan {
    /// Scans everything below `top`. A directory gets the number that it has in `like`, if it is
    /// there.
    pub(super) fn scan(top: &OpenDirectory, like: Option<&Self>) -> io::Result<Self> {
        let mut scan = Self::default();
        let mut fresh = like.map_or(TOP_DIRECTORY_NUMBER, Self::last_number);
        walk(top, InaccessiblePolicy::MakeAccessible, |parent, name, found| {
            let key = (parent, name.to_owned());
            let number = found.is_directory().then(|| {
                let known = like.and_then(|like| like.entries.get(&key)?.directory);
                known.unwrap_or_else(|| {
                    fresh += 1;
                    fresh
                })
            });
            if let Some(number) = number {
                scan.locations.insert(number, key.clone());
            }
            let entry = ScanEntry::new(found, number);
            scan.written.entries += 1;
            scan.written.bytes += entry.bytes;
            scan.entries.insert(key, entry);
            ControlFlow::Continue(number.unwrap_or(TOP_DIRECTORY_NUMBER))
        })?;
        Ok(scan)
    }

    /// Whether this scan equals `expected`, except for `restored` entries, which have to be copies
    /// of the expected ones.
    pub(super) fn is_restored(&self, expected: &Self, restored: &[TreeDifference<'_>]) -> bool {
        let restored: BTreeSet<_> = restored.iter().map(|one| (one.parent, one.name)).collect();
        self.differences_since(expected).iter().all(|one| {
            let key = (one.parent, one.name.to_owned());
            let Some(was) = expected.entries.get(&key) else { return false };
            restored.contains(&(one.parent, one.name))
                && match one.what {
                    FileChangeKind::Changed => one.entry.is_like_copy_of(was),
                    FileChangeKind::Deleted => !was.can_be_copied(),
                    FileChangeKind::Created => false,
                }
        })
    }

    /// Whether no other process has changed anything since `before`.
    pub(super) fn is_unchanged_since(&self, before: &Self) -> bool {
        self.differences_since(before).iter().all(|one| {
            let key = (one.parent, one.name.to_owned());
            let was = before.entries.get(&key);
            one.what == FileChangeKind::Changed
                && was.is_some_and(|was| one.entry.differs_only_by_our_chmod(was))
        })
    }

    fn last_number(&self) -> u32 {
        self.locations.keys().next_back().copied().unwrap_or(TOP_DIRECTORY_NUMBER)
    }

    fn has_directory(&self, number: u32) -> bool {
        number == TOP_DIRECTORY_NUMBER || self.locations.contains_key(&number)
    }

    /// The parent's number and the name of a directory; nothing for the top.
    pub(super) fn location(&self, number: u32) -> Option<(u32, &OsStr)> {
        self.locations.get(&number).map(|(parent, name)| (*parent, name.as_os_str()))
    }

    pub(super) fn path(&self, mut parent: u32, name: &OsStr) -> PathBuf {
        let mut names = vec![name];
        while let Some((above, name)) = self.location(parent) {
            names.push(name);
            parent = above;
        }
        names.into_iter().rev().collect()
    }

    /// The differences to `before`; this scan must have been made with the other's numbers.
    pub(super) fn differences_since<'a>(&'a self, before: &'a Self) -> Vec<TreeDifference<'a>> {
        let mut differences = Vec::new();
        let mut now = self.entries.iter().peekable();
        let mut then = before.entries.iter().peekable();
        loop {
            let order = match (now.peek(), then.peek()) {
                (Some((here, _)), Some((there, _))) => here.cmp(there),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return differences,
            };
            let is = if order == Ordering::Greater { None } else { now.next() };
            let was = if order == Ordering::Less { None } else { then.next() };
            let (what, other) = match (is, was) {
                (Some((_, is)), Some((_, was))) if is.stamp == was.stamp => continue,
                (Some(_), Some(_)) => (FileChangeKind::Changed, before),
                (Some(_), None) => (FileChangeKind::Created, before),
                (None, _) => (FileChangeKind::Deleted, self),
            };
            let Some(((parent, name), entry)) = is.or(was) else { continue };
            let directory =
                |found: Option<(_, &ScanEntry)>| found.is_some_and(|(_, one)| one.is_directory());
            differences.push(TreeDifference {
                what,
                parent: *parent,
                name,
                entry,
                topmost: other.has_directory(*parent),
                only_mode: directory(is) && directory(was),
            });
        }
    }
}

/// Measures everything below `top` without recording it; ends when `go_on` returns false.
pub(super) fn measure(
    top: &OpenDirectory,
    mut go_on: impl FnMut() -> bool,
) -> io::Result<LayerDiskUsage> {
    let mut written = LayerDiskUsage::default();
    walk(top, InaccessiblePolicy::Skip, |_, _, found| {
        written.entries += 1;
        written.bytes += found.allocated_bytes();
        if go_on() { ControlFlow::Continue(TOP_DIRECTORY_NUMBER) } else { ControlFlow::Break(()) }
    })?;
    Ok(written)
}

#[derive(Debug)]
struct ScanFrame {
    directory: OpenDirectory,
    names: Vec<OsString>,
    number: u32,
}

/// Visits everything below `top`, directories before their content. The visitor receives the number
/// of the directory and a name in it, and returns the number of a subdirectory.
fn walk(
    top: &OpenDirectory,
    shut: InaccessiblePolicy,
    mut visit: impl FnMut(u32, &OsStr, &EntryMetadata) -> ControlFlow<(), u32>,
) -> io::Result<()> {
    let frame = |directory: OpenDirectory, number| -> io::Result<ScanFrame> {
        let mut names = directory.names()?;
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(ScanFrame { directory, names, number })
    };
    let mut frames = vec![frame(top.reopen(shut)?, TOP_DIRECTORY_NUMBER)?];
    while let Some(last) = frames.last_mut() {
        let Some(name) = last.names.pop() else {
            frames.pop();
            continue;
        };
        // The entry is gone meanwhile.
        let Ok(found) = last.directory.entry_metadata(&name) else { continue };
        let ControlFlow::Continue(number) = visit(last.number, &name, &found) else {
            return Ok(());
        };
        if found.is_directory() {
            match last.directory.open(&name, shut).and_then(|inner| frame(inner, number)) {
                Ok(inner) => frames.push(inner),
                Err(error) if is_no_directory_now(&error) => {}
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied
                        && shut == InaccessiblePolicy::Skip => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// The directory was removed meanwhile, or replaced by something else.
fn is_no_directory_now(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::Path;

    use super::*;

    fn scan(top: &Path, like: Option<&TreeScan>) -> TreeScan {
        TreeScan::scan(&OpenDirectory::open_path(top).unwrap(), like).unwrap()
    }

    fn differences(before: &TreeScan, now: &TreeScan) -> Vec<(String, FileChangeKind, bool)> {
        let mut found: Vec<_> = now
            .differences_since(before)
            .into_iter()
            .map(|one| {
                let from = if one.what == FileChangeKind::Deleted { before } else { now };
                let path = from.path(one.parent, one.name).to_string_lossy().into_owned();
                (path, one.what, one.topmost)
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn created_changed_and_deleted_files_are_distinguished() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("gone/deep")).unwrap();
        fs::create_dir(at("kept")).unwrap();
        for name in ["gone/deep/a", "kept/b", "kept/c", "odd"] {
            fs::write(at(name), "1").unwrap();
        }
        let before = scan(top.path(), None);
        assert_eq!(differences(&before, &scan(top.path(), Some(&before))), []);
        fs::remove_dir_all(at("gone")).unwrap();
        fs::write(at("kept/b"), "2").unwrap();
        fs::remove_file(at("odd")).unwrap();
        fs::create_dir_all(at("odd/new")).unwrap();
        let now = scan(top.path(), Some(&before));
        let expected = [
            ("gone", FileChangeKind::Deleted, true),
            ("gone/deep", FileChangeKind::Deleted, false),
            ("gone/deep/a", FileChangeKind::Deleted, false),
            ("kept/b", FileChangeKind::Changed, true),
            ("odd", FileChangeKind::Changed, true),
            ("odd/new", FileChangeKind::Created, false),
        ];
        let expected = expected.map(|(path, what, topmost)| (path.to_owned(), what, topmost));
        assert_eq!(differences(&before, &now), expected);
    }

    #[test]
    fn a_directory_that_was_replaced_by_another_differs_only_in_what_is_in_it() {
        let top = tempfile::tempdir().unwrap();
        let package = top.path().join("package");
        fs::create_dir(&package).unwrap();
        fs::write(package.join("a"), "").unwrap();
        let before = scan(top.path(), None);
        fs::remove_dir_all(&package).unwrap();
        fs::create_dir(&package).unwrap();
        let now = scan(top.path(), Some(&before));
        let expected = [("package/a".to_owned(), FileChangeKind::Deleted, true)];
        assert_eq!(differences(&before, &now), expected);
    }

    #[test]
    fn holes_take_no_space() {
        let top = tempfile::tempdir().unwrap();
        let file = File::create(top.path().join("sparse")).unwrap();
        file.set_len(1 << 40).unwrap();
        let written = measure(&OpenDirectory::open_path(top.path()).unwrap(), || true).unwrap();
        assert_eq!(written.entries, 1);
        assert!(written.bytes < 1 << 20, "{written:?}");
    }
}
