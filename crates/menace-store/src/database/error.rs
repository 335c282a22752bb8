//! What can go wrong with a database, and what to do about it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::files;

pub type StoreResult<T> = std::result::Result<T, StoreError>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    File(#[from] files::StoreFileError),
    #[error(
        "PostgreSQL is not supported yet; set DATABASE_URL to a SQLite file, such as sqlite:///menace.db"
    )]
    PostgresUnsupported,
    #[error(
        "DATABASE_URL names a database of the kind `{scheme}`, which cannot be used; \
         set it to a SQLite file, such as sqlite:///menace.db"
    )]
    UnknownScheme { scheme: String },
    #[error(
        "DATABASE_URL names no file that lasts; set it to a SQLite file, such as sqlite:///menace.db"
    )]
    UrlWithoutFile,
    #[error("DATABASE_URL has parameters after `?`, and none is known; leave them out")]
    UrlParameters,
    #[error(
        "`{}` was written by a newer version (its schema is {found}, this one knows {known}); \
         update Menace, or set SANDBOX_DATA_DIR to another directory", path.display()
    )]
    NewerSchema { path: PathBuf, found: i64, known: usize },
    #[error(
        "`{}` belongs to another program; set DATABASE_URL to a file of Menace's own, \
         such as sqlite:///menace.db", path.display()
    )]
    ForeignDatabase { path: PathBuf },
    #[error(
        "`{}` holds the {object}, which Menace did not make: it may have come with the checkout; \
         move the file away, or set SANDBOX_DATA_DIR to another directory", path.display()
    )]
    ForeignObject { path: PathBuf, object: String },
    #[error("`{}` is no SQLite database; is it the right file?", path.display())]
    NotSqlite { path: PathBuf },
    #[error(
        "`{}` is no synergy history; give the `synergy_history.db` of a data directory",
        path.display()
    )]
    NoSynergyHistory { path: PathBuf },
    #[error(
        "`{}` was left in the middle of a change, and reading cannot repair it; \
         the next `menace run` does", path.display()
    )]
    HotJournal { path: PathBuf },
    #[error(
        "`{}` is damaged ({why}); move it away to start anew, \
         or save what can be read with `sqlite3 OLD .recover | sqlite3 NEW`", path.display()
    )]
    Damaged { path: PathBuf, why: String },
    #[error(
        "no space is left for `{}`; free some, \
         or set SANDBOX_DATA_DIR to a directory on another disk", path.display()
    )]
    Full { path: PathBuf, source: rusqlite::Error },
    #[error(
        "`{}` may not be written; make it and its directory writable, \
         or set SANDBOX_DATA_DIR to a directory that is", path.display()
    )]
    NotWritable { path: PathBuf, source: rusqlite::Error },
    #[error(
        "`{}` is busy for too long; another process writes to it, wait until that one is done",
        path.display()
    )]
    Busy { path: PathBuf, source: rusqlite::Error },
    #[error(
        "cannot read or write `{}`: its disk is full or failing; free some space, \
         or set SANDBOX_DATA_DIR to a directory on another disk", path.display()
    )]
    Disk { path: PathBuf, source: rusqlite::Error },
    #[error("cannot use the database `{}`", path.display())]
    Sql { path: PathBuf, source: rusqlite::Error },
    #[error("{what} cannot be written as JSON")]
    NotSerializable { what: String, source: serde_json::Error },
    #[error("`{}` holds {what} that cannot be understood ({why}); was it changed by \
        hand?", path.display())]
    Unreadable { path: PathBuf, what: String, why: String },
    #[error("`{id}` is no name for a run: letters, digits, `-` and `_`, 64 at most")]
    BadRunId { id: String },
    #[error("there is a run `{id}` already")]
    RunExists { id: String },
    #[error("there is no {what} `{id}`; {list}")]
    NotFound { what: &'static str, id: String, list: Cow<'static, str> },
    #[error("`{id}` may be any of {}; give more of it", candidates.join(", "))]
    Ambiguous { id: String, candidates: Vec<String> },
    #[error("{lost} rows of run `{run}` could not be stored")]
    RowsNotStored { run: String, lost: u64, source: Arc<StoreError> },
    #[error("the thread that stores run `{run}` ended before its time; {lost} rows are lost")]
    WriterThreadEnded { run: String, lost: u64 },
}

impl StoreError {
    /// Whether the database could not be written to; it can still be read.
    pub(crate) fn is_not_writable(&self) -> bool {
        use files::StoreFileError;
        matches!(self, Self::NotWritable { .. } | Self::File(StoreFileError::NotWritable { .. }))
    }

    pub(crate) fn from_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if let Some(error) = source.sqlite_error()
            && error.extended_code == rusqlite::ffi::SQLITE_READONLY_ROLLBACK
        {
            return Self::HotJournal { path };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path, source },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::NotWritable { path, source }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { path, source }
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, why: source.to_string() }
            }
            Some(ErrorCode::SystemIoFailure) => Self::Disk { path, source },
            _ => Self::Sql { path, source },
        }
    }
}

/// Names the database in which a statement failed.
pub(crate) trait InDatabase<T> {
    fn in_database(self, path: &Path) -> StoreResult<T>;
}

impl<T> InDatabase<T> for rusqlite::Result<T> {
    fn in_database(self, path: &Path) -> StoreResult<T> {
        self.map_err(|source| StoreError::from_sqlite(path, source))
    }
}
