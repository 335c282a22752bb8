//! Opens a SQLite file: creates it, brings it up to date, moves a damaged one aside.
//!
//! What is in it belongs to others. Invariants: a database of another program is never touched; a
//! file that holds something is never replaced.

mod address;
mod error;
mod migrations;
mod schema_check;

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub(crate) use address::resolve_database_file;
pub(crate) use error::InDatabase;
pub use error::{StoreError, StoreResult};

use crate::StoreNotice;
use crate::files::{self, BACKUP_SUFFIX, FileLock, append_to_file_name, move_aside};

/// What lies beside a database while it is in use, or after its user was killed; and its last good
/// copy.
const SIDECAR_SUFFIXES: [&str; 4] = ["-wal", "-shm", "-journal", BACKUP_SUFFIX];
/// How every database begins.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// How long others may take; transactions are short, opening a large database is not.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// Looking at every page takes less than 20 ms up to here.
const MAX_CHECKED_BYTES: u64 = 16 << 20;

/// What a database is for.
#[derive(Debug)]
pub(crate) struct DatabaseSpec {
    /// In the order in which they were written; their number is the version.
    pub(crate) migrations: &'static [&'static str],
    /// Tells ours from those of other programs; nothing where others may have made it.
    pub(crate) application_id: Option<i32>,
    pub(crate) journal_mode: JournalMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalMode {
    /// Readers and a writer do not wait for each other.
    Wal,
    /// One file that can be copied at any time, and read where nothing can be written.
    Rollback,
}

/// Opens `path`, and says what became of it. `home` is where files are ours to move.
///
/// The caller holds the lock on `path`: no other process creates or moves it meanwhile.
pub(crate) fn open(
    path: &Path,
    kind: &DatabaseSpec,
    home: &Path,
    _lock: &FileLock,
) -> StoreResult<(Connection, Vec<StoreNotice>)> {
    let mut notices = Vec::new();
    if let Some(notice) = handle_empty_file(path)? {
        notices.push(notice);
    }
    let damage = match open_and_migrate(path, kind) {
        Ok(connection) => return Ok((connection, notices)),
        Err(StoreError::Damaged { why, .. }) if path.starts_with(home) => why,
        Err(error) => return Err(error),
    };
    let to = move_aside(path, "corrupt", &SIDECAR_SUFFIXES)?;
    notices.push(StoreNotice::MovedAside { path: path.to_owned(), to, why: damage });
    Ok((open_and_migrate(path, kind)?, notices))
}

/// Keeps what is in a database now as its last good copy. The caller holds the lock on `path`.
pub(crate) fn back_up(path: &Path, connection: &Connection, _lock: &FileLock) -> StoreResult<()> {
    let (copy, draft) =
        (append_to_file_name(path, BACKUP_SUFFIX), append_to_file_name(path, ".bak.new"));
    let failed = |source| files::StoreFileError::from_io("write", &copy, source);
    // SQLite refuses to write over what a killed one has left.
    match files::remove_file(&draft) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed(source).into());
        }
        _ => {}
    }
    // Not a copy of the file: closing that would take the locks of other connections away.
    connection.execute("VACUUM INTO ?1", [draft.to_string_lossy()]).in_database(path)?;
    let written = menace_files::open_file(&draft).and_then(|file| file.into_file().sync_all());
    written.and_then(|()| files::rename_file(&draft, &copy)).map_err(failed)?;
    Ok(())
}

/// Puts the last good copy in the place of a database that is damaged, or was started anew after
/// damage.
pub(crate) fn recover(
    path: &Path,
    kind: &DatabaseSpec,
    _lock: &FileLock,
) -> StoreResult<Vec<StoreNotice>> {
    let check = |path: &Path| {
        // SQLite takes it for a new database.
        if fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
            return Ok(Some("it is empty".to_owned()));
        }
        match open_and_migrate(path, kind) {
            Ok(_) => Ok(None),
            Err(StoreError::Damaged { why, .. }) => Ok(Some(why)),
            Err(error) => Err(error),
        }
    };
    files::restore(path, &SIDECAR_SUFFIXES, &check)
}

/// The same for reading: a damaged database stays where it is.
pub(crate) fn open_in_place(
    path: &Path,
    kind: &DatabaseSpec,
    _lock: &FileLock,
) -> StoreResult<Connection> {
    open_and_migrate(path, kind)
}

