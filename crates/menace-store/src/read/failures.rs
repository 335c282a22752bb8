//! Failures: all, those of a run, one by name.

use menace_model::{Failure, FailureId, Place};
use rusqlite::Row;

use super::rows::{Columns, Misread};
use super::{NAMED, the_one};
use crate::database::Result;
use crate::store::no_such_failure;
use crate::{KnownFailure, RunId, Seen, Sighting, Store};

impl Store {
    /// Of all runs, the one that was seen last comes first.
    pub fn failures(&self) -> Result<Vec<KnownFailure>> {
        self.ask(include_str!("../../sql/read/failures.sql"), [], failure)
    }

    /// Of one run, new ones first.
    pub fn failures_of_run(&self, run: &RunId) -> Result<Vec<KnownFailure>> {
        self.ask(include_str!("../../sql/read/failures_of_run.sql"), [&run.0], failure)
    }

    /// The failure of that name, or the only one whose name starts so.
    pub fn failure(&self, id: &str) -> Result<KnownFailure> {
        let sql = include_str!("../../sql/read/failures_named.sql");
        let found = self.ask(sql, (id, NAMED + 1), failure)?;
        the_one(id, found, |known| &known.failure.id.0, no_such_failure)
    }

    /// The runs that saw a failure, in the order in which they were started.
    pub fn sightings(&self, failure: &FailureId) -> Result<Vec<Sighting>> {
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok(Sighting {
                run: RunId(columns.get()?),
                started_ms: columns.get()?,
                count: columns.unsigned()?,
            })
        };
        self.ask(include_str!("../../sql/read/sightings.sql"), [&failure.0], read)
    }
}

fn failure(row: &Row<'_>) -> std::result::Result<KnownFailure, Misread> {
    let mut columns = Columns::of(row);
    let failure = Failure {
        id: FailureId(columns.get()?),
        section: columns.section()?,
        kind: columns.kind()?,
        scenario: columns.get()?,
        verdict: columns.verdict()?,
        exception: columns.get()?,
        message: columns.get()?,
        location: Place { file: columns.get()?, line: columns.get()? },
        call: columns.json("a call")?,
        outcome: columns.json("an outcome")?,
    };
    Ok(KnownFailure {
        failure,
        first: Seen { run: RunId(columns.get()?), at_ms: columns.get()? },
        last: Seen { run: RunId(columns.get()?), at_ms: columns.get()? },
        count: columns.unsigned()?,
        shrunk: columns.maybe_json("a call")?,
        gone_ms: columns.get()?,
        count_in_run: columns.get::<Option<i64>>()?.map(|count| count.max(0).cast_unsigned()),
    })
}
