//! Which files a call created, changed or deleted, found in its writable layer.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use menace_model::{FileChangeKind, TouchedFile, TouchedFiles};

use super::file_hash::{FileHasher, FileVersions};
use super::paths;
use crate::directory::{EntryMetadata, InaccessiblePolicy, OpenDirectory};
use crate::sys;

/// The most files listed; further ones are counted.
const MAX_LISTED_FILES: usize = 1000;
/// Beyond this many entries no further directories are entered.
const MAX_WALKED_ENTRIES: u64 = 1_000_000;
/// The longest path that can be opened (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;

/// Collects the files that a call created, changed or deleted.
#[derive(Debug, Default)]
pub(crate) struct FileChangeCollector {
    files: TouchedFiles,
    hasher: FileHasher,
}

/// Which tree a path belongs to, which determines how the path is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisplayRoot {
    /// The repository: paths are relative to it.
    Repo,
    /// Home, temporary files and other scratch directories.
    Scratch,
}

/// The upper layer of an overlay, which holds what a call changed.
#[derive(Debug)]
pub(crate) struct UpperLayer<'a> {
    pub top: &'a Path,
    /// The same directory as it was before the call: the lower layer.
    pub before: &'a Path,
    /// Whether the layer hides the lower one entirely: files that are not in it have been removed.
    pub opaque: bool,
    pub display_root: DisplayRoot,
}

/// One directory of the walk, as it is after the call and as it was before.
#[derive(Debug)]
struct DirectoryPair {
    now: OpenDirectory,
    before: Option<OpenDirectory>,
    /// The path below the top of the layer.
    relative_path: PathBuf,
    opaque: bool,
    /// Subdirectories that are still to be walked.
    pending: Vec<PendingDirectory>,
}

#[derive(Debug)]
struct PendingDirectory {
    name: OsString,
    opaque: bool,
}

impl FileChangeCollector {
    /// Walks the upper layer of a directory. Processes of the guest may still change it, so no link
    /// is followed.
    pub(crate) fn collect_upper(&mut self, upper: &UpperLayer<'_>) {
        let Ok(now) = OpenDirectory::open_path(upper.top) else { return };
        let before = OpenDirectory::open_path(upper.before).ok();
        let display_root = upper.display_root;
        // An explicit stack: a guest can nest directories deeper than a call stack.
        let mut pairs =
            vec![self.enter_directory(display_root, now, before, PathBuf::new(), upper.opaque)];
        while let Some(pair) = pairs.last_mut() {
            let Some(PendingDirectory { name, opaque }) = pair.pending.pop() else {
                pairs.pop();
                continue;
            };
            let inner = pair.relative_path.join(&name);
            if let Ok(now) = pair.now.open(&name, InaccessiblePolicy::Skip) {
                let before = pair.before.as_ref();
                let before =
                    before.and_then(|before| before.open(&name, InaccessiblePolicy::Skip).ok());
                pairs.push(self.enter_directory(display_root, now, before, inner, opaque));
            }
        }
    }

    /// Records changes in a directory, but not in those below it.
    fn enter_directory(
        &mut self,
        display_root: DisplayRoot,
        now: OpenDirectory,
        before: Option<OpenDirectory>,
        inner: PathBuf,
        opaque: bool,
    ) -> DirectoryPair {
        let opaque = opaque || is_opaque(&now);
        let mut pair =
            DirectoryPair { now, before, relative_path: inner, opaque, pending: Vec::new() };
        for name in pair.now.names().unwrap_or_default() {
            let waiting = self.record_entry(display_root, &pair, name);
            pair.pending.extend(waiting);
        }
        if opaque {
            self.record_missing(display_root, &pair);
        }
        pair
    }

