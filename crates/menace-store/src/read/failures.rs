//! Queries for failures: all, those of a run, or one by id.

use menace_model::{Failure, FailureId, SourceLocation};
use rusqlite::Row;

use super::rows::{ColumnReader, RowResult};
use super::{MAX_NAMED_CANDIDATES, select_unique};
use crate::database::StoreResult;
use crate::store::failure_not_found;
use crate::{FailureRecord, OccurrenceTime, RunId, RunOccurrences, Store};

const NEWEST_FIRST: &str = "ORDER BY failures.first_ms DESC, failures.id";
const LAST_SEEN_FIRST: &str = "ORDER BY failures.last_ms DESC, failures.id";
const BY_ID_PREFIX: &str = "WHERE failures.id >= ?1 AND failures.id < ?1 || char(0x10ffff) \
                            ORDER BY failures.id <> ?1, failures.id LIMIT ?2";

impl Store {
    /// The failures of all runs, the one seen last first.
    pub fn failures(&self) -> StoreResult<Vec<FailureRecord>> {
        self.query(&failures_sql("failures", "NULL, 0", LAST_SEEN_FIRST), [], read_failure)
    }

    /// The failures of one run, the newest first.
    pub fn failures_of_run(&self, run: &RunId) -> StoreResult<Vec<FailureRecord>> {
        let tables = "sightings JOIN failures ON failures.key = sightings.failure";
        let of_run = "WHERE sightings.run = (SELECT key FROM runs WHERE id = ?1)";
        let which = format!("{of_run} {NEWEST_FIRST}");
        self.query(
            &failures_sql(tables, "sightings.count, sightings.new", &which),
            [&run.0],
            read_failure,
        )
    }

    /// The failure with this id, or the only one whose id starts with it.
    pub fn failure(&self, id: &str) -> StoreResult<FailureRecord> {
        let sql = failures_sql("failures", "NULL, 0", BY_ID_PREFIX);
        let candidates = self.query(&sql, (id, MAX_NAMED_CANDIDATES + 1), read_failure)?;
        select_unique(id, candidates, |known| &known.failure.id.0, failure_not_found)
    }

    /// The runs that saw a failure, in the order in which they were started.
    pub fn occurrences_by_run(&self, failure: &FailureId) -> StoreResult<Vec<RunOccurrences>> {
        let sql = include_str!("../../sql/read/sightings.sql");
        self.query(sql, [&failure.0], read_occurrences)
    }
}

fn failures_sql(tables: &str, in_run: &str, which: &str) -> String {
    include_str!("../../sql/read/failures.sql")
        .replace("{tables}", tables)
        .replace("{in_run}", in_run)
        .replace("{which}", which)
}

pub(super) fn read_occurrences(row: &Row<'_>) -> RowResult<RunOccurrences> {
    let mut columns = ColumnReader::new(row);
    Ok(RunOccurrences {
        run: RunId(columns.get()?),
        started_ms: columns.get()?,
        count: columns.get_u64()?,
    })
}

fn read_failure(row: &Row<'_>) -> RowResult<FailureRecord> {
    let mut columns = ColumnReader::new(row);
    let failure = Failure {
        id: FailureId(columns.get()?),
        section: columns.section()?,
        kind: columns.kind()?,
        scenario: columns.get()?,
        verdict: columns.verdict()?,
        exception: columns.get()?,
        message: columns.get()?,
        location: SourceLocation { file: columns.get()?, line: columns.get()? },
        call: columns.get_json("a call")?,
        outcome: columns.get_json("an outcome")?,
    };
    Ok(FailureRecord {
        failure,
        first_seen: OccurrenceTime { run: RunId(columns.get()?), at_ms: columns.get()? },
        last_seen: OccurrenceTime { run: RunId(columns.get()?), at_ms: columns.get()? },
        count: columns.get_u64()?,
        shrunk: columns.get_optional_json("a call")?,
        gone_ms: columns.get()?,
        count_in_run: columns.get::<Option<i64>>()?.map(|count| count.max(0).cast_unsigned()),
        new_in_run: columns.get()?,
    })
}
