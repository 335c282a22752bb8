//! Tells runs that go on from those whose process died: a live one holds a lock on a file of its own.
//!
//! Numbers of processes would not do: they are used again, and differ from container to container.
//! Invariant: whoever creates or removes such a file holds the lock on the database, or the lock on
//! the file.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::RunId;
use crate::files::{self, beside, create_directory};

/// Held while a run goes on.
#[derive(Debug)]
pub(crate) struct Presence {
    path: PathBuf,
    _file: File,
}

impl Presence {
    /// Before the run is in the database. The caller holds the lock on that.
    pub(crate) fn claim(database: &Path, run: &RunId, _lock: &files::Lock) -> files::Result<Self> {
        let path = place(database, run);
        create_directory(&path)?;
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| files::Error::of("create", &path, source))?;
        file.try_lock()
            .map_err(|error| files::Error::of("lock", &path, std::io::Error::from(error)))?;
        Ok(Self { path, _file: file })
    }

    /// After the database knows how the run ended.
    pub(crate) fn release(self) {
        // A file that stays is removed by the next who opens the database.
        let _ = fs::remove_file(&self.path);
    }

    pub(crate) fn is_held(database: &Path, run: &RunId) -> bool {
        is_locked(&place(database, run))
    }

    /// Removes the files of those who are gone. The caller holds the lock on the database.
    pub(crate) fn sweep(database: &Path) {
        for entry in fs::read_dir(directory(database)).into_iter().flatten().flatten() {
            if !is_locked(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn directory(database: &Path) -> PathBuf {
    beside(database, ".running")
}

fn place(database: &Path, run: &RunId) -> PathBuf {
    directory(database).join(&run.0)
}

/// Whatever cannot be looked at counts as held: a live run must never be taken for a dead one.
fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => file.try_lock().is_err(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}