/// One more connection to a database that is open already.
pub(crate) fn connect(path: &Path, kind: &DatabaseSpec) -> StoreResult<Connection> {
    let connection =
        open_without_links(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
            .in_database(path)?;
    configure(&connection, kind).in_database(path)?;
    Ok(connection)
}

/// A database to read while others may write to it: nothing is created, moved or brought up to
/// date.
///
/// `None` for an empty file: another process may be about to fill it.
pub(crate) fn open_read_only(
    path: &Path,
    kind: &DatabaseSpec,
) -> StoreResult<Option<(Connection, Option<StoreNotice>)>> {
    let unreadable = |source| files::StoreFileError::from_io("read", path, source);
    let mut head = Vec::new();
    let file = menace_files::open_file(path).map_err(unreadable)?.into_file();
    file.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut head).map_err(unreadable)?;
    if head.is_empty() {
        return Ok(None);
    }
    if head != SQLITE_MAGIC {
        return Err(StoreError::NotSqlite { path: path.to_owned() });
    }
    let live = || -> rusqlite::Result<Connection> {
        let connection = open_without_links(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Opening reads nothing; this does.
        count_tables(&connection)?;
        Ok(connection)
    };
    let (connection, notice) = match live().in_database(path) {
        Ok(connection) => (connection, None),
        Err(error) if error.is_not_writable() => open_immutable(path, kind)?,
        Err(error) => return Err(error),
    };
    schema_check::check_schema_objects(path, &connection, kind)?;
    check_integrity(path, &connection)?;
    if count_tables(&connection).in_database(path)? == 0 {
        return Ok(None);
    }
    migrations::check_schema_version(path, &connection, kind)?;
    let application: i32 = connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .in_database(path)?;
    if kind.application_id.is_some_and(|ours| ours != application) {
        return Err(StoreError::ForeignDatabase { path: path.to_owned() });
    }
    Ok(Some((connection, notice)))
}

/// Opens a file that is no link; the way to its directory is the user's.
fn open_without_links(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let directory = files::parent_directory(path).canonicalize();
    let path = match (directory, path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_owned(),
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    Ok(connection)
}

fn count_tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// A database that nothing may be written beside, as it is on the disk.
pub(crate) fn open_immutable(
    path: &Path,
    kind: &DatabaseSpec,
) -> StoreResult<(Connection, Option<StoreNotice>)> {
    let whole = path
        .canonicalize()
        .map_err(|source| files::StoreFileError::from_io("read", path, source))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // Without this, SQLite would have to make a file beside it.
    let address = format!("file:{}?immutable=1", escape_uri_path(&whole));
    let connection = Connection::open_with_flags(address, flags).in_database(path)?;
    schema_check::check_schema_objects(path, &connection, kind)?;
    let log = fs::metadata(append_to_file_name(path, "-wal")).map_or(0, |metadata| metadata.len());
    let notice = (log > 0).then(|| StoreNotice::WalNotRead { path: path.to_owned() });
    Ok((connection, notice))
}

/// As a part of an address.
fn escape_uri_path(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn configure(connection: &Connection, kind: &DatabaseSpec) -> rusqlite::Result<()> {
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "foreign_keys", true)?;
    // Sorting must not need space on another disk, nor leave what it sorts there.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    match kind.journal_mode {
        JournalMode::Wal => {
            let mode: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            if mode != "wal" {
                tracing::warn!(mode, "the file system cannot share a database: reading will wait");
            }
            // Safe when the process dies; a power cut may take the last commits, never the order.
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        }
        JournalMode::Rollback => connection.pragma_update(None, "synchronous", "FULL")?,
    }
    Ok(())
}

fn open_and_migrate(path: &Path, kind: &DatabaseSpec) -> StoreResult<Connection> {
    check_owner(path, kind)?;
    let mut connection = connect(path, kind)?;
    check_integrity(path, &connection)?;
    migrations::apply_migrations(path, &mut connection, kind)?;
    Ok(connection)
}

/// Before anything is written: not even the journal mode of another program's database is changed,
/// and nothing runs that Menace did not make.
fn check_owner(path: &Path, kind: &DatabaseSpec) -> StoreResult<()> {
    if fs::metadata(path).map_or(0, |metadata| metadata.len()) == 0 {
        return Ok(());
    }
    // Not read-only: what is in a log that was left behind counts, and must be recovered first.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let connection = open_without_links(path, flags).in_database(path)?;
    if let Some(ours) = kind.application_id {
        let read_identity = || -> rusqlite::Result<(i32, i64)> {
            let application =
                connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
            Ok((application, count_tables(&connection)?))
        };
        let (application, tables) = read_identity().in_database(path)?;
        if application != ours && (application != 0 || tables != 0) {
            return Err(StoreError::ForeignDatabase { path: path.to_owned() });
        }
    }
    schema_check::check_schema_objects(path, &connection, kind)
}

/// Damage in the middle of a large database shows only when those pages are read.
fn check_integrity(path: &Path, connection: &Connection) -> StoreResult<()> {
    if fs::metadata(path).map_or(0, |metadata| metadata.len()) > MAX_CHECKED_BYTES {
        return Ok(());
    }
    let check_result: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).in_database(path)?;
    if check_result == "ok" {
        Ok(())
    } else {
        // The first line names the schema only.
        let why = check_result.lines().last().unwrap_or_default().to_owned();
        Err(StoreError::Damaged { path: path.to_owned(), why })
    }
}

/// SQLite takes a file without content for a new database, and throws the log beside it away.
fn handle_empty_file(path: &Path) -> StoreResult<Option<StoreNotice>> {
    let length = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
    if length(path) != Some(0) {
        return Ok(None);
    }
    if length(&append_to_file_name(path, "-wal")).is_none_or(|bytes| bytes == 0) {
        if fs::symlink_metadata(append_to_file_name(path, BACKUP_SUFFIX)).is_ok() {
            move_aside(path, "corrupt", &SIDECAR_SUFFIXES)?;
        }
        return Ok(Some(StoreNotice::EmptyDatabase { path: path.to_owned() }));
    }
    let to = move_aside(path, "corrupt", &SIDECAR_SUFFIXES)?;
    let why = "it is empty, but its log is not".into();
    Ok(Some(StoreNotice::MovedAside { path: path.to_owned(), to, why }))
}
