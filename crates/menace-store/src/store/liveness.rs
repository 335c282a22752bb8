//! Distinguishes active runs from those whose process died: an active run holds a lock on a file of
//! its own.
//!
//! Process ids would not do, since they are reused and differ between containers. Invariant: a
//! process that creates or removes such a file holds the lock on the database, or the lock on the
//! file.

use std::fs::File;
use std::path::{Path, PathBuf};

use menace_files::UntrustedDir;

use crate::RunId;
use crate::files::{self, append_to_file_name, create_parent_directory};

/// The lock of an active run.
#[derive(Debug)]
pub(crate) struct RunLivenessLock {
    path: PathBuf,
    _file: File,
}

impl RunLivenessLock {
    /// To be called before the run is in the database. The caller holds the lock on the database.
    pub(crate) fn claim(
        database: &Path,
        run: &RunId,
        _lock: &files::FileLock,
    ) -> files::StoreFileResult<Self> {
        let path = liveness_file(database, run);
        create_parent_directory(&path)?;
        let file = files::open_or_create(&path)
            .map_err(|source| files::StoreFileError::from_io("create", &path, source))?;
        file.try_lock().map_err(|error| {
            files::StoreFileError::from_io("lock", &path, std::io::Error::from(error))
        })?;
        Ok(Self { path, _file: file })
    }

    /// To be called after the run's end has been stored.
    pub(crate) fn release(self) {
        // A file that remains is removed by the next process that opens the database.
        let _ = files::remove_file(&self.path);
    }

    pub(crate) fn is_held(database: &Path, run: &RunId) -> bool {
        is_locked(&liveness_file(database, run))
    }

    /// Removes the files of ended processes. The caller holds the lock on the database.
    pub(crate) fn remove_stale(database: &Path) {
        let directory = liveness_directory(database);
        let names = UntrustedDir::open(&directory).and_then(|opened| opened.entry_names());
        for path in names.unwrap_or_default().iter().map(|name| directory.join(name)) {
            if !is_locked(&path) {
                let _ = files::remove_file(&path);
            }
        }
    }
}

fn liveness_directory(database: &Path) -> PathBuf {
    append_to_file_name(database, ".running")
}

fn liveness_file(database: &Path, run: &RunId) -> PathBuf {
    liveness_directory(database).join(&run.0)
}

/// A file that cannot be opened counts as locked: an active run must never be taken for a dead one.
fn is_locked(path: &Path) -> bool {
    match menace_files::open_file(path) {
        Ok(file) => file.into_file().try_lock().is_err(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
