//! Which `.env` and YAML files the user trusts: a list outside of any checkout, by path and by the
//! hash of the contents, so that a file that changes is not trusted any longer.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use menace_files::{UntrustedDir, create_named_directories, resolve_named_path};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::FileTrust;

/// Below the user's data directory.
const STORE_DIRECTORY: &str = "menace";
const STORE_FILE: &str = "trusted_files.json";
const MAX_STORE_BYTES: u64 = 4 << 20;

#[derive(Debug, Error)]
pub enum TrustedFilesError {
    #[error(
        "there is no place for the list of trusted files outside of the checkout: set \
         XDG_DATA_HOME to a directory of yours"
    )]
    NoPlace,
    #[error("cannot read the list of trusted files: {source}: move `{}` away", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the list of trusted files `{}`", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// The list, read.
#[derive(Debug, Clone, Default)]
pub struct TrustedFiles {
    data_home: Option<PathBuf>,
    stored: StoredList,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct StoredList {
    /// BLAKE3 of the contents, in hexadecimal digits, by absolute path.
    files: BTreeMap<PathBuf, String>,
}

impl TrustedFiles {
    /// Reads the list below the user's data directory; none is an empty one. A checkout must not
    /// trust itself: a data directory inside of `checkout` counts as none.
    pub fn read(data_home: Option<PathBuf>, checkout: &Path) -> Result<Self, TrustedFilesError> {
        let checkout = resolve_named_path(checkout).unwrap_or_else(|_| checkout.to_owned());
        let is_outside = |home: &PathBuf| {
            let there = home.ancestors().find_map(|above| resolve_named_path(above).ok());
            !there.is_some_and(|there| there.starts_with(&checkout))
        };
        let Some(home) = data_home.filter(is_outside) else { return Ok(Self::default()) };
        let path = home.join(STORE_DIRECTORY).join(STORE_FILE);
        let relative = Path::new(STORE_DIRECTORY).join(STORE_FILE);
        let text = UntrustedDir::open(&home)
            .and_then(|dir| dir.read_to_string(&relative, MAX_STORE_BYTES));
        let stored = match text {
            Ok(text) => serde_json::from_str(&text).map_err(io::Error::from),
            Err(error) if is_unreachable(&error) => Ok(StoredList::default()),
            Err(error) => Err(error),
        };
        let stored = stored.map_err(|source| TrustedFilesError::Read { path, source })?;
        Ok(Self { data_home: Some(home), stored })
    }

    /// Whether this file with these contents is trusted.
    pub fn trust_of(&self, path: &Path, contents: &[u8]) -> FileTrust {
        match self.stored.files.get(path) {
            Some(hash) if *hash == hash_contents(contents) => FileTrust::Trusted,
            _ => FileTrust::Untrusted,
        }
    }

    /// All paths of the list.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.stored.files.keys().map(PathBuf::as_path)
    }

    pub fn add(&mut self, path: &Path, contents: &[u8]) {
        self.stored.files.insert(path.to_owned(), hash_contents(contents));
    }

    /// Removes this file, or all files in this directory, from the list; returns those removed.
    pub fn remove(&mut self, path: &Path) -> Vec<PathBuf> {
        let removed: Vec<PathBuf> = self
            .paths()
            .filter(|it| *it == path || it.parent() == Some(path))
            .map(Into::into)
            .collect();
        for path in &removed {
            self.stored.files.remove(path);
        }
        removed
    }

    /// Writes the list; only the user may read it.
    pub fn write(&self) -> Result<(), TrustedFilesError> {
        let home = self.data_home.as_ref().ok_or(TrustedFilesError::NoPlace)?;
        let written = create_named_directories(home).and_then(|()| {
            let dir = UntrustedDir::open(home)?.create_directories(Path::new(STORE_DIRECTORY))?;
            let mut text = serde_json::to_vec_pretty(&self.stored).map_err(io::Error::from)?;
            text.push(b'\n');
            dir.replace_private(Path::new(STORE_FILE), &text)
        });
        let path = home.join(STORE_DIRECTORY).join(STORE_FILE);
        written.map_err(|source| TrustedFilesError::Write { path, source })
    }
}

/// Whether the error means that there is no list which this user could have written.
fn is_unreachable(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

fn hash_contents(contents: &[u8]) -> String {
    blake3::hash(contents).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_trusted_until_it_changes_or_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let read = || TrustedFiles::read(Some(home.path().into()), Path::new("/repo")).unwrap();
        let path = Path::new("/repo/.env");
        assert_eq!(read().trust_of(path, b"A=1"), FileTrust::Untrusted);
        let mut files = read();
        files.add(path, b"A=1");
        files.write().unwrap();
        assert_eq!(read().trust_of(path, b"A=1"), FileTrust::Trusted);
        assert_eq!(read().trust_of(path, b"A=2"), FileTrust::Untrusted);
        assert_eq!(read().trust_of(Path::new("/other/.env"), b"A=1"), FileTrust::Untrusted);
        let mut files = read();
        assert_eq!(files.remove(Path::new("/repo")), [path]);
        files.write().unwrap();
        assert_eq!(read().trust_of(path, b"A=1"), FileTrust::Untrusted);
    }

    #[test]
    fn a_damaged_list_is_an_error_and_trusts_nothing() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("menace")).unwrap();
        std::fs::write(home.path().join("menace/trusted_files.json"), "{").unwrap();
        let message = TrustedFiles::read(Some(home.path().into()), Path::new("/repo"))
            .unwrap_err()
            .to_string();
        assert!(message.contains("trusted_files.json` away"), "{message}");
    }

    #[test]
    fn without_a_home_nothing_is_trusted_and_nothing_can_be() {
        let files = TrustedFiles::read(None, Path::new("/repo")).unwrap();
        assert_eq!(files.trust_of(Path::new("/repo/.env"), b""), FileTrust::Untrusted);
        assert!(matches!(files.write(), Err(TrustedFilesError::NoPlace)));
    }

    #[test]
    fn a_list_inside_of_the_checkout_counts_as_none() {
        let checkout = tempfile::tempdir().unwrap();
        let home = checkout.path().join(".local/share");
        let path = checkout.path().join(".env");
        let mut files = TrustedFiles::read(Some(home.clone()), Path::new("/repo")).unwrap();
        files.add(&path, b"A=1");
        files.write().unwrap();
        let files = TrustedFiles::read(Some(home), checkout.path()).unwrap();
        assert_eq!(files.trust_of(&path, b"A=1"), FileTrust::Untrusted);
        assert!(matches!(files.write(), Err(TrustedFilesError::NoPlace)));
    }
}
