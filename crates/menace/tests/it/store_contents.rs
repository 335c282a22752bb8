//! The contents of the database of a run, read through a read-only connection.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// How long a read waits for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Calls of one section under one scenario in one cycle that had the same intent and came to the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCallCounts {
    pub cycle: u32,
    pub section: String,
    /// `depth` or `beside` for those that belong to none.
    pub scenario: String,
    pub intent: String,
    pub verdict: String,
    pub count: u64,
}

const CALL_COUNTS_QUERY: &str = "
    SELECT cycle, section.text, scenario.text, intent.text, verdict.text, count(*)
    FROM calls
    JOIN cells ON cells.key = calls.cell
    JOIN names section ON section.key = cells.section
    JOIN names scenario ON scenario.key = cells.scenario
    JOIN names intent ON intent.key = calls.intent
    JOIN names verdict ON verdict.key = calls.verdict
    GROUP BY 1, 2, 3, 4, 5";

/// Of all runs; nothing while the database is not there or just being made.
pub(crate) fn read_call_counts(database: &Path) -> Vec<StoredCallCounts> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || -> rusqlite::Result<Vec<StoredCallCounts>> {
        let connection = Connection::open_with_flags(database, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let mut calls = connection.prepare(CALL_COUNTS_QUERY)?;
        let calls = calls.query_map([], |row| {
            Ok(StoredCallCounts {
                cycle: row.get(0)?,
                section: row.get(1)?,
                scenario: row.get(2)?,
                intent: row.get(3)?,
                verdict: row.get(4)?,
                count: row.get::<_, i64>(5)?.cast_unsigned(),
            })
        })?;
        calls.collect()
    };
    read().unwrap_or_default()
}
