//! Which files a call created, changed or deleted, told from its writable layer.

use std::fs::{self, DirEntry, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use menace_model::{FileChange, Files, Touched};

use super::paths;
use crate::sys;

/// The longest list; the rest is counted.
const LISTED: usize = 1000;
/// Directories beyond this many entries are not entered any more.
const MOST_WALKED: u64 = 1_000_000;
/// The longest path that anybody could open.
const LONGEST_PATH: usize = 4096;

/// Collects what is found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    files: Files,
}

/// What a directory is called for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The repository: paths are relative to it.
    Repo,
    /// Home, temporary directory and the like.
    Room,
}

/// A layer to be gone through.
#[derive(Debug)]
pub(crate) struct Upper<'a> {
    pub top: &'a Path,
    /// The same directory before the call.
    pub before: &'a Path,
    /// Nothing shines through: what is not in it is not there.
    pub opaque: bool,
    pub shown: Shown,
}

/// A directory that waits for its turn, relative to the top.
#[derive(Debug)]
struct Waiting {
    inner: PathBuf,
    opaque: bool,
}

impl Walk {
    /// Goes through the upper layer of a directory.
    pub(crate) fn upper(&mut self, upper: &Upper<'_>) {
        // An explicit stack: a guest can nest directories deeper than a call stack.
        let mut waiting = vec![Waiting { inner: PathBuf::new(), opaque: upper.opaque }];
        while let Some(directory) = waiting.pop() {
            let path = upper.top.join(&directory.inner);
            let Ok(entries) = fs::read_dir(&path) else { continue };
            let opaque = directory.opaque || is_opaque(&path);
            for entry in entries.flatten() {
                waiting.extend(self.entry(upper, &directory.inner, &entry, opaque));
            }
            if opaque {
                self.missing(upper, &directory.inner);
            }
        }
    }

    /// Notes what was done to one name; a directory is to be entered.
    fn entry(
        &mut self,
        upper: &Upper<'_>,
        inner: &Path,
        entry: &DirEntry,
        opaque: bool,
    ) -> Option<Waiting> {
        let found = entry.metadata().ok()?;
        let path = inner.join(entry.file_name());
        let before = fs::symlink_metadata(upper.before.join(&path)).ok();
        let was_directory = before.as_ref().is_some_and(Metadata::is_dir);
        if is_whiteout(&found) && before.is_some() {
            self.deleted(upper, path);
            return None;
        }
        let what = if before.is_some() { FileChange::Changed } else { FileChange::Created };
        if !found.is_dir() {
            self.note(upper.shown, &path, what, found.len());
            if was_directory {
                self.all_deleted(upper, path);
            }
            return None;
        }
        if !was_directory {
            self.note(upper.shown, &path, what, 0);
        }
        // Below what is new there is nothing that could shine through.
        let opaque = opaque && was_directory;
        (self.files.total < MOST_WALKED).then_some(Waiting { inner: path, opaque })
    }

    /// Notes what was in a directory and is not there any more.
    fn missing(&mut self, upper: &Upper<'_>, inner: &Path) {
        let entries = fs::read_dir(upper.before.join(inner)).into_iter().flatten().flatten();
        for entry in entries {
            let path = inner.join(entry.file_name());
            if fs::symlink_metadata(upper.top.join(&path)).is_err() {
                self.deleted(upper, path);
            }
        }
    }

    /// Notes something that was there, with all that was below it.
    fn deleted(&mut self, upper: &Upper<'_>, path: PathBuf) {
        let Ok(before) = fs::symlink_metadata(upper.before.join(&path)) else { return };
        let bytes = if before.is_dir() { 0 } else { before.len() };
        self.note(upper.shown, &path, FileChange::Deleted, bytes);
        if before.is_dir() {
            self.all_deleted(upper, path);
        }
    }

