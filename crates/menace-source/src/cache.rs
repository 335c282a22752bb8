//! Keeps the facts of files between runs, by path and content.
//!
//! Invariant: a cache never changes a result. It is bound to the exact code that wrote it, and
//! a file that is damaged or of another build is left aside and written anew.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use menace_files::UntrustedDir;
use rustc_hash::FxHashMap;

use crate::facts::FileFacts;

const CACHE_MAGIC: &[u8; 16] = b"menace-source-1\n";
const BUILD_FINGERPRINT: &str = env!("MENACE_SOURCE_FINGERPRINT");
const HASH_BYTES: usize = 32;

const MAX_CACHE_BYTES: u64 = 4 << 30;

/// Identifies one file in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FactsCacheKey([u8; HASH_BYTES]);

impl FactsCacheKey {
    pub(crate) fn compute(path: &str, content: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(path.as_bytes());
        hasher.update(&[0]);
        hasher.update(content);
        Self(*hasher.finalize().as_bytes())
    }
}

/// Why a cache could not be read or written; the analysis only takes longer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FactsCacheError {
    #[error("analysis cache `{}` is damaged and will be rebuilt", .path.display())]
    Damaged { path: PathBuf },
    #[error("cannot use the analysis cache `{}`", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot encode the analysis cache")]
    Encode(#[from] postcard::Error),
}

/// The cache of one repository, as it was when it was opened.
#[derive(Debug, Default)]
pub(crate) struct FactsCache {
    bytes: Vec<u8>,
    entries: FxHashMap<FactsCacheKey, (usize, usize)>,
}

impl FactsCache {
    /// The cache file of a repository.
    pub(crate) fn file_path(directory: &Path, repository: &Path) -> PathBuf {
        let name = blake3::hash(repository.as_os_str().as_encoded_bytes()).to_hex();
        directory.join(format!("source-{}.bin", &name[..16]))
    }

    /// Opens a cache; a missing one, or one of another build, is empty.
    pub(crate) fn open(path: &Path) -> Result<Self, FactsCacheError> {
        let bytes = match menace_files::read_file(path, MAX_CACHE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(FactsCacheError::Io { path: path.to_owned(), source }),
        };
        let damaged = || FactsCacheError::Damaged { path: path.to_owned() };
        let body = bytes.strip_prefix(CACHE_MAGIC).ok_or_else(damaged)?;
        let Some(body) = body.strip_prefix(BUILD_FINGERPRINT.as_bytes()) else {
            return Ok(Self::default());
        };
        let (checksum, body) = body.split_at_checked(HASH_BYTES).ok_or_else(damaged)?;
        if checksum != blake3::hash(body).as_bytes() {
            return Err(damaged());
        }
        let mut entries = FxHashMap::default();
        let mut at = bytes.len() - body.len();
        while at < bytes.len() {
            let (key, range) = read_entry(&bytes, at).ok_or_else(damaged)?;
            at = range.1;
            entries.insert(key, range);
        }
        Ok(Self { bytes, entries })
    }

    pub(crate) fn get(&self, key: &FactsCacheKey) -> Option<FileFacts> {
        postcard::from_bytes(self.entry_bytes(key)?).ok()
    }

    fn entry_bytes(&self, key: &FactsCacheKey) -> Option<&[u8]> {
        self.entries.get(key).map(|&(start, end)| &self.bytes[start..end])
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Writes the entries that this analysis used, old and new.
    #[expect(clippy::disallowed_methods, reason = "the user's own cache directory")]
    pub(crate) fn save(
        &self,
        path: &Path,
        in_use: &[FactsCacheKey],
        fresh: &FxHashMap<FactsCacheKey, Vec<u8>>,
    ) -> Result<(), FactsCacheError> {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        bytes.extend_from_slice(CACHE_MAGIC);
        bytes.extend_from_slice(BUILD_FINGERPRINT.as_bytes());
        let body = bytes.len() + HASH_BYTES;
        bytes.resize(body, 0);
        for key in in_use {
            if let Some(encoded) =
                fresh.get(key).map(Vec::as_slice).or_else(|| self.entry_bytes(key))
            {
                bytes.extend_from_slice(&key.0);
                bytes.extend_from_slice(&(encoded.len() as u64).to_le_bytes());
                bytes.extend_from_slice(encoded);
            }
        }
        let checksum = blake3::hash(&bytes[body..]);
        bytes[body - HASH_BYTES..body].copy_from_slice(checksum.as_bytes());
        let write = || -> io::Result<()> {
            let directory = path.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            let name = Path::new(path.file_name().unwrap_or_default());
            UntrustedDir::open(directory)?.replace_cache(name, &bytes)
        };
        write().map_err(|source| FactsCacheError::Io { path: path.to_owned(), source })
    }
}

pub(crate) fn encode_facts(facts: &FileFacts) -> Result<Vec<u8>, FactsCacheError> {
    Ok(postcard::to_stdvec(facts)?)
}

fn read_entry(bytes: &[u8], at: usize) -> Option<(FactsCacheKey, (usize, usize))> {
    let key = bytes.get(at..at + HASH_BYTES)?.try_into().ok()?;
    let length = bytes.get(at + HASH_BYTES..at + HASH_BYTES + 8)?.try_into().ok()?;
    let start = at + HASH_BYTES + 8;
    let end = start.checked_add(usize::try_from(u64::from_le_bytes(length)).ok()?)?;
    (end <= bytes.len()).then_some((FactsCacheKey(key), (start, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save_sample_cache(directory: &Path) -> (PathBuf, FactsCacheKey) {
        let path = FactsCache::file_path(directory, Path::new("/some/repository"));
        let key = FactsCacheKey::compute("a.py", b"x = 1");
        let facts = FileFacts { defined_names: vec!["x".into()], ..FileFacts::default() };
        let fresh = FxHashMap::from_iter([(key, encode_facts(&facts).unwrap())]);
        FactsCache::default().save(&path, &[key], &fresh).unwrap();
        (path, key)
    }

    #[test]
    fn what_was_saved_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let (path, key) = save_sample_cache(directory.path());
        let cache = FactsCache::open(&path).unwrap();
        assert_eq!(cache.get(&key).unwrap().defined_names, ["x"]);
        assert!(cache.get(&FactsCacheKey::compute("b.py", b"x = 1")).is_none());
        assert!(cache.get(&FactsCacheKey::compute("a.py", b"x = 2")).is_none());
    }

    #[test]
    fn entries_no_longer_in_use_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let (path, _) = save_sample_cache(directory.path());
        let cache = FactsCache::open(&path).unwrap();
        cache.save(&path, &[], &FxHashMap::default()).unwrap();
        assert_eq!(FactsCache::open(&path).unwrap().len(), 0);
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let (path, key) = save_sample_cache(directory.path());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            fs::write(&path, &bytes).unwrap();
            let kept = FactsCache::open(&path).is_ok_and(|cache| cache.get(&key).is_some());
            assert!(!kept, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            let kept = FactsCache::open(&path).is_ok_and(|cache| cache.get(&key).is_some());
            assert!(!kept, "cut at {at}");
        }
    }
}
