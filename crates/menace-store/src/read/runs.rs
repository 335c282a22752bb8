//! Runs: the latest, all, one by name.

use rusqlite::Row;

use super::rows::{Columns, Misread};
use super::{NAMED, the_one};
use crate::database::{Error, Result};
use crate::{Run, RunId, Store};

impl Store {
    /// Latest first.
    pub fn runs(&self, limit: u32, offset: u64) -> Result<Vec<Run>> {
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        self.ask(include_str!("../../sql/read/runs.sql"), (limit, offset), run)
    }

    pub fn run_count(&self) -> Result<u64> {
        let sql = include_str!("../../sql/read/run_count.sql");
        let counts = self.ask(sql, [], |row| Columns::of(row).unsigned())?;
        Ok(counts.into_iter().sum())
    }

    pub fn latest_run(&self) -> Result<Option<Run>> {
        Ok(self.runs(1, 0)?.pop())
    }

    /// The latest in which a cycle came to its end: others have nothing to show.
    pub fn latest_measured_run(&self) -> Result<Option<Run>> {
        Ok(self.ask(include_str!("../../sql/read/measured_runs.sql"), [], run)?.pop())
    }

    /// The last cycle of a run that came to its end.
    pub fn last_measured_cycle(&self, run: &RunId) -> Result<Option<u32>> {
        let sql = include_str!("../../sql/read/measured_cycle.sql");
        let cycles = self.ask(sql, [&run.0], |row| Columns::of(row).get::<Option<u32>>())?;
        Ok(cycles.into_iter().flatten().next())
    }

    /// The run of that name, or the only one whose name starts so.
    pub fn run(&self, id: &str) -> Result<Run> {
        let sql = include_str!("../../sql/read/runs_named.sql");
        let found = self.ask(sql, (id, NAMED + 1), run)?;
        if found.is_empty() {
            return Err(no_such_run(id, &self.runs(NAMED, 0)?));
        }
        the_one(id, found, |run| &run.id.0, |id| no_such_run(id, &[]))
    }
}

fn no_such_run(id: &str, recent: &[Run]) -> Error {
    let known: Vec<&str> = recent.iter().map(|run| run.id.0.as_str()).collect();
    let list = match known.as_slice() {
        [] => "start one with `menace run`".into(),
        known => format!("the last ones are {}", known.join(", ")).into(),
    };
    Error::NoSuch { what: "run", id: id.to_owned(), list }
}

fn run(row: &Row<'_>) -> std::result::Result<Run, Misread> {
    let mut columns = Columns::of(row);
    Ok(Run {
        id: RunId(columns.get()?),
        seed: columns.get::<i64>()?.cast_unsigned(),
        repository: columns.get()?,
        started_ms: columns.get()?,
        finished_ms: columns.get()?,
        status: columns.status()?,
        settings: columns.json("settings")?,
        cycles: columns.get()?,
        summary: columns.maybe_json("a summary")?,
    })
}
