//! Opens a SQLite file: creates it, brings it up to date, moves a damaged one aside.
//!
//! What is in it belongs to others. Invariants: a database of another program is never touched; a
//! file that holds something is never replaced.

mod address;
mod error;
mod migrations;

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub(crate) use address::file_of;
pub use error::{Error, Result};

use crate::Notice;
use crate::files::{self, BACKUP, Lock, beside, move_aside};

/// What lies beside a database while it is in use, or after its user was killed; and its last good copy.
const COMPANIONS: [&str; 4] = ["-wal", "-shm", "-journal", BACKUP];
/// How every database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// How long others may take; transactions are short, opening a large database is not.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Looking at every page takes less than 20 ms up to here.
const SMALL_BYTES: u64 = 16 << 20;

/// What a database is for.
#[derive(Debug)]
pub(crate) struct Kind {
    /// In the order in which they were written; their number is the version.
    pub(crate) migrations: &'static [&'static str],
    /// Tells ours from those of other programs; nothing where others may have made it.
    pub(crate) application: Option<i32>,
    pub(crate) journal: Journal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Journal {
    /// Readers and a writer do not wait for each other.
    Wal,
    /// One file that can be copied at any time, and read where nothing can be written.
    Rollback,
}

/// Opens `path`, and says what became of it. `home` is where files are ours to move.
///
/// The caller holds the lock on `path`: nobody else creates it or moves it meanwhile.
pub(crate) fn open(
    path: &Path,
    kind: &Kind,
    home: &Path,
    _lock: &Lock,
) -> Result<(Connection, Vec<Notice>)> {
    let mut notices = Vec::new();
    if let Some(notice) = emptied(path)? {
        notices.push(notice);
    }
    let damage = match prepared(path, kind) {
        Ok(connection) => return Ok((connection, notices)),
        Err(Error::Damaged { why, .. }) if path.starts_with(home) => why,
        Err(error) => return Err(error),
    };
    let to = move_aside(path, "corrupt", &COMPANIONS)?;
    notices.push(Notice::MovedAside { path: path.to_owned(), to, why: damage });
    Ok((prepared(path, kind)?, notices))
}

/// Keeps what is in a database now as its last good copy. The caller holds the lock on `path`.
pub(crate) fn back_up(path: &Path, connection: &Connection, _lock: &Lock) -> Result<()> {
    let (copy, draft) = (beside(path, BACKUP), beside(path, ".bak.new"));
    let failed = |source| files::Error::of("write", &copy, source);
    // SQLite refuses to write over what a killed one has left.
    match fs::remove_file(&draft) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed(source).into());
        }
        _ => {}
    }
    // Not a copy of the file: closing that would take the locks of other connections away.
    connection
        .execute("VACUUM INTO ?1", [draft.to_string_lossy()])
        .map_err(|source| Error::of(path, source))?;
    let written = fs::File::open(&draft).and_then(|file| file.sync_all());
    written.and_then(|()| fs::rename(&draft, &copy)).map_err(failed)?;
    Ok(())
}

/// Puts the last good copy in the place of a database that is damaged, or was started anew after damage.
pub(crate) fn recover(path: &Path, kind: &Kind, _lock: &Lock) -> Result<Vec<Notice>> {
    let check = |path: &Path| {
        // SQLite takes it for a new database.
        if fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0) {
            return Ok(Some("it is empty".to_owned()));
        }
        match prepared(path, kind) {
            Ok(_) => Ok(None),
            Err(Error::Damaged { why, .. }) => Ok(Some(why)),
            Err(error) => Err(error),
        }
    };
    files::restore(path, &COMPANIONS, &check)
}

/// The same for those who only want to look: what is damaged stays where it is.
pub(crate) fn open_in_place(path: &Path, kind: &Kind, _lock: &Lock) -> Result<Connection> {
    prepared(path, kind)
}

/// One more connection to a database that is open already.
pub(crate) fn connect(path: &Path, kind: &Kind) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|source| Error::of(path, source))?;
    configure(&connection, kind).map_err(|source| Error::of(path, source))?;
    Ok(connection)
}

