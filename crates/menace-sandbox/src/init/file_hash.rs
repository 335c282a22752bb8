//! Hashes the content of small files that a call changed.

use std::ffi::OsStr;
use std::io::Read;

use crate::directory::{InaccessiblePolicy, OpenDirectory};

/// The largest file that has a hash.
const MAX_HASHED_FILE_BYTES: u64 = 64 << 10;
/// The most files that are hashed, and bytes that are read, for one call.
const MAX_HASHED_FILES: usize = 256;
const MAX_HASHED_BYTES: u64 = 1 << 20;
/// Hashes of files are truncated to the length of the hashes of results.
const HASH_DIGITS: usize = 32;
/// How a file of SQLite begins.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// A file, in its directory after the call and before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileVersions<'a> {
    pub now: &'a OpenDirectory,
    pub before: Option<&'a OpenDirectory>,
    pub name: &'a OsStr,
}

/// Hashes files until it has read as much as is allowed.
#[derive(Debug)]
pub(crate) struct FileHasher {
    files_left: usize,
    bytes_left: u64,
}

impl Default for FileHasher {
    fn default() -> Self {
        Self { files_left: MAX_HASHED_FILES, bytes_left: MAX_HASHED_BYTES }
    }
}

impl FileHasher {
    pub(crate) fn can_hash(&self, size: u64) -> bool {
        size <= MAX_HASHED_FILE_BYTES.min(self.bytes_left) && self.files_left > 0
    }

    /// `None` for files that cannot be read, are too large, or are as before the call; also for
    /// SQLite databases, which are consistent after each transaction whatever their bytes are.
    pub(crate) fn hash(&mut self, content: FileVersions<'_>, size: u64) -> Option<String> {
        if !self.can_hash(size) {
            return None;
        }
        self.files_left -= 1;
        let now = read_small_file(content.now, content.name)?;
        self.bytes_left = self.bytes_left.saturating_sub(now.len() as u64);
        let before = content.before.and_then(|before| read_small_file(before, content.name));
        if now.starts_with(SQLITE_MAGIC) || before.is_some_and(|before| before == now) {
            return None;
        }
        let mut hash = blake3::hash(&now).to_hex().to_string();
        hash.truncate(HASH_DIGITS);
        Some(hash)
    }
}

fn read_small_file(directory: &OpenDirectory, name: &OsStr) -> Option<Vec<u8>> {
    let (file, found) = directory.open_file(name, InaccessiblePolicy::Skip).ok()?;
    if found.size() > MAX_HASHED_FILE_BYTES {
        return None;
    }
    let mut content = Vec::new();
    // A process may still be writing to the file.
    file.take(MAX_HASHED_FILE_BYTES + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= MAX_HASHED_FILE_BYTES).then_some(content)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn hash_file(hasher: &mut FileHasher, top: &Path, name: &str) -> Option<String> {
        let size = fs::symlink_metadata(top.join(name)).unwrap().len();
        let now = OpenDirectory::open_path(top).unwrap();
        hasher.hash(FileVersions { now: &now, before: None, name: OsStr::new(name) }, size)
    }

    #[test]
    fn only_small_files_have_a_hash() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("largest"), vec![1; 64 << 10]).unwrap();
        fs::write(top.path().join("larger"), vec![1; (64 << 10) + 1]).unwrap();
        fs::create_dir(top.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("largest", top.path().join("link")).unwrap();
        nix::unistd::mkfifo(&top.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let hasher = &mut FileHasher::default();
        assert_eq!(
            hash_file(hasher, top.path(), "largest").map(|hash| hash.len()),
            Some(HASH_DIGITS)
        );
        for name in ["larger", "directory", "link", "pipe"] {
            assert_eq!(hash_file(hasher, top.path(), name), None, "{name}");
        }
    }

    #[test]
    fn a_database_has_none() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("some.db"), [SQLITE_MAGIC, &[0; 4080]].concat()).unwrap();
        fs::write(top.path().join("some.txt"), [b" ", SQLITE_MAGIC].concat()).unwrap();
        let hasher = &mut FileHasher::default();
        assert_eq!(hash_file(hasher, top.path(), "some.db"), None);
        assert!(hash_file(hasher, top.path(), "some.txt").is_some());
    }

    #[test]
    fn what_is_read_is_bounded_in_number_and_size() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("large"), vec![1; 64 << 10]).unwrap();
        fs::write(top.path().join("small"), "1").unwrap();
        let count = |name: &str| {
            let mut hasher = FileHasher::default();
            (0..1000).filter(|_| hash_file(&mut hasher, top.path(), name).is_some()).count()
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
        let (now, before) = (
            OpenDirectory::open_path(now.path()).unwrap(),
            OpenDirectory::open_path(before.path()).unwrap(),
        );
        let has_hash = |name: &str| {
            let content = FileVersions { now: &now, before: Some(&before), name: OsStr::new(name) };
            FileHasher::default().hash(content, 4).is_some()
        };
        assert!(!has_hash("same") && has_hash("other"));
    }
}
