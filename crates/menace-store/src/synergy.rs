//! `synergy_history.db`: what sections were worth together beyond what they were worth alone.
//!
//! Its shape is that of the older tools, which may read and write it, too: one JSON object of
//! numbers per cycle, written under `synergy_history.db.lock`. Still older ones wrote
//! `synergy_history.json`, which is taken over once.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::Notice;
use crate::database::{self, Error, Journal, Kind, PATIENCE, Result};
use crate::files::{self, Loaded, Lock, directory, move_aside};

const KIND: Kind = Kind {
    migrations: &[include_str!("../sql/synergy/001_start.sql")],
    application: None,
    journal: Journal::Rollback,
};

/// `synergy_*` numbers by name.
pub type Entry = BTreeMap<String, f64>;

#[derive(Debug)]
pub struct SynergyHistory {
    path: PathBuf,
    connection: Connection,
}

impl SynergyHistory {
    /// Opens the history, or creates it; takes over a list in JSON that lies beside it.
    pub fn open(path: &Path) -> Result<(Self, Vec<Notice>)> {
        let lock = Lock::acquire(path, PATIENCE)?;
        let (connection, mut notices) = database::open(path, &KIND, directory(path), &lock)?;
        let mut history = Self { path: path.to_owned(), connection };
        notices.extend(history.take_over(&lock)?);
        Ok((history, notices))
    }

    /// As [`SynergyHistory::open`], from the last good copy where the history is damaged, or was started
    /// anew after damage.
    pub fn recover(path: &Path) -> Result<(Self, Vec<Notice>)> {
        let mut notices = {
            let lock = Lock::acquire(path, PATIENCE)?;
            database::recover(path, &KIND, &lock)?
        };
        let (history, more) = Self::open(path)?;
        notices.extend(more);
        Ok((history, notices))
    }

    /// Adds entries at the end: all of them, or none. What was there before is kept as the last good copy.
    pub fn append(&mut self, entries: &[Entry]) -> Result<()> {
        let lock = Lock::acquire(&self.path, PATIENCE)?;
        database::back_up(&self.path, &self.connection, &lock)?;
        self.append_locked(entries, &lock)
    }

    /// The last `limit` entries, oldest first. Entries that are no numbers are left out and told of.
    pub fn last(&self, limit: u32) -> Result<(Vec<Entry>, Option<Notice>)> {
        last(&self.path, &self.connection, limit)
    }

    fn append_locked(&mut self, entries: &[Entry], _lock: &Lock) -> Result<()> {
        let mut texts = Vec::with_capacity(entries.len());
        for entry in entries {
            // JSON has no word for what is not a number.
            let finite: BTreeMap<_, _> = entry.iter().filter(|(_, n)| n.is_finite()).collect();
            texts.push(serde_json::to_string(&finite).map_err(|source| Error::Unwritable {
                what: "an entry of the synergy history".into(),
                source,
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
        add().map_err(|source| Error::of(&self.path, source))
    }

    fn take_over(&mut self, lock: &Lock) -> Result<Option<Notice>> {
        let path = older(&self.path);
        let legacy: Vec<Entry> = match files::load(&path)? {
            Loaded::Missing => return Ok(None),
            Loaded::Corrupt(notice) => return Ok(Some(notice)),
            Loaded::Fine(entries) => entries,
        };
        let entries = legacy.len();
        // Killed between here and there, we would find them at the end, and the file still here.
        let (last, _) = self.last(u32::try_from(entries).unwrap_or(u32::MAX))?;
        if last != legacy {
            self.append_locked(&legacy, lock)?;
        }
        let to = files::beside(&path, ".migrated");
        let to = if to.exists() {
            move_aside(&path, "migrated", &[])?
        } else {
            fs::rename(&path, &to).map_err(|source| files::Error::of("move", &path, source))?;
            to
        };
        Ok(Some(Notice::TakenOver { path, to, entries }))
    }
}

/// The same history for those who only look: nothing is created, moved, taken over or locked.
#[derive(Debug)]
pub struct SynergyReader {
    path: PathBuf,
    /// Nothing while there is only a list in JSON.
    connection: Option<Connection>,
}

impl SynergyReader {
    /// Nothing when there is no history yet. The notice is for the user.
    pub fn open(path: &Path) -> Result<Option<(Self, Option<Notice>)>> {
        let found = if path.exists() { database::read_only(path, &KIND)? } else { None };
        let (connection, notice) = match found {
            Some((connection, notice)) => (Some(connection), notice),
            None if older(path).exists() => (None, None),
            None => return Ok(None),
        };
        if let Some(connection) = &connection {
            let has_table: bool = connection
                .query_row(include_str!("../sql/synergy/has_table.sql"), [], |row| row.get(0))
                .map_err(|source| Error::of(path, source))?;
            if !has_table {
                return Err(Error::NoSynergyHistory { path: path.to_owned() });
            }
        }
        Ok(Some((Self { path: path.to_owned(), connection }, notice)))
    }

    /// As [`SynergyHistory::last`], with what the next writer will take over.
    pub fn last(&self, limit: u32) -> Result<(Vec<Entry>, Option<Notice>)> {
        let legacy = self.legacy()?;
        let keep = limit as usize;
        let reach = u32::try_from(legacy.len()).unwrap_or(u32::MAX).max(limit);
        let (mut entries, notice) = match &self.connection {
            Some(connection) => last(&self.path, connection, reach)?,
            None => Default::default(),
        };
        if !entries.ends_with(&legacy) {
            entries.extend(legacy);
        }
        entries.drain(..entries.len().saturating_sub(keep));
        Ok((entries, notice))
    }

    fn legacy(&self) -> Result<Vec<Entry>> {
        let path = older(&self.path);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(files::Error::of("read", &path, source).into()),
        };
        serde_json::from_slice(&bytes).map_err(|error| Error::Unreadable {
            path,
            what: "a list of entries".into(),
            why: error.to_string(),
        })
    }
}

/// Where still older tools wrote.
fn older(path: &Path) -> PathBuf {
    path.with_extension("json")
}

fn last(path: &Path, connection: &Connection, limit: u32) -> Result<(Vec<Entry>, Option<Notice>)> {
    let texts = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare_cached(include_str!("../sql/synergy/last.sql"))?;
        statement.query_map([limit], |row| row.get(0))?.collect()
    };
    let texts = texts().map_err(|source| Error::of(path, source))?;
    let entries: Vec<Entry> =
        texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    let skipped = texts.len() - entries.len();
    let notice = Notice::Skipped { path: path.to_owned(), entries: skipped };
    Ok((entries, (skipped > 0).then_some(notice)))
}
