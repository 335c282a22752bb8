//! Which files a call created, changed or deleted, told from its writable layer.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use menace_model::{FileChange, Files, Touched};

use super::content::{Content, Hashing};
use super::paths;
use crate::directory::{Directory, Found, Shut};
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
    hashing: Hashing,
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

/// A directory that is being gone through, as it is and as it was.
#[derive(Debug)]
struct Pair {
    now: Directory,
    before: Option<Directory>,
    /// Where it is, relative to the top.
    inner: PathBuf,
    opaque: bool,
    /// Directories in it that wait for their turn.
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    name: OsString,
    opaque: bool,
}

impl Walk {
    /// Goes through the upper layer of a directory. A guest may still be changing it, so that no
    /// link is followed.
    pub(crate) fn upper(&mut self, upper: &Upper<'_>) {
        let Ok(now) = Directory::at(upper.top) else { return };
        let before = Directory::at(upper.before).ok();
        let shown = upper.shown;
        // An explicit stack: a guest can nest directories deeper than a call stack.
        let mut pairs = vec![self.enter(shown, now, before, PathBuf::new(), upper.opaque)];
        while let Some(pair) = pairs.last_mut() {
            let Some(Waiting { name, opaque }) = pair.waiting.pop() else {
                pairs.pop();
                continue;
            };
            let inner = pair.inner.join(&name);
            if let Ok(now) = pair.now.open(&name, Shut::PassBy) {
                let before = pair.before.as_ref();
                let before = before.and_then(|before| before.open(&name, Shut::PassBy).ok());
                pairs.push(self.enter(shown, now, before, inner, opaque));
            }
        }
    }

    /// Notes what was done in a directory, but not in those below it.
    fn enter(
        &mut self,
        shown: Shown,
        now: Directory,
        before: Option<Directory>,
        inner: PathBuf,
        opaque: bool,
    ) -> Pair {
        let opaque = opaque || is_opaque(&now);
        let mut pair = Pair { now, before, inner, opaque, waiting: Vec::new() };
        for name in pair.now.names().unwrap_or_default() {
            let waiting = self.entry(shown, &pair, name);
            pair.waiting.extend(waiting);
        }
        if opaque {
            self.missing(shown, &pair);
        }
        pair
    }

    /// Notes what was done to one name; a directory is to be entered.
    fn entry(&mut self, shown: Shown, pair: &Pair, name: OsString) -> Option<Waiting> {
        let found = pair.now.look_at(&name).ok()?;
        let path = pair.inner.join(&name);
        let before = pair.before.as_ref().and_then(|before| before.look_at(&name).ok());
        let was_directory = before.as_ref().is_some_and(Found::is_directory);
        // How overlayfs says that a file of the lower layer is gone.
        if found.is_null_device() && before.is_some() {
            self.deleted(shown, pair, &name);
            return None;
        }
        let what = if before.is_some() { FileChange::Changed } else { FileChange::Created };
        if !found.is_directory() {
            let content = Content { now: &pair.now, before: pair.before.as_ref(), name: &name };
            let would_hash = found.is_file() && self.would_hash(found.size());
            let hash = if would_hash { self.hash(content, found.size()) } else { None };
            self.note(shown, &path, what, found.size(), hash);
            if was_directory {
                self.all_deleted(shown, pair, &name);
            }
            return None;
        }
        if !was_directory {
            self.note(shown, &path, what, 0, None);
        }
        // Below what is new there is nothing that could shine through.
        let opaque = pair.opaque && was_directory;
        let go_on = self.files.total < MOST_WALKED && path.as_os_str().len() < LONGEST_PATH;
        go_on.then_some(Waiting { name, opaque })
    }

    /// Notes what was in a directory and is not there any more.
    fn missing(&mut self, shown: Shown, pair: &Pair) {
        let before = pair.before.as_ref().and_then(|before| before.names().ok());
        for name in before.into_iter().flatten() {
            if pair.now.look_at(&name).is_err() {
                self.deleted(shown, pair, &name);
            }
        }
    }

    /// Notes something that was there, with all that was below it.
    fn deleted(&mut self, shown: Shown, pair: &Pair, name: &OsStr) {
        let before = pair.before.as_ref().and_then(|before| before.look_at(name).ok());
        let Some(before) = before else { return };
        self.note(shown, &pair.inner.join(name), FileChange::Deleted, weight(&before), None);
        if before.is_directory() {
            self.all_deleted(shown, pair, name);
        }
    }

    fn all_deleted(&mut self, shown: Shown, pair: &Pair, name: &OsStr) {
        let open = |above: &Directory, name: &OsStr, inner: &Path| {
            let opened = above.open(name, Shut::PassBy).ok()?;
            let names = opened.names().ok()?;
            Some((opened, names, inner.join(name)))
        };
        let top = pair.before.as_ref().and_then(|before| open(before, name, &pair.inner));
        let mut directories: Vec<_> = top.into_iter().collect();
        while let Some((directory, names, inner)) = directories.last_mut() {
            let Some(name) = names.pop() else {
                directories.pop();
                continue;
            };
            if self.files.total >= MOST_WALKED {
                return;
            }
            let Ok(before) = directory.look_at(&name) else { continue };
            self.note(shown, &inner.join(&name), FileChange::Deleted, weight(&before), None);
            if before.is_directory() && inner.as_os_str().len() < LONGEST_PATH {
                let below = open(directory, &name, inner);
                directories.extend(below);
            }
        }
    }

    /// Whether a file of that size may have a hash.
    pub(crate) fn would_hash(&self, size: u64) -> bool {
        self.files.touched.len() < LISTED && self.hashing.has_room_for(size)
    }

    pub(crate) fn hash(&mut self, content: Content<'_>, size: u64) -> Option<String> {
        self.hashing.hash(content, size)
    }

    pub(crate) fn note(
        &mut self,
        shown: Shown,
        path: &Path,
        what: FileChange,
        bytes: u64,
        hash: Option<String>,
    ) {
        self.files.total += 1;
        if self.files.touched.len() < LISTED && path.as_os_str().len() < LONGEST_PATH {
            let path = shown.path(path).to_string_lossy().into_owned();
            self.files.touched.push(Touched { path, what, bytes, hash });
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

/// What is said to be lost with it.
fn weight(before: &Found) -> u64 {
    if before.is_directory() { 0 } else { before.size() }
}

/// How overlayfs says that a directory was made anew where another one had been.
fn is_opaque(directory: &Directory) -> bool {
    sys::has_attribute(directory.as_fd(), c"user.overlay.opaque", b"y")
}

#[cfg(test)]
mod tests {
    use std::fs;

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
