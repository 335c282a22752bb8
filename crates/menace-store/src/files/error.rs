//! What can go wrong with a file, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub type StoreFileResult<T> = std::result::Result<T, StoreFileError>;

#[derive(Debug, thiserror::Error)]
pub enum StoreFileError {
    #[error(
        "cannot {what} `{}`: it may not be written; \
         make it writable, or set SANDBOX_DATA_DIR to a directory that is", path.display()
    )]
    NotWritable { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "cannot {what} `{}`: no space is left; \
         free some, or set SANDBOX_DATA_DIR to a directory on another disk", path.display()
    )]
    Full { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "cannot {what} `{}`: a file is where a directory should be; \
         move it, or set SANDBOX_DATA_DIR to another directory", path.display()
    )]
    NotADirectory { what: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot {what} `{}`", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "`{}` is locked by process {owner} for more than {} s; \
         wait until that one is done, or end it", path.display(), waited.as_secs_f64()
    )]
    Locked { path: PathBuf, owner: String, waited: Duration },
    #[error("cannot write `{}` as JSON", path.display())]
    NotSerializable { path: PathBuf, source: serde_json::Error },
}

impl StoreFileError {
    /// Whether the file does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }

    /// `what` is a verb, as in "cannot read `path`".
    pub(crate) fn from_io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem if what != "read" => {
                Self::NotWritable { what, path, source }
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full { what, path, source },
            // `mkdir` fails on an existing path only when it is not a directory.
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
                Self::NotADirectory { what, path, source }
            }
            _ => Self::Io { what, path, source },
        }
    }
}
