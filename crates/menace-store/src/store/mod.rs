//! The database of runs, calls and failures: opens it, starts runs, and updates failures later.
//!
//! [`RunWriter`] writes during a run, `read` has the queries. Invariant: once the store has been
//! opened, every run with the status `running` has a live process.

mod liveness;

use std::fs;
use std::path::{Path, PathBuf};

use menace_model::{Call, FailureId};
use rusqlite::Connection;

pub(crate) use liveness::RunLivenessLock;

use crate::database::{
    self, DatabaseSpec, InDatabase, JournalMode, LOCK_TIMEOUT, StoreError, StoreResult,
};
use crate::files::FileLock;
use crate::writer::RunWriter;
use crate::{RunId, RunStartRecord, StoreNotice};

pub(crate) const MENACE_DB: DatabaseSpec = DatabaseSpec {
    migrations: &[
        include_str!("../../sql/menace/001_start.sql"),
        include_str!("../../sql/menace/002_pages.sql"),
        include_str!("../../sql/menace/003_auxiliary.sql"),
        include_str!("../../sql/menace/004_new_failures.sql"),
    ],
    // "MNCE".
    application_id: Some(0x4d4e_4345),
    journal_mode: JournalMode::Wal,
};

/// One connection; every thread that needs one opens its own.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
}

impl Store {
    /// Opens the database, and creates it and its directory if necessary. The notices are for the
    /// user.
    ///
    /// `url` is the value of `DATABASE_URL`; a relative path in it starts from `data_dir`.
    pub fn open(data_dir: &Path, url: &str) -> StoreResult<(Self, Vec<StoreNotice>)> {
        let path = database::resolve_database_file(data_dir, url)?;
        let lock = FileLock::acquire(&path, LOCK_TIMEOUT)?;
        let (connection, mut notices) = database::open(&path, &MENACE_DB, data_dir, &lock)?;
        let store = Self { path, connection };
        notices.extend(store.mark_interrupted()?);
        Ok((store, notices))
    }

    /// Opens the database if there is one: none is created, and a damaged one is left in place. An
    /// older one is migrated and dead runs are marked as interrupted, where the file is writable.
    pub fn open_existing(home: &Path, url: &str) -> StoreResult<Option<(Self, Vec<StoreNotice>)>> {
        let path = database::resolve_database_file(home, url)?;
        // An empty file counts as no database; a log beside it is left for the next run.
        if fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len()) == 0 {
            return Ok(None);
        }
        match Self::open_in_place(&path) {
            Err(error) if error.is_not_writable() => {
                let (connection, notice) = database::open_immutable(&path, &MENACE_DB)?;
                Ok(Some((Self { path, connection }, notice.into_iter().collect())))
            }
            opened => opened.map(Some),
        }
    }

    fn open_in_place(path: &Path) -> StoreResult<(Self, Vec<StoreNotice>)> {
        let lock = FileLock::acquire(path, LOCK_TIMEOUT)?;
        let connection = database::open_in_place(path, &MENACE_DB, &lock)?;
        let store = Self { path: path.to_owned(), connection };
        let notices = store.mark_interrupted()?.into_iter().collect();
        Ok((store, notices))
    }

    /// Path of the database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores that a run has begun. It is active until its writer is finished or the process ends.
    pub fn start_run(&self, run: &RunStartRecord) -> StoreResult<RunWriter> {
        if !run.id.is_valid() {
            return Err(StoreError::BadRunId { id: run.id.0.clone() });
        }
        RunWriter::start(&self.path, run)
    }

    /// Stores the smallest call that shows a failure.
    pub fn set_shrunk(&self, failure: &FailureId, call: &Call) -> StoreResult<()> {
        let call = serde_json::to_string(call).map_err(|source| StoreError::NotSerializable {
            what: format!("the call of {failure}"),
            source,
        })?;
        self.update_failure(include_str!("../../sql/write/shrunk.sql"), failure, (&failure.0, call))
    }

    /// Stores since when a failure is gone, or that it is present; seeing it again also does the
    /// latter.
    pub fn set_gone(&self, failure: &FailureId, since_ms: Option<i64>) -> StoreResult<()> {
        let sql = include_str!("../../sql/write/gone.sql");
        self.update_failure(sql, failure, (&failure.0, since_ms))
    }

    fn update_failure(
        &self,
        sql: &str,
        failure: &FailureId,
        values: impl rusqlite::Params,
    ) -> StoreResult<()> {
        let changed = self.connection.execute(sql, values).in_database(&self.path)?;
        if changed == 0 { Err(failure_not_found(&failure.0)) } else { Ok(()) }
    }

    fn mark_interrupted(&self) -> StoreResult<Option<StoreNotice>> {
        let mark = || -> rusqlite::Result<Vec<RunId>> {
            let mut statement =
                self.connection.prepare(include_str!("../../sql/read/active_runs.sql"))?;
            let rows = statement.query_map([], |row| row.get(0).map(RunId))?;
            let mut runs = rows.collect::<rusqlite::Result<Vec<RunId>>>()?;
            runs.retain(|run| !RunLivenessLock::is_held(&self.path, run));
            for run in &runs {
                let sql = include_str!("../../sql/write/interrupted.sql");
                self.connection.execute(sql, [&run.0])?;
            }
            Ok(runs)
        };
        let runs = mark().in_database(&self.path)?;
        RunLivenessLock::remove_stale(&self.path);
        Ok((!runs.is_empty()).then_some(StoreNotice::InterruptedRuns { runs }))
    }
}

