//! The database of runs, calls and failures: opening it, starting runs, noting what came later.
//!
//! Writing during a run belongs to [`RunWriter`], questions to `read`.
//! Invariant: a run that says `running` has a process that is alive, as soon as somebody opens
//! the store.

mod presence;

use std::fs;
use std::path::{Path, PathBuf};

use menace_model::{Call, FailureId};
use rusqlite::Connection;

pub(crate) use presence::Presence;

use crate::database::{self, Error, Journal, Kind, PATIENCE, Result};
use crate::files::Lock;
use crate::writer::RunWriter;
use crate::{NewRun, Notice, RunId};

pub(crate) const KIND: Kind = Kind {
    migrations: &[
        include_str!("../../sql/menace/001_start.sql"),
        include_str!("../../sql/menace/002_looking.sql"),
    ],
    // "MNCE".
    application: Some(0x4d4e_4345),
    journal: Journal::Wal,
};

/// One connection; every thread that wants to ask opens its own.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
}

impl Store {
    /// Opens the database, or creates it, with its directory. The notices are for the user.
    ///
    /// `url` is what `DATABASE_URL` says; a relative file in it is below `data_dir`.
    pub fn open(data_dir: &Path, url: &str) -> Result<(Self, Vec<Notice>)> {
        let path = database::file_of(data_dir, url)?;
        let lock = Lock::acquire(&path, PATIENCE)?;
        let (connection, mut notices) = database::open(&path, &KIND, data_dir, &lock)?;
        let store = Self { path, connection };
        notices.extend(store.mark_interrupted()?);
        Ok((store, notices))
    }

    /// The same for those who only want to look: where there is no database, none is made, and one
    /// that is damaged stays where it is.
    pub fn open_existing(data_dir: &Path, url: &str) -> Result<Option<(Self, Vec<Notice>)>> {
        let path = database::file_of(data_dir, url)?;
        // Without content it is as if there were none; a log beside it is for the next run to keep.
        if fs::metadata(&path).map_or(0, |metadata| metadata.len()) == 0 {
            return Ok(None);
        }
        match Self::open_in_place(&path) {
            Err(error) if error.is_for_want_of_writing() => {
                let (connection, notice) = database::look(&path)?;
                Ok(Some((Self { path, connection }, notice.into_iter().collect())))
            }
            opened => opened.map(Some),
        }
    }

    fn open_in_place(path: &Path) -> Result<(Self, Vec<Notice>)> {
        let lock = Lock::acquire(path, PATIENCE)?;
        let connection = database::open_in_place(path, &KIND, &lock)?;
        let store = Self { path: path.to_owned(), connection };
        let notices = store.mark_interrupted()?.into_iter().collect();
        Ok((store, notices))
    }

    /// The file itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes that a run has begun. It goes on until the writer is finished or the process ends.
    pub fn start_run(&self, run: &NewRun) -> Result<RunWriter> {
        if !run.id.is_good() {
            return Err(Error::BadRunId { id: run.id.0.clone() });
        }
        RunWriter::start(&self.path, run)
    }

    /// Keeps the smallest call that shows a failure.
    pub fn set_shrunk(&self, failure: &FailureId, call: &Call) -> Result<()> {
        let call = serde_json::to_string(call).map_err(|source| Error::Unwritable {
            what: format!("the call of {failure}"),
            source,
        })?;
        self.change(include_str!("../../sql/write/shrunk.sql"), failure, (&failure.0, call))
    }

    /// Notes that a failure is not there any more, or that it is; seeing it again does the latter, too.
    pub fn set_gone(&self, failure: &FailureId, since_ms: Option<i64>) -> Result<()> {
        self.change(include_str!("../../sql/write/gone.sql"), failure, (&failure.0, since_ms))
    }

    fn change(&self, sql: &str, failure: &FailureId, values: impl rusqlite::Params) -> Result<()> {
        let changed = self.connection.execute(sql, values).map_err(|source| self.failed(source))?;
        if changed == 0 { Err(no_such_failure(&failure.0)) } else { Ok(()) }
    }

    fn mark_interrupted(&self) -> Result<Option<Notice>> {
        let mark = || -> rusqlite::Result<Vec<RunId>> {
            let mut statement =
                self.connection.prepare(include_str!("../../sql/read/runs_going_on.sql"))?;
            let rows = statement.query_map([], |row| row.get(0).map(RunId))?;
            let mut runs = rows.collect::<rusqlite::Result<Vec<RunId>>>()?;
            runs.retain(|run| !Presence::is_held(&self.path, run));
            for run in &runs {
                let sql = include_str!("../../sql/write/interrupted.sql");
                self.connection.execute(sql, [&run.0])?;
            }
            Ok(runs)
        };
        let runs = mark().map_err(|source| self.failed(source))?;
        Presence::sweep(&self.path);
        Ok((!runs.is_empty()).then_some(Notice::Interrupted { runs }))
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> Error {
        Error::of(&self.path, source)
    }
}

pub(crate) fn no_such_failure(id: &str) -> Error {
    Error::NoSuch { what: "failure", id: id.to_owned(), list: "`menace failures` lists all".into() }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    fn schema(path: &Path) -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        let mut statement = connection
            .prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name")
            .unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn every_older_schema_becomes_the_present_one() {
        let fresh = tempdir().unwrap();
        let (store, _) = Store::open(fresh.path(), "sqlite:///menace.db").unwrap();
        for version in 0..KIND.migrations.len() {
            let directory = tempdir().unwrap();
            let path = directory.path().join("menace.db");
            let older = Connection::open(&path).unwrap();
            older.pragma_update(None, "application_id", KIND.application).unwrap();
            for migration in &KIND.migrations[..version] {
                older.execute_batch(migration).unwrap();
            }
            older.pragma_update(None, "user_version", version as u32).unwrap();
            drop(older);
            let (_, notices) = Store::open(directory.path(), "sqlite:///menace.db").unwrap();
            assert_eq!(notices, []);
            assert_eq!(schema(&path), schema(store.path()), "from version {version}");
        }
    }
}
