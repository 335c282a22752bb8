//! `synergy_history.db`: the synergy values of each cycle.
//!
//! The format is that of older tools, which may read and write it, too: one JSON object of numbers
//! per cycle, written under `synergy_history.db.lock`. Their predecessors wrote
//! `synergy_history.json`, which is imported once.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreNotice;
use crate::database::{
    self, DatabaseSpec, InDatabase, JournalMode, LOCK_TIMEOUT, StoreError, StoreResult,
};
use crate::files::{self, FileLock, LoadedFile, move_aside, parent_directory};

const SYNERGY_DB: DatabaseSpec = DatabaseSpec {
    migrations: &[include_str!("../sql/synergy/001_start.sql")],
    application_id: None,
    journal_mode: JournalMode::Rollback,
};

/// Values of `synergy_*` metrics by name.
pub type SynergyEntry = BTreeMap<String, f64>;

#[derive(Debug)]
pub struct SynergyHistory {
    path: PathBuf,
    connection: Connection,
}

impl SynergyHistory {
    /// Opens the history, creating it if necessary, and imports a JSON file beside it.
    pub fn open(path: &Path) -> StoreResult<(Self, Vec<StoreNotice>)> {
        let lock = FileLock::acquire(path, LOCK_TIMEOUT)?;
        let (connection, mut notices) =
            database::open(path, &SYNERGY_DB, parent_directory(path), &lock)?;
        let mut history = Self { path: path.to_owned(), connection };
        notices.extend(history.import_legacy_json(&lock)?);
        Ok((history, notices))
    }

    /// Like [`SynergyHistory::open`], but restores the last good copy if the history is damaged, or
    /// was created anew after damage.
    pub fn recover(path: &Path) -> StoreResult<(Self, Vec<StoreNotice>)> {
        let mut notices = {
            let lock = FileLock::acquire(path, LOCK_TIMEOUT)?;
            database::recover(path, &SYNERGY_DB, &lock)?
        };
        let (history, more) = Self::open(path)?;
        notices.extend(more);
        Ok((history, notices))
    }

    /// Appends all of these entries, or none. The previous content is kept as the last good copy.
    pub fn append(&mut self, entries: &[SynergyEntry]) -> StoreResult<()> {
        let lock = FileLock::acquire(&self.path, LOCK_TIMEOUT)?;
        database::back_up(&self.path, &self.connection, &lock)?;
        self.append_locked(entries, &lock)
    }

    /// The last `limit` entries, oldest first. Entries that have no valid numbers are left out,
    /// with a notice.
    pub fn last_entries(&self, most: u32) -> StoreResult<(Vec<SynergyEntry>, Option<StoreNotice>)> {
        read_last_entries(&self.path, &self.connection, most)
    }

    fn append_locked(&mut self, entries: &[SynergyEntry], _lock: &FileLock) -> StoreResult<()> {
        let mut texts = Vec::with_capacity(entries.len());
        for entry in entries {
            // JSON cannot represent NaN and infinities.
            let finite: BTreeMap<_, _> = entry.iter().filter(|(_, n)| n.is_finite()).collect();
            texts.push(serde_json::to_string(&finite).map_err(|source| {
                StoreError::NotSerializable {
                    what: "an entry of the synergy history".into(),
                    source,
                }
            })?);
        }
        let mut add = || -> rusqlite::Result<()> {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for text in &texts {
                transaction.execute(include_str!("../sql/synergy/add.sql"), [text])?;
            }
            transaction.commit()
        };
        add().in_database(&self.path)
    }

    fn import_legacy_json(&mut self, lock: &FileLock) -> StoreResult<Option<StoreNotice>> {
        let path = legacy_json_path(&self.path);
        let legacy: Vec<SynergyEntry> = match files::load(&path)? {
            LoadedFile::Missing => return Ok(None),
            LoadedFile::Corrupt(notice) => return Ok(Some(notice)),
            LoadedFile::Valid(entries) => entries,
        };
        let entries = legacy.len();
        // If the process was killed between importing and renaming, the entries are at the end
        // already.
        let (last, _) = self.last_entries(u32::try_from(entries).unwrap_or(u32::MAX))?;
        if last != legacy {
            self.append_locked(&legacy, lock)?;
        }
        let to = files::append_to_file_name(&path, ".migrated");
        let to = if files::exists(&to) {
            move_aside(&path, "migrated", &[])?
        } else {
            files::rename_file(&path, &to)
                .map_err(|source| files::StoreFileError::from_io("move", &path, source))?;
            to
        };
        Ok(Some(StoreNotice::LegacyImported { path, to, entries }))
    }
}

/// The history opened for reading: nothing is created, moved, imported or locked.
#[derive(Debug)]
pub struct SynergyReader {
    path: PathBuf,
    /// `None` while there is only the JSON file.
    connection: Option<Connection>,
}

impl SynergyReader {
    /// `None` when there is no history yet. The notice is for the user.
    pub fn open(path: &Path) -> StoreResult<Option<(Self, Option<StoreNotice>)>> {
        let found =
            if files::exists(path) { database::open_read_only(path, &SYNERGY_DB)? } else { None };
        let (connection, notice) = match found {
            Some((connection, notice)) => (Some(connection), notice),
            None if files::exists(&legacy_json_path(path)) => (None, None),
            None => return Ok(None),
        };
        if let Some(connection) = &connection {
            let has_table: bool = connection
                .query_row(include_str!("../sql/synergy/has_table.sql"), [], |row| row.get(0))
                .in_database(path)?;
            if !has_table {
                return Err(StoreError::NoSynergyHistory { path: path.to_owned() });
            }
        }
        Ok(Some((Self { path: path.to_owned(), connection }, notice)))
    }

    /// Like [`SynergyHistory::last_entries`], including entries that the next writer will import.
    pub fn last_entries(&self, most: u32) -> StoreResult<(Vec<SynergyEntry>, Option<StoreNotice>)> {
        let legacy = self.read_legacy_json()?;
        let keep = most as usize;
        let reach = u32::try_from(legacy.len()).unwrap_or(u32::MAX).max(most);
        let (mut entries, notice) = match &self.connection {
            Some(connection) => read_last_entries(&self.path, connection, reach)?,
            None => Default::default(),
        };
        if !entries.ends_with(&legacy) {
            entries.extend(legacy);
        }
        entries.drain(..entries.len().saturating_sub(keep));
        Ok((entries, notice))
    }

    fn read_legacy_json(&self) -> StoreResult<Vec<SynergyEntry>> {
        let path = legacy_json_path(&self.path);
        let bytes = match files::read_file(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(files::StoreFileError::from_io("read", &path, source).into()),
        };
        serde_json::from_slice(&bytes).map_err(|error| StoreError::Unreadable {
            path,
            what: "a list of entries".into(),
            why: error.to_string(),
        })
    }
}

/// The JSON file of older tools.
fn legacy_json_path(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn read_last_entries(
    path: &Path,
    connection: &Connection,
    limit: u32,
) -> StoreResult<(Vec<SynergyEntry>, Option<StoreNotice>)> {
    let texts = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare_cached(include_str!("../sql/synergy/last.sql"))?;
        statement.query_map([limit], |row| row.get(0))?.collect()
    };
    let texts = texts().in_database(path)?;
    let entries: Vec<SynergyEntry> =
        texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let skipped = texts.len() - entries.len();
    let notice = StoreNotice::SkippedEntries { path: path.to_owned(), entries: skipped };
    Ok((entries, (skipped > 0).then_some(notice)))
}
