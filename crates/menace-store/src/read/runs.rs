//! Queries for runs: the latest, all, or one by id.

use rusqlite::Row;

use super::rows::{ColumnReader, RowResult};
use super::{MAX_NAMED_CANDIDATES, select_unique};
use crate::database::{StoreError, StoreResult};
use crate::{RunId, RunRecord, Store};

impl Store {
    /// Runs, latest first.
    pub fn runs(&self, limit: u32, offset: u64) -> StoreResult<Vec<RunRecord>> {
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        self.query(include_str!("../../sql/read/runs.sql"), (limit, offset), read_run)
    }

    pub fn run_count(&self) -> StoreResult<u64> {
        let sql = include_str!("../../sql/read/run_count.sql");
        self.query_count(sql, [])
    }

    pub fn latest_run(&self) -> StoreResult<Option<RunRecord>> {
        Ok(self.runs(1, 0)?.pop())
    }

    /// The latest run with a completed cycle.
    pub fn latest_measured_run(&self) -> StoreResult<Option<RunRecord>> {
        Ok(self.query(include_str!("../../sql/read/measured_runs.sql"), [], read_run)?.pop())
    }

    /// The last completed cycle of a run.
    pub fn last_measured_cycle(&self, run: &RunId) -> StoreResult<Option<u32>> {
        let sql = include_str!("../../sql/read/measured_cycle.sql");
        let cycles =
            self.query(sql, [&run.0], |row| ColumnReader::new(row).get::<Option<u32>>())?;
        Ok(cycles.into_iter().flatten().next())
    }

    /// The run with this id, or the only one whose id starts with it.
    pub fn run(&self, id: &str) -> StoreResult<RunRecord> {
        let sql = include_str!("../../sql/read/runs_named.sql");
        let found = self.query(sql, (id, MAX_NAMED_CANDIDATES + 1), read_run)?;
        if found.is_empty() {
            return Err(run_not_found(id, &self.runs(MAX_NAMED_CANDIDATES, 0)?));
        }
        select_unique(id, found, |run| &run.id.0, |id| run_not_found(id, &[]))
    }
}

fn run_not_found(id: &str, recent: &[RunRecord]) -> StoreError {
    let known: Vec<&str> = recent.iter().map(|run| run.id.0.as_str()).collect();
    let list = match known.as_slice() {
        [] => "start one with `menace run`".into(),
        known => format!("the last ones are {}", known.join(", ")).into(),
    };
    StoreError::NotFound { what: "run", id: id.to_owned(), list }
}

fn read_run(row: &Row<'_>) -> RowResult<RunRecord> {
    let mut columns = ColumnReader::new(row);
    Ok(RunRecord {
        id: RunId(columns.get()?),
        seed: columns.get::<i64>()?.cast_unsigned(),
        repository: columns.get()?,
        started_ms: columns.get()?,
        finished_ms: columns.get()?,
        status: columns.status()?,
        settings: columns.get_json("settings")?,
        cycles: columns.get()?,
        report: columns.get_optional_json("a report")?,
    })
}