/// A database to read while others may write to it: nothing is created, moved or brought up to date.
///
/// Nothing where it has no content: somebody may be about to fill it.
pub(crate) fn read_only(path: &Path, kind: &Kind) -> Result<Option<(Connection, Option<Notice>)>> {
    let unreadable = |source| files::Error::of("read", path, source);
    let mut head = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(MAGIC.len() as u64).read_to_end(&mut head).map_err(unreadable)?;
    if head.is_empty() {
        return Ok(None);
    }
    if head != MAGIC {
        return Err(Error::NoDatabase { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let live = || -> rusqlite::Result<Connection> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        // Opening reads nothing; this does.
        tables(&connection)?;
        Ok(connection)
    };
    let (connection, notice) = match live().map_err(|source| Error::of(path, source)) {
        Ok(connection) => (connection, None),
        Err(error) if error.is_for_want_of_writing() => look(path)?,
        Err(error) => return Err(error),
    };
    check(path, &connection)?;
    let failed = |source| Error::of(path, source);
    if tables(&connection).map_err(failed)? == 0 {
        return Ok(None);
    }
    migrations::refuse_newer(path, &connection, kind)?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    if kind.application.is_some_and(|ours| ours != application) {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    Ok(Some((connection, notice)))
}

fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// A database that nothing may be written beside, as it is on the disk.
pub(crate) fn look(path: &Path) -> Result<(Connection, Option<Notice>)> {
    let whole = path.canonicalize().map_err(|source| files::Error::of("read", path, source))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // Without this, SQLite would have to make a file beside it.
    let address = format!("file:{}?immutable=1", escaped(&whole));
    let connection =
        Connection::open_with_flags(address, flags).map_err(|source| Error::of(path, source))?;
    let log = fs::metadata(beside(path, "-wal")).map_or(0, |metadata| metadata.len());
    let notice = (log > 0).then(|| Notice::LogUnread { path: path.to_owned() });
    Ok((connection, notice))
}

/// As a part of an address.
fn escaped(path: &Path) -> String {
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

fn configure(connection: &Connection, kind: &Kind) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "foreign_keys", true)?;
    // Sorting must not need space on another disk, nor leave what it sorts there.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    match kind.journal {
        Journal::Wal => {
            let mode: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            if mode != "wal" {
                tracing::warn!(mode, "the file system cannot share a database: reading will wait");
            }
            // Safe when the process dies; a power cut may take the last commits, never the order.
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        }
        Journal::Rollback => connection.pragma_update(None, "synchronous", "FULL")?,
    }
    Ok(())
}

fn prepared(path: &Path, kind: &Kind) -> Result<Connection> {
    refuse_foreign(path, kind)?;
    let mut connection = connect(path, kind)?;
    check(path, &connection)?;
    migrations::run(path, &mut connection, kind)?;
    Ok(connection)
}

/// Before anything is written: not even the journal mode of somebody else's database is changed.
fn refuse_foreign(path: &Path, kind: &Kind) -> Result<()> {
    let Some(ours) = kind.application else {
        return Ok(());
    };
    if fs::metadata(path).map_or(0, |metadata| metadata.len()) == 0 {
        return Ok(());
    }
    // Not read-only: what is in a log that was left behind counts, and must be recovered first.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let seen = || -> rusqlite::Result<(i32, i64)> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        let application =
            connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        Ok((application, tables(&connection)?))
    };
    let (application, tables) = seen().map_err(|source| Error::of(path, source))?;
    if application == ours || (application == 0 && tables == 0) {
        Ok(())
    } else {
        Err(Error::Foreign { path: path.to_owned() })
    }
}

/// Damage in the middle of a large database shows only when somebody reads there.
fn check(path: &Path, connection: &Connection) -> Result<()> {
    if fs::metadata(path).map_or(0, |metadata| metadata.len()) > SMALL_BYTES {
        return Ok(());
    }
    let said: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|source| Error::of(path, source))?;
    if said == "ok" {
        Ok(())
    } else {
        // The first line names the schema only.
        let why = said.lines().last().unwrap_or_default().to_owned();
        Err(Error::Damaged { path: path.to_owned(), why })
    }
}

/// SQLite takes a file without content for a new database, and throws the log beside it away.
fn emptied(path: &Path) -> Result<Option<Notice>> {
    let length = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
    if length(path) != Some(0) {
        return Ok(None);
    }
    if length(&beside(path, "-wal")).is_none_or(|bytes| bytes == 0) {
        if fs::symlink_metadata(beside(path, BACKUP)).is_ok() {
            move_aside(path, "corrupt", &COMPANIONS)?;
        }
        return Ok(Some(Notice::WasEmpty { path: path.to_owned() }));
    }
    let to = move_aside(path, "corrupt", &COMPANIONS)?;
    let why = "it is empty, but its log is not".into();
    Ok(Some(Notice::MovedAside { path: path.to_owned(), to, why }))
}
