//! The state of an active run, and whether the database has changed.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::database::{self, InDatabase, StoreError, StoreResult};
use crate::read::rows::ColumnReader;
use crate::store::{MENACE_DB, RunLivenessLock};
use crate::{OutsideCellScenario, RunId, Store};

/// The counts of a run so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LiveRunStats {
    pub calls: u64,
    pub verdicts: BTreeMap<String, u64>,
    /// Calls under [`OutsideCellScenario::Auxiliary`].
    pub auxiliary_calls: u64,
    pub failures: u64,
    /// Section and scenario of the last stored call.
    pub current_cell: Option<(String, String)>,
}

impl Store {
    /// A further connection, for another thread that only reads.
    pub fn open_reader(&self) -> StoreResult<Self> {
        let path = self.path.clone();
        let live = || -> StoreResult<Connection> {
            let connection = database::connect(&path, &MENACE_DB)?;
            connection
                .pragma_update(None, "query_only", true)
                // Where nothing may be written only reading fails, since the log needs an index
                // file.
                .and_then(|()| connection.query_row("SELECT 1 FROM runs LIMIT 1", [], |_| Ok(())))
                .or_else(|error| match error {
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    error => Err(StoreError::from_sqlite(&self.path, error)),
                })?;
            Ok(connection)
        };
        let connection = match live() {
            // The notice was returned when the store was opened.
            Err(error) if error.is_not_writable() => database::open_immutable(&path, &MENACE_DB)?.0,
            opened => opened?,
        };
        Ok(Self { path, connection })
    }

    /// A number that changes when another connection has written something.
    pub fn data_version(&self) -> StoreResult<i64> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .in_database(&self.path)
    }

    /// Runs with the status `running` whose process is alive.
    pub fn active_runs(&self) -> StoreResult<Vec<RunId>> {
        let sql = include_str!("../../../sql/read/active_runs.sql");
        let mut runs = self.query(sql, [], |row| Ok(RunId(ColumnReader::new(row).get()?)))?;
        runs.retain(|run| RunLivenessLock::is_held(&self.path, run));
        Ok(runs)
    }

    /// The number of failures that a run has seen.
    pub fn count_failures_of_run(&self, run: &RunId) -> StoreResult<u64> {
        let sql = include_str!("../../../sql/pages/live_failures.sql");
        self.query_count(sql, [&run.0])
    }

    pub fn live_stats(&self, run: &RunId) -> StoreResult<LiveRunStats> {
        let count = |row: &Row<'_>| {
            let mut columns = ColumnReader::new(row);
            Ok((columns.get()?, columns.get_u64()?))
        };
        let auxiliary = [&*run.0, OutsideCellScenario::Auxiliary.as_str()];
        let sql = include_str!("../../../sql/pages/live_verdicts.sql");
        let verdicts: BTreeMap<String, u64> =
            self.query(sql, auxiliary, count)?.into_iter().collect();
        let sql = include_str!("../../../sql/pages/live_auxiliary.sql");
        let auxiliary_calls = self.query_count(sql, auxiliary)?;
        let sql = include_str!("../../../sql/pages/live_cell.sql");
        let at = self.query(sql, [&run.0], |row| {
            let mut columns = ColumnReader::new(row);
            Ok((columns.get()?, columns.get()?))
        })?;
        Ok(LiveRunStats {
            calls: verdicts.values().sum(),
            verdicts,
            auxiliary_calls,
            failures: self.count_failures_of_run(run)?,
            current_cell: at.into_iter().next(),
        })
    }
}
