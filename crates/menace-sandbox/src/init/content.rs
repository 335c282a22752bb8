//! What is in the files that a call touched, as a hash: small files, and not too many of them.

use std::ffi::OsStr;
use std::io::Read;

use crate::directory::{Directory, Shut};

/// The largest file that has a hash.
const LARGEST: u64 = 64 << 10;
/// The most that is read of one call's files.
const MOST_FILES: usize = 256;
const MOST_BYTES: u64 = 1 << 20;
/// As many as the hashes of results have.
const DIGITS: usize = 32;
/// How a file of SQLite begins.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// A file, in the directory as it is and as it was before the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    pub now: &'a Directory,
    pub before: Option<&'a Directory>,
    pub name: &'a OsStr,
}

/// Makes hashes until it has read enough.
#[derive(Debug)]
pub(crate) struct Hashing {
    files: usize,
    bytes: u64,
}

impl Default for Hashing {
    fn default() -> Self {
        Self { files: MOST_FILES, bytes: MOST_BYTES }
    }
}

impl Hashing {
    pub(crate) fn has_room_for(&self, size: u64) -> bool {
        size <= LARGEST.min(self.bytes) && self.files > 0
    }

    /// Nothing for what cannot be read, is too large, or is what it was before; nor for a database: it
    /// is whole after each of its transactions, whatever its bytes are.
    pub(crate) fn hash(&mut self, content: Content<'_>, size: u64) -> Option<String> {
        if !self.has_room_for(size) {
            return None;
        }
        self.files -= 1;
        let now = read(content.now, content.name)?;
        self.bytes = self.bytes.saturating_sub(now.len() as u64);
        let before = content.before.and_then(|before| read(before, content.name));
        if now.starts_with(DATABASE) || before.is_some_and(|before| before == now) {
            return None;
        }
        let mut hash = blake3::hash(&now).to_hex().to_string();
        hash.truncate(DIGITS);
        Some(hash)
    }
}

fn read(directory: &Directory, name: &OsStr) -> Option<Vec<u8>> {
    let (file, found) = directory.open_file(name, Shut::PassBy).ok()?;
    if found.size() > LARGEST {
        return None;
    }
    let mut content = Vec::new();
    // Somebody may be writing to it.
    file.take(LARGEST + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= LARGEST).then_some(content)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn hash(hashing: &mut Hashing, top: &Path, name: &str) -> Option<String> {
        let size = fs::symlink_metadata(top.join(name)).unwrap().len();
        let now = Directory::at(top).unwrap();
        hashing.hash(Content { now: &now, before: None, name: OsStr::new(name) }, size)
    }

    #[test]
    fn only_small_files_have_a_hash() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("largest"), vec![1; 64 << 10]).unwrap();
        fs::write(top.path().join("larger"), vec![1; (64 << 10) + 1]).unwrap();
        fs::create_dir(top.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("largest", top.path().join("link")).unwrap();
        nix::unistd::mkfifo(&top.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let hashing = &mut Hashing::default();
        assert_eq!(hash(hashing, top.path(), "largest").map(|hash| hash.len()), Some(DIGITS));
        for name in ["larger", "directory", "link", "pipe"] {
            assert_eq!(hash(hashing, top.path(), name), None, "{name}");
        }
    }

    #[test]
    fn a_database_has_none() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("some.db"), [DATABASE, &[0; 4080]].concat()).unwrap();
        fs::write(top.path().join("some.txt"), [b" ", DATABASE].concat()).unwrap();
        let hashing = &mut Hashing::default();
        assert_eq!(hash(hashing, top.path(), "some.db"), None);
        assert!(hash(hashing, top.path(), "some.txt").is_some());
    }

    #[test]
    fn what_is_read_is_bounded_in_number_and_size() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("large"), vec![1; 64 << 10]).unwrap();
        fs::write(top.path().join("small"), "1").unwrap();
        let count = |name: &str| {
            let mut hashing = Hashing::default();
            (0..1000).filter(|_| hash(&mut hashing, top.path(), name).is_some()).count()
        };
        assert_eq!((count("large"), count("small")), (16, 256));
    }

    #[test]
    fn what_is_as_it_was_has_none() {
        let (now, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (top, text) in [(&now, "same"), (&before, "same")] {
            fs::write(top.path().join("same"), text).unwrap();
        }
        fs::write(now.path().join("other"), "new").unwrap();
        fs::write(before.path().join("other"), "old").unwrap();
        let (now, before) =
            (Directory::at(now.path()).unwrap(), Directory::at(before.path()).unwrap());
        let has_hash = |name: &str| {
            let content = Content { now: &now, before: Some(&before), name: OsStr::new(name) };
            Hashing::default().hash(content, 4).is_some()
        };
        assert!(!has_hash("same") && has_hash("other"));
    }
}
