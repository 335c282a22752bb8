//! Opens a SQLite file: creates it, migrates it, and moves a damaged one aside.
//!
//! Callers define the tables. Invariants: a database of another program is never changed; a file
//! with content is never replaced.

mod address;
mod error;
mod migrations;
mod schema_check;

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub(crate) use address::resolve_database_file;
pub(crate) use error::InDatabase;
pub use error::{StoreError, StoreResult};

use crate::StoreNotice;
use crate::files::{self, BACKUP_SUFFIX, FileLock, append_to_file_name, move_aside};

/// Suffixes of the files that are beside a database while it is in use, or after its process was
/// killed, and of its last good copy.
const SIDECAR_SUFFIXES: [&str; 4] = ["-wal", "-shm", "-journal", BACKUP_SUFFIX];
/// The first bytes of every SQLite database.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// How long to wait for locks: transactions are short, but opening a large database is not.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
/// Larger databases are not checked page by page; up to here that takes less than 20 ms.
const MAX_CHECKED_BYTES: u64 = 16 << 20;

/// The schema and journal mode of one kind of database.
#[derive(Debug)]
pub(crate) struct DatabaseSpec {
    /// In the order in which they were written; the number of applied ones is the schema version.
    pub(crate) migrations: &'static [&'static str],
    /// Identifies databases of Menace; `None` where other programs may have created the database.
    pub(crate) application_id: Option<i32>,
    pub(crate) journal_mode: JournalMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JournalMode {
    /// The write-ahead log: readers and a writer do not wait for each other.
    Wal,
    /// A rollback journal: a single file that can be copied at any time, and read where nothing can
    /// be written.
    Rollback,
}

/// Opens `path`, creating or migrating it; returns notices for the user. Damaged files are moved
/// within `home`.
///
/// The caller holds the lock on `path`, so that no other process creates or moves it meanwhile.
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

/// Copies the database to its last good copy. The caller holds the lock on `path`.
pub(crate) fn back_up(path: &Path, connection: &Connection, _lock: &FileLock) -> StoreResult<()> {
    let (copy, draft) =
        (append_to_file_name(path, BACKUP_SUFFIX), append_to_file_name(path, ".bak.new"));
    let failed = |source| files::StoreFileError::from_io("write", &copy, source);
    // SQLite refuses to overwrite a draft that a killed process has left.
    match files::remove_file(&draft) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed(source).into());
        }
        _ => {}
    }
    // Not by copying the file: closing it would release the POSIX locks of other connections.
    connection.execute("VACUUM INTO ?1", [draft.to_string_lossy()]).in_database(path)?;
    let written = menace_files::open_file(&draft).and_then(|file| file.into_file().sync_all());
    written.and_then(|()| files::rename_file(&draft, &copy)).map_err(failed)?;
    Ok(())
}