    fn all_deleted(&mut self, upper: &Upper<'_>, top: PathBuf) {
        let mut waiting = vec![top];
        while let Some(inner) = waiting.pop() {
            if self.files.total >= MOST_WALKED {
                return;
            }
            let entries = fs::read_dir(upper.before.join(&inner)).into_iter().flatten().flatten();
            for entry in entries {
                let Ok(before) = entry.metadata() else { continue };
                let path = inner.join(entry.file_name());
                let bytes = if before.is_dir() { 0 } else { before.len() };
                self.note(upper.shown, &path, FileChange::Deleted, bytes);
                if before.is_dir() {
                    waiting.push(path);
                }
            }
        }
    }

    pub(crate) fn note(&mut self, shown: Shown, path: &Path, what: FileChange, bytes: u64) {
        self.files.total += 1;
        if self.files.touched.len() < LISTED && path.as_os_str().len() < LONGEST_PATH {
            let path = shown.path(path).to_string_lossy().into_owned();
            self.files.touched.push(Touched { path, what, bytes, hash: None });
        }
    }

    pub(crate) fn finish(mut self) -> Files {
        self.files.touched.sort();
        self.files
    }
}

impl Shown {
    fn path(self, inner: &Path) -> PathBuf {
        if self == Self::Repo {
            return inner.to_owned();
        }
        let known = [
            (paths::TMP, "/tmp"),
            (paths::HOME, "~"),
            (paths::SHM, "/dev/shm"),
            (paths::DATA, "data:"),
        ];
        let found = known.iter().find_map(|(name, shown)| {
            inner.strip_prefix(name).ok().map(|rest| (Path::new(shown), rest))
        });
        match found {
            Some((shown, rest)) if rest.as_os_str().is_empty() => shown.to_owned(),
            Some((shown, rest)) => shown.join(rest),
            None => Path::new(paths::BOX).join(inner),
        }
    }
}

/// How overlayfs says that a file of the lower layer is gone.
fn is_whiteout(found: &Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == 0
}

/// How overlayfs says that a directory was made anew where another one had been.
fn is_opaque(directory: &Path) -> bool {
    sys::has_attribute(directory, c"user.overlay.opaque", b"y")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(top: &Path, before: &Path, opaque: bool) -> Vec<(String, FileChange, u64)> {
        let mut walk = Walk::default();
        walk.upper(&Upper { top, before, opaque, shown: Shown::Room });
        let files = walk.finish();
        assert_eq!(files.total, files.touched.len() as u64);
        files.touched.into_iter().map(|file| (file.path, file.what, file.bytes)).collect()
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
        assert_eq!(touched(top.path(), before.path(), false), []);
        let expected = [
            ("/tmp/kept.txt".to_owned(), FileChange::Deleted, 3),
            ("~".to_owned(), FileChange::Deleted, 0),
            ("~/deep".to_owned(), FileChange::Deleted, 0),
            ("~/deep/down.txt".to_owned(), FileChange::Deleted, 5),
        ];
        assert_eq!(touched(top.path(), before.path(), true), expected);
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_not_followed() {
        let (top, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&before.path().join("tmp/was.txt"), "1");
        std::os::unix::fs::symlink("/usr", top.path().join("tmp")).unwrap();
        let found = touched(top.path(), before.path(), true);
        let expected = [
            ("/tmp".to_owned(), FileChange::Changed, 4),
            ("/tmp/was.txt".to_owned(), FileChange::Deleted, 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_directory_in_place_of_a_file_is_a_change_and_what_is_in_it_is_new() {
        let (top, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&before.path().join("odd"), "1");
        write(&top.path().join("odd/new.txt"), "12");
        let found = touched(top.path(), before.path(), false);
        let expected = [
            (format!("{}/odd", paths::BOX), FileChange::Changed, 0),
            (format!("{}/odd/new.txt", paths::BOX), FileChange::Created, 2),
        ];
        assert_eq!(found, expected);
    }
}
