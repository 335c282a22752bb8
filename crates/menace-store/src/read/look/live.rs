//! A run while it goes on, and whether anything has changed at all.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::database::{self, Result};
use crate::read::rows::Columns;
use crate::store::{KIND, Presence};
use crate::{RunId, Store};

/// Calls that are none of the run's are filed under this name: they confirm, compare or measure time.
pub const BESIDE: &str = "beside";

/// What a run has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LiveRun {
    pub calls: u64,
    pub verdicts: BTreeMap<String, u64>,
    /// Calls that were made beside those.
    pub beside: u64,
    pub failures: u64,
    /// The section and the scenario that came up last.
    pub at: Option<(String, String)>,
}

impl Store {
    /// One more connection, for another thread that only looks.
    pub fn reader(&self) -> Result<Self> {
        let path = self.path.clone();
        let live = || -> Result<Connection> {
            let connection = database::connect(&path, &KIND)?;
            connection
                .pragma_update(None, "query_only", true)
                // Where nothing may be written, it is reading that fails: the log has an index.
                .and_then(|()| connection.query_row("SELECT 1 FROM runs LIMIT 1", [], |_| Ok(())))
                .or_else(|error| match error {
                    rusqlite::Error::QueryReturnedNoRows => Ok(()),
                    error => Err(self.failed(error)),
                })?;
            Ok(connection)
        };
        let connection = match live() {
            // Whoever opened the store was told what is missing then.
            Err(error) if error.is_for_want_of_writing() => database::look(&path)?.0,
            opened => opened?,
        };
        Ok(Self { path, connection })
    }

    /// Differs from what it was as soon as another connection has written something.
    pub fn version(&self) -> Result<i64> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|source| self.failed(source))
    }

    /// The runs that go on: those that say so, and whose process is alive.
    pub fn going_on(&self) -> Result<Vec<RunId>> {
        let sql = include_str!("../../../sql/read/runs_going_on.sql");
        let mut runs = self.ask(sql, [], |row| Ok(RunId(Columns::of(row).get()?)))?;
        runs.retain(|run| Presence::is_held(&self.path, run));
        Ok(runs)
    }

    /// How many failures a run has seen.
    pub fn failures_in(&self, run: &RunId) -> Result<u64> {
        let sql = include_str!("../../../sql/look/live_failures.sql");
        let counts = self.ask(sql, [&run.0], |row| Columns::of(row).unsigned())?;
        Ok(counts.into_iter().sum())
    }

    pub fn live(&self, run: &RunId) -> Result<LiveRun> {
        let count = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok((columns.get()?, columns.unsigned()?))
        };
        let sql = include_str!("../../../sql/look/live_verdicts.sql");
        let verdicts: BTreeMap<String, u64> =
            self.ask(sql, [&run.0, BESIDE], count)?.into_iter().collect();
        let sql = include_str!("../../../sql/look/live_beside.sql");
        let beside = self.ask(sql, [&run.0, BESIDE], |row| Columns::of(row).unsigned())?;
        let sql = include_str!("../../../sql/look/live_cell.sql");
        let at = self.ask(sql, [&run.0], |row| {
            let mut columns = Columns::of(row);
            Ok((columns.get()?, columns.get()?))
        })?;
        Ok(LiveRun {
            calls: verdicts.values().sum(),
            verdicts,
            beside: beside.into_iter().sum(),
            failures: self.failures_in(run)?,
            at: at.into_iter().next(),
        })
    }
}