    /// Records the change of one entry; returns a directory that is still to be walked.
    fn record_entry(
        &mut self,
        display_root: DisplayRoot,
        pair: &DirectoryPair,
        name: OsString,
    ) -> Option<PendingDirectory> {
        let found = pair.now.entry_metadata(&name).ok()?;
        let path = pair.relative_path.join(&name);
        let before = pair.before.as_ref().and_then(|before| before.entry_metadata(&name).ok());
        let was_directory = before.as_ref().is_some_and(EntryMetadata::is_directory);
        // A character device 0/0 (whiteout) is how overlayfs marks a deleted file of the lower
        // layer.
        if found.is_null_device() && before.is_some() {
            self.record_deleted(display_root, pair, &name);
            return None;
        }
        let what = if before.is_some() { FileChangeKind::Changed } else { FileChangeKind::Created };
        if !found.is_directory() {
            let content =
                FileVersions { now: &pair.now, before: pair.before.as_ref(), name: &name };
            let would_hash = found.is_file() && self.would_hash(found.size());
            let hash = if would_hash { self.hash(content, found.size()) } else { None };
            self.record(display_root, &path, what, found.size(), hash);
            if was_directory {
                self.record_all_deleted(display_root, pair, &name);
            }
            return None;
        }
        if !was_directory {
            self.record(display_root, &path, what, 0, None);
        }
        // A new directory has nothing of the lower layer below it.
        let opaque = pair.opaque && was_directory;
        let go_on =
            self.files.total < MAX_WALKED_ENTRIES && path.as_os_str().len() < MAX_PATH_BYTES;
        go_on.then_some(PendingDirectory { name, opaque })
    }

    /// Records the entries of a directory that are not there any more.
    fn record_missing(&mut self, display_root: DisplayRoot, pair: &DirectoryPair) {
        let before = pair.before.as_ref().and_then(|before| before.names().ok());
        for name in before.into_iter().flatten() {
            if pair.now.entry_metadata(&name).is_err() {
                self.record_deleted(display_root, pair, &name);
            }
        }
    }

    /// Records the deletion of an entry, and of everything that was below it.
    fn record_deleted(&mut self, display_root: DisplayRoot, pair: &DirectoryPair, name: &OsStr) {
        let before = pair.before.as_ref().and_then(|before| before.entry_metadata(name).ok());
        let Some(before) = before else { return };
        self.record(
            display_root,
            &pair.relative_path.join(name),
            FileChangeKind::Deleted,
            lost_bytes(&before),
            None,
        );
        if before.is_directory() {
            self.record_all_deleted(display_root, pair, name);
        }
    }

    fn record_all_deleted(
        &mut self,
        display_root: DisplayRoot,
        pair: &DirectoryPair,
        name: &OsStr,
    ) {
        let open = |above: &OpenDirectory, name: &OsStr, inner: &Path| {
            let opened = above.open(name, InaccessiblePolicy::Skip).ok()?;
            let names = opened.names().ok()?;
            Some((opened, names, inner.join(name)))
        };
        let top = pair.before.as_ref().and_then(|before| open(before, name, &pair.relative_path));
        let mut directories: Vec<_> = top.into_iter().collect();
        while let Some((directory, names, inner)) = directories.last_mut() {
            let Some(name) = names.pop() else {
                directories.pop();
                continue;
            };
            if self.files.total >= MAX_WALKED_ENTRIES {
                return;
            }
            let Ok(before) = directory.entry_metadata(&name) else { continue };
            self.record(
                display_root,
                &inner.join(&name),
                FileChangeKind::Deleted,
                lost_bytes(&before),
                None,
            );
            if before.is_directory() && inner.as_os_str().len() < MAX_PATH_BYTES {
                let below = open(directory, &name, inner);
                directories.extend(below);
            }
        }
    }

    /// Whether a file of this size is within the limits for hashing.
    pub(crate) fn would_hash(&self, size: u64) -> bool {
        self.files.touched.len() < MAX_LISTED_FILES && self.hasher.can_hash(size)
    }

    pub(crate) fn hash(&mut self, content: FileVersions<'_>, size: u64) -> Option<String> {
        self.hasher.hash(content, size)
    }

