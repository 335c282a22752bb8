//! Queries for single calls.

use menace_model::{FailureId, SectionId, SourceLocation};
use rusqlite::Row;

use super::rows::{ColumnReader, RowResult};
use crate::database::StoreResult;
use crate::{CallRecord, CellKey, RunId, Store};

impl Store {
    /// Calls of a section in a cycle: first those that show a failure, then others that did not
    /// return or refuse, then the rest; each by scenario and number.
    pub fn calls(
        &self,
        run: &RunId,
        section: &SectionId,
        cycle: u32,
        limit: u32,
        offset: u64,
    ) -> StoreResult<Vec<CallRecord>> {
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        self.query(
            include_str!("../../sql/read/calls.sql"),
            (&run.0, section.as_str(), cycle, limit, offset),
            |row| read_call(row, section),
        )
    }
}

pub(super) fn read_call(row: &Row<'_>, section: &SectionId) -> RowResult<CallRecord> {
    let mut columns = ColumnReader::new(row);
    Ok(CallRecord {
        cell: CellKey { cycle: columns.get()?, section: section.clone(), scenario: columns.get()? },
        number: columns.get()?,
        intent: columns.intent()?,
        verdict: columns.verdict()?,
        wall_ms: columns.get::<i64>()? as f64 / 1e3,
        cpu_ms: columns.get::<i64>()? as f64 / 1e3,
        memory_bytes: columns.get_u64()?,
        exception: columns.get()?,
        message: columns.get()?,
        place: match (columns.get::<Option<String>>()?, columns.get::<Option<u32>>()?) {
            (Some(file), Some(line)) => Some(SourceLocation { file, line }),
            _ => None,
        },
        failure: columns.get::<Option<String>>()?.map(FailureId),
        call: columns.get_optional_json("a call")?,
    })
}