pub(crate) fn failure_not_found(id: &str) -> StoreError {
    StoreError::NotFound {
        what: "failure",
        id: id.to_owned(),
        list: "`menace failures` lists all".into(),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    fn read_schema(path: &Path) -> Vec<String> {
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
        for version in 0..MENACE_DB.migrations.len() {
            let directory = tempdir().unwrap();
            let path = directory.path().join("menace.db");
            let older = Connection::open(&path).unwrap();
            older.pragma_update(None, "application_id", MENACE_DB.application_id).unwrap();
            for migration in &MENACE_DB.migrations[..version] {
                older.execute_batch(migration).unwrap();
            }
            older.pragma_update(None, "user_version", version as u32).unwrap();
            drop(older);
            let (_, notices) = Store::open(directory.path(), "sqlite:///menace.db").unwrap();
            assert_eq!(notices, []);
            assert_eq!(read_schema(&path), read_schema(store.path()), "from version {version}");
        }
    }

    #[test]
    fn reports_of_older_runs_say_which_failures_were_new() {
        let database = Connection::open_in_memory().unwrap();
        for migration in &MENACE_DB.migrations[..3] {
            database.execute_batch(migration).unwrap();
        }
        database
            .execute_batch(
                r#"INSERT INTO names VALUES (1, 'n');
                INSERT INTO runs (key, id, seed, repository, started_ms, status, settings, summary)
                VALUES
                    (1, 'r-1', 0, '', 1, 'interrupted', '{}', NULL),
                    (2, 'r-2', 0, '', 2, 'finished', '{}', '{"failures": [
                        {"id": "back", "new": true}, {"id": "open", "new": false}, 7]}'),
                    (3, 'r-3', 0, '', 3, 'finished', '{}', '{');
                INSERT INTO failures
                SELECT column1, column2, 1, 1, 1, 1, 1, '', 1, 1, '', '', 'r-1', 1, '', 1, 1, '', 1
                FROM (VALUES (1, 'back'), (2, 'open'));
                INSERT INTO sightings VALUES
                    (1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1), (3, 1, 1);"#,
            )
            .unwrap();
        database.execute_batch(MENACE_DB.migrations[3]).unwrap();
        let mut statement =
            database.prepare("SELECT run, failure FROM sightings WHERE new ORDER BY 1, 2").unwrap();
        let new = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let new: Vec<(i64, i64)> = new.collect::<rusqlite::Result<_>>().unwrap();
        assert_eq!(new, [(1, 1), (1, 2), (2, 1)]);
    }
}
