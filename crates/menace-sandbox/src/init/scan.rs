//! A directory tree as it is, to be compared with what it was.
//!
//! Directories go by number and are opened one below the other, so that neither the depth of a tree
//! nor the length of a path matters; a guest can make both larger than the kernel can name.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use menace_model::FileChange;

use super::layer::Written;

/// The number of the directory at the top.
pub(super) const TOP: u32 = 0;

/// What to do about a directory that its owner may not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shut {
    Refuse,
    PassBy,
    /// It is as it was once nobody has it open any more.
    OpenUp,
}

/// All that an owner may do to a directory.
const OPEN: u32 = 0o700;

/// An open directory. What is in it is reached without naming a path.
#[derive(Debug)]
pub(super) struct Directory {
    file: File,
    mode_to_restore: Option<u32>,
}

impl Directory {
    pub(super) fn open(path: &Path, shut: Shut) -> io::Result<Self> {
        let mut mode_to_restore = None;
        if shut == Shut::OpenUp {
            let found = fs::symlink_metadata(path)?;
            let mode = found.mode() & 0o7777;
            if found.is_dir() && mode & OPEN != OPEN {
                fs::set_permissions(path, fs::Permissions::from_mode(mode | OPEN))?;
                mode_to_restore = Some(mode);
            }
        }
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EMFILE) => io::Error::other("directories are nested too deeply"),
            _ => error,
        })?;
        Ok(Self { file, mode_to_restore })
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    pub(super) fn at(&self, name: &OsStr) -> PathBuf {
        self.path().join(name)
    }

    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(self.path())?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Some(mode) = self.mode_to_restore {
            // If it is gone by now, so is its mode.
            let _ = self.file.set_permissions(fs::Permissions::from_mode(mode));
        }
    }
}

/// What is compared: a guest can set the times of a file, but not this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    mode: u32,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    stamp: Stamp,
    /// What it takes, which is less than its size when it has holes.
    bytes: u64,
    /// The number of a directory.
    directory: Option<u32>,
}

impl Entry {
    fn of(found: &Metadata, directory: Option<u32>) -> Self {
        let stamp = if found.is_dir() {
            // Whatever happens in it shows there.
            Stamp { mode: found.mode(), inode: 0, size: 0, changed: (0, 0) }
        } else {
            let changed = (found.ctime(), found.ctime_nsec());
            Stamp { mode: found.mode(), inode: found.ino(), size: found.len(), changed }
        };
        Self { stamp, bytes: bytes(found), directory }
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

fn bytes(found: &Metadata) -> u64 {
    if found.is_file() { found.blocks() * 512 } else { 0 }
}

/// Something that is there and was not, or was and is not, or is not what it was.
#[derive(Debug)]
pub(super) struct Difference<'a> {
    pub(super) what: FileChange,
    /// The number of the directory.
    pub(super) parent: u32,
    pub(super) name: &'a OsStr,
    /// As it is; as it was when it is gone.
    pub(super) entry: &'a Entry,
    /// The directory that it is in is itself no difference.
    pub(super) topmost: bool,
    /// A directory then and now: only its mode can differ.
    pub(super) only_mode: bool,
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    /// By the number of the directory and the name in it.
    entries: BTreeMap<(u32, OsString), Entry>,
    /// The directory above each directory, and its name there.
    places: BTreeMap<u32, (u32, OsString)>,
    pub(super) written: Written,
}

impl Scan {
    /// Looks at everything below `top`. Directories that are where `like` has one get its numbers.
    pub(super) fn of(top: &Path, like: Option<&Self>) -> io::Result<Self> {
        let mut scan = Self::default();
        let mut fresh = like.map_or(TOP, Self::last_number);
        walk(top, Shut::OpenUp, |parent, name, found| {
            let key = (parent, name.to_owned());
            let number = found.is_dir().then(|| {
                let known = like.and_then(|like| like.entries.get(&key)?.directory);
                known.unwrap_or_else(|| {
                    fresh += 1;
                    fresh
                })
            });
            if let Some(number) = number {
                scan.places.insert(number, key.clone());
            }
            let entry = Entry::of(found, number);
            scan.written.entries += 1;
            scan.written.bytes += entry.bytes;
            scan.entries.insert(key, entry);
            ControlFlow::Continue(number.unwrap_or(TOP))
        })?;
        Ok(scan)
    }

    fn last_number(&self) -> u32 {
        self.places.keys().next_back().copied().unwrap_or(TOP)
    }

    fn has_directory(&self, number: u32) -> bool {
        number == TOP || self.places.contains_key(&number)
    }

    /// What a directory is called where it is; nothing for the top.
    pub(super) fn place(&self, number: u32) -> Option<(u32, &OsStr)> {
        self.places.get(&number).map(|(parent, name)| (*parent, name.as_os_str()))
    }