/// Restores the last good copy, if the database is damaged, or was created anew after damage.
pub(crate) fn recover(
    path: &Path,
    kind: &DatabaseSpec,
    _lock: &FileLock,
) -> StoreResult<Vec<StoreNotice>> {
    let check = |path: &Path| {
        // SQLite treats an empty file as a new database.
        if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
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

/// Opens a database like [`open`], but leaves a damaged one in place.
pub(crate) fn open_in_place(
    path: &Path,
    kind: &DatabaseSpec,
    _lock: &FileLock,
) -> StoreResult<Connection> {
    open_and_migrate(path, kind)
}

/// A further connection to a database that has been opened and checked.
pub(crate) fn connect(path: &Path, kind: &DatabaseSpec) -> StoreResult<Connection> {
    let connection =
        open_without_links(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
            .in_database(path)?;
    configure(&connection, kind).in_database(path)?;
    Ok(connection)
}

/// Opens a database for reading while other processes may write to it: nothing is created, moved or
/// migrated.
///
/// `None` for an empty file, which another process may be about to fill.
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
        // Opening reads nothing, so an error would show only here.
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

/// Opens a file without following a link at its last name; links in its directory are the user's.
fn open_without_links(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let path = resolve_directory(path).unwrap_or_else(|_| path.to_owned());
    let connection = open_with(path, flags)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    Ok(connection)
}

/// The path of a file in its directory, to which links may lead. SQLite would refuse these, too.
fn resolve_directory(path: &Path) -> std::io::Result<PathBuf> {
    let directory = menace_files::resolve_named_path(files::parent_directory(path))?;
    Ok(directory.join(path.file_name().unwrap_or_default()))
}

/// Every file that SQLite opens for Menace.
#[expect(clippy::disallowed_methods, reason = "this is the one place that opens databases")]
fn open_with(path: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags)
}

fn count_tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// Opens a database that cannot be written to as it is on the disk, without its log.
pub(crate) fn open_immutable(
    path: &Path,
    kind: &DatabaseSpec,
) -> StoreResult<(Connection, Option<StoreNotice>)> {
    let whole = resolve_directory(path)
        .map_err(|source| files::StoreFileError::from_io("read", path, source))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    // Without this, SQLite would have to create a file beside it.
    let address = format!("file:{}?immutable=1", escape_uri_path(&whole));
    let connection = open_with(address, flags).in_database(path)?;
    schema_check::check_schema_objects(path, &connection, kind)?;
    let log = fs::symlink_metadata(append_to_file_name(path, "-wal"))
        .map_or(0, |metadata| metadata.len());
    let notice = (log > 0).then(|| StoreNotice::WalNotRead { path: path.to_owned() });
    Ok((connection, notice))
}

/// Escapes a path for use in a `file:` URI.
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
    // Sorting must not need space on another disk, nor leave data there.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    match kind.journal_mode {
        JournalMode::Wal => {
            let mode: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            if mode != "wal" {
                tracing::warn!(mode, "the file system cannot share a database: reading will wait");
            }
            // Safe when the process dies; a power failure may lose the last commits, but not
            // consistency.
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

/// Checks the owner before anything is written: not even the journal mode of another program's
/// database is changed, and none of its triggers or views runs.
fn check_owner(path: &Path, kind: &DatabaseSpec) -> StoreResult<()> {
    if fs::symlink_metadata(path).map_or(0, |metadata| metadata.len()) == 0 {
        return Ok(());
    }
    // Not read-only: a log that was left behind must be recovered first, since its content counts.
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

/// Checks for damage. In databases above [`MAX_CHECKED_BYTES`] it shows only when damaged pages are
/// read.
fn check_integrity(path: &Path, connection: &Connection) -> StoreResult<()> {
    if fs::symlink_metadata(path).map_or(0, |metadata| metadata.len()) > MAX_CHECKED_BYTES {
        return Ok(());
    }
    let check_result: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).in_database(path)?;
    if check_result == "ok" {
        Ok(())
    } else {
        // The first line only names the schema.
        let why = check_result.lines().last().unwrap_or_default().to_owned();
        Err(StoreError::Damaged { path: path.to_owned(), why })
    }
}

/// Refuses an empty file beside a log: SQLite would treat it as a new database, and delete the log.
fn handle_empty_file(path: &Path) -> StoreResult<Option<StoreNotice>> {
    let length = |path: &Path| fs::symlink_metadata(path).ok().map(|metadata| metadata.len());
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const SPEC: DatabaseSpec = DatabaseSpec {
        migrations: &["CREATE TABLE fruit (name TEXT)"],
        application_id: Some(1),
        journal_mode: JournalMode::Rollback,
    };

    #[test]
    fn a_database_is_opened_through_links_to_its_directory_but_is_none() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("directory");
        fs::create_dir(&directory).unwrap();
        drop(open_and_migrate(&directory.join("own #1.db"), &SPEC).unwrap());
        symlink(&directory, place.path().join("way")).unwrap();
        symlink("own #1.db", directory.join("link.db")).unwrap();
        let by_way = place.path().join("way");
        assert!(open_immutable(&by_way.join("own #1.db"), &SPEC).is_ok());
        assert!(connect(&by_way.join("own #1.db"), &SPEC).is_ok());
        for link in [directory.join("link.db"), by_way.join("link.db")] {
            assert!(open_immutable(&link, &SPEC).is_err());
            assert!(connect(&link, &SPEC).is_err());
        }
        assert!(open_immutable(&directory.join("none.db"), &SPEC).is_err());
        assert!(open_immutable(&place.path().join("none/none.db"), &SPEC).is_err());
    }
}
