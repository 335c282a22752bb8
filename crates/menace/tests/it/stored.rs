//! What is in the database of a run, as somebody sees it who only reads.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Of somebody else who writes.
const PATIENCE: Duration = Duration::from_secs(1);

/// Calls of one section under one scenario in one cycle that had the same intent and came to the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Calls {
    pub cycle: u32,
    pub section: String,
    /// `depth` or `beside` for those that belong to none.
    pub scenario: String,
    pub intent: String,
    pub verdict: String,
    pub count: u64,
}

const CALLS: &str = "
    SELECT cycle, section.text, scenario.text, intent.text, verdict.text, count(*)
    FROM calls
    JOIN cells ON cells.key = calls.cell
    JOIN names section ON section.key = cells.section
    JOIN names scenario ON scenario.key = cells.scenario
    JOIN names intent ON intent.key = calls.intent
    JOIN names verdict ON verdict.key = calls.verdict
    GROUP BY 1, 2, 3, 4, 5";

/// Of all runs; nothing while the database is not there or just being made.
pub(crate) fn calls(database: &Path) -> Vec<Calls> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || -> rusqlite::Result<Vec<Calls>> {
        let connection = Connection::open_with_flags(database, flags)?;
        connection.busy_timeout(PATIENCE)?;
        let mut calls = connection.prepare(CALLS)?;
        let calls = calls.query_map([], |row| {
            Ok(Calls {
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