    pub(super) fn path(&self, mut parent: u32, name: &OsStr) -> PathBuf {
        let mut names = vec![name];
        while let Some((above, name)) = self.place(parent) {
            names.push(name);
            parent = above;
        }
        names.into_iter().rev().collect()
    }

    /// What is different from how it was `before`; this scan has the other one's numbers.
    pub(super) fn since<'a>(&'a self, before: &'a Self) -> Vec<Difference<'a>> {
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
                (Some(_), Some(_)) => (FileChange::Changed, before),
                (Some(_), None) => (FileChange::Created, before),
                (None, _) => (FileChange::Deleted, self),
            };
            let Some(((parent, name), entry)) = is.or(was) else { continue };
            let directory =
                |found: Option<(_, &Entry)>| found.is_some_and(|(_, one)| one.is_directory());
            differences.push(Difference {
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

/// What lies below `top`, without remembering any of it, for as long as it is worth to `go_on`.
pub(super) fn weigh(top: &Path, mut go_on: impl FnMut() -> bool) -> io::Result<Written> {
    let mut written = Written::default();
    walk(top, Shut::PassBy, |_, _, found| {
        written.entries += 1;
        written.bytes += bytes(found);
        if go_on() { ControlFlow::Continue(TOP) } else { ControlFlow::Break(()) }
    })?;
    Ok(written)
}

#[derive(Debug)]
struct Frame {
    directory: Directory,
    names: Vec<OsString>,
    number: u32,
}

/// Visits everything below `top`, directories before what is in them. The visitor is given the
/// number of the directory and a name in it, and gives directories their number.
fn walk(
    top: &Path,
    shut: Shut,
    mut visit: impl FnMut(u32, &OsStr, &Metadata) -> ControlFlow<(), u32>,
) -> io::Result<()> {
    let enter = |path: &Path, number| -> io::Result<Frame> {
        let directory = Directory::open(path, shut)?;
        let mut names = directory.names()?;
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(Frame { directory, names, number })
    };
    let mut frames = vec![enter(top, TOP)?];
    while let Some(frame) = frames.last_mut() {
        let Some(name) = frame.names.pop() else {
            frames.pop();
            continue;
        };
        let path = frame.directory.at(&name);
        // Gone meanwhile.
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let ControlFlow::Continue(number) = visit(frame.number, &name, &found) else {
            return Ok(());
        };
        if found.is_dir() {
            match enter(&path, number) {
                Ok(frame) => frames.push(frame),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied && shut == Shut::PassBy => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(before: &Scan, now: &Scan) -> Vec<(String, FileChange, bool)> {
        let mut found: Vec<_> = now
            .since(before)
            .into_iter()
            .map(|one| {
                let from = if one.what == FileChange::Deleted { before } else { now };
                let path = from.path(one.parent, one.name).to_string_lossy().into_owned();
                (path, one.what, one.topmost)
            })
            .collect();
        found.sort();
        found
    }

    #[test]
    fn what_was_made_changed_and_removed_is_told_apart() {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        fs::create_dir_all(at("gone/deep")).unwrap();
        fs::create_dir(at("kept")).unwrap();
        for name in ["gone/deep/a", "kept/b", "kept/c", "odd"] {
            fs::write(at(name), "1").unwrap();
        }
        let before = Scan::of(top.path(), None).unwrap();
        assert_eq!(differences(&before, &Scan::of(top.path(), Some(&before)).unwrap()), []);
        fs::remove_dir_all(at("gone")).unwrap();
        fs::write(at("kept/b"), "2").unwrap();
        fs::remove_file(at("odd")).unwrap();
        fs::create_dir_all(at("odd/new")).unwrap();
        let now = Scan::of(top.path(), Some(&before)).unwrap();
        let expected = [
            ("gone", FileChange::Deleted, true),
            ("gone/deep", FileChange::Deleted, false),
            ("gone/deep/a", FileChange::Deleted, false),
            ("kept/b", FileChange::Changed, true),
            ("odd", FileChange::Changed, true),
            ("odd/new", FileChange::Created, false),
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
        let before = Scan::of(top.path(), None).unwrap();
        fs::remove_dir_all(&package).unwrap();
        fs::create_dir(&package).unwrap();
        let now = Scan::of(top.path(), Some(&before)).unwrap();
        let expected = [("package/a".to_owned(), FileChange::Deleted, true)];
        assert_eq!(differences(&before, &now), expected);
    }

    #[test]
    fn holes_weigh_nothing() {
        let top = tempfile::tempdir().unwrap();
        let file = File::create(top.path().join("sparse")).unwrap();
        file.set_len(1 << 40).unwrap();
        let written = weigh(top.path(), || true).unwrap();
        assert_eq!(written.entries, 1);
        assert!(written.bytes < 1 << 20, "{written:?}");
    }
}