    pub(crate) fn record(
        &mut self,
        display_root: DisplayRoot,
        path: &Path,
        what: FileChangeKind,
        bytes: u64,
        hash: Option<String>,
    ) {
        self.files.total += 1;
        if self.files.touched.len() < MAX_LISTED_FILES && path.as_os_str().len() < MAX_PATH_BYTES {
            let path = display_root.display_path(path).to_string_lossy().into_owned();
            self.files.touched.push(TouchedFile { path, change: what, bytes, hash });
        }
    }

    pub(crate) fn finish(mut self) -> TouchedFiles {
        self.files.touched.sort();
        self.files
    }
}

impl DisplayRoot {
    fn display_path(self, inner: &Path) -> PathBuf {
        if self == Self::Repo {
            return inner.to_owned();
        }
        let known = [
            (paths::TMP_SUBDIR, "/tmp"),
            (paths::HOME_SUBDIR, "~"),
            (paths::SHM_SUBDIR, "/dev/shm"),
            (paths::DATA_SUBDIR, "data:"),
        ];
        let found = known.iter().find_map(|(name, shown)| {
            inner.strip_prefix(name).ok().map(|rest| (Path::new(shown), rest))
        });
        match found {
            Some((shown, rest)) if rest.as_os_str().is_empty() => shown.to_owned(),
            Some((shown, rest)) => shown.join(rest),
            None => Path::new(paths::SCRATCH_DIR).join(inner),
        }
    }
}

/// The size to report for a deleted entry: that of the file; directories have none.
fn lost_bytes(before: &EntryMetadata) -> u64 {
    if before.is_directory() { 0 } else { before.size() }
}

/// Whether overlayfs has marked the directory as opaque: it was recreated, and hides the lower one.
fn is_opaque(directory: &OpenDirectory) -> bool {
    sys::has_xattr(directory.as_fd(), c"user.overlay.opaque", b"y")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn collect_changes(
        top: &Path,
        before: &Path,
        opaque: bool,
    ) -> Vec<(String, FileChangeKind, u64)> {
        let mut collector = FileChangeCollector::default();
        collector.collect_upper(&UpperLayer {
            top,
            before,
            opaque,
            display_root: DisplayRoot::Scratch,
        });
        let files = collector.finish();
        assert_eq!(files.total, files.touched.len() as u64);
        files.touched.into_iter().map(|file| (file.path, file.change, file.bytes)).collect()
    }

    fn write(file: &Path, text: &str) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn what_is_in_no_layer_is_gone_only_where_nothing_shines_through() {
        let (top, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&before.path().join("tmp/kept.txt"), "123");
        write(&before.path().join("home/deep/down.txt"), "12345");
        fs::create_dir(top.path().join("tmp")).unwrap();
        assert_eq!(collect_changes(top.path(), before.path(), false), []);
        let expected = [
            ("/tmp/kept.txt".to_owned(), FileChangeKind::Deleted, 3),
            ("~".to_owned(), FileChangeKind::Deleted, 0),
            ("~/deep".to_owned(), FileChangeKind::Deleted, 0),
            ("~/deep/down.txt".to_owned(), FileChangeKind::Deleted, 5),
        ];
        assert_eq!(collect_changes(top.path(), before.path(), true), expected);
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_not_followed() {
        let (top, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&before.path().join("tmp/was.txt"), "1");
        std::os::unix::fs::symlink("/usr", top.path().join("tmp")).unwrap();
        let found = collect_changes(top.path(), before.path(), true);
        let expected = [
            ("/tmp".to_owned(), FileChangeKind::Changed, 4),
            ("/tmp/was.txt".to_owned(), FileChangeKind::Deleted, 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_directory_in_place_of_a_file_is_a_change_and_what_is_in_it_is_new() {
        let (top, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&before.path().join("odd"), "1");
        write(&top.path().join("odd/new.txt"), "12");
        let found = collect_changes(top.path(), before.path(), false);
        let expected = [
            (format!("{}/odd", paths::SCRATCH_DIR), FileChangeKind::Changed, 0),
            (format!("{}/odd/new.txt", paths::SCRATCH_DIR), FileChangeKind::Created, 2),
        ];
        assert_eq!(found, expected);
    }
}
