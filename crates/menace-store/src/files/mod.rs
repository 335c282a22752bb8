//! Files that several processes share: written whole, locked, backed up, moved aside when damaged.
//!
//! Callers define the content. Invariant: at every moment a reader finds the old content or the new
//! one, and content is only ever replaced by a newer version of it.

mod atomic;
mod error;
mod json;
mod lines;
mod lock;
mod quarantine;
mod restore;

use std::fs::File;
use std::path::{Path, PathBuf};

use menace_files::open_parent;

pub use atomic::write_atomic;
pub use error::{StoreFileError, StoreFileResult};
pub use json::{LoadedFile, load, recover, save};
pub use lines::{append_line, read_lines};
pub use lock::FileLock;
pub use restore::has_restorable_copy;

pub(crate) use quarantine::move_aside;
pub(crate) use restore::restore;

/// The largest file that is read: histories are far smaller.
const MAX_DATA_FILE_BYTES: u64 = 1 << 30;

/// What the last good version of a file is called, added to its name.
pub(crate) const BACKUP_SUFFIX: &str = ".bak";

/// `path` with a suffix added to its file name.
pub(crate) fn append_to_file_name(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// The directory of a file; `.` for a bare name.
pub(crate) fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens a file for reading and writing, and creates it if it is missing. A link or a pipe of that
/// name is an error, since data directories may come with a checkout.
pub(crate) fn open_or_create(path: &Path) -> std::io::Result<File> {
    let (parent, name) = open_parent(path)?;
    parent.open_or_create(name)
}

/// Reads a file that may have come with a checkout: no links, no pipes, at most
/// [`MAX_DATA_FILE_BYTES`].
pub(crate) fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    menace_files::read_file(path, MAX_DATA_FILE_BYTES)
}

/// Whether there is an entry of this name, even a link.
pub(crate) fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

pub(crate) fn remove_file(path: &Path) -> std::io::Result<()> {
    let (parent, name) = open_parent(path)?;
    parent.remove_file(name)
}

/// To another name in the same directory.
pub(crate) fn rename_file(path: &Path, to: &Path) -> std::io::Result<()> {
    let (parent, name) = open_parent(path)?;
    parent.rename(name, Path::new(to.file_name().unwrap_or_default()))
}

/// Creates the directory of `path`, with all above it.
pub(crate) fn create_parent_directory(path: &Path) -> StoreFileResult<()> {
    let directory = parent_directory(path);
    menace_files::create_named_directories(directory)
        .map_err(|source| StoreFileError::from_io("create", directory, source))
}

#[cfg(test)]
mod tests;
