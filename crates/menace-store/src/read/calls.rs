//! The calls behind the numbers.

use menace_model::{FailureId, Place, SectionId};
use rusqlite::Row;

use super::rows::{Columns, Misread};
use crate::database::Result;
use crate::{CallRecord, CellKey, RunId, Store};

impl Store {
    /// Calls of a section in a cycle of a run, those that show a failure first, then others that did
    /// not go well; by scenario and number.
    pub fn calls(
        &self,
        run: &RunId,
        section: &SectionId,
        cycle: u32,
        limit: u32,
        offset: u64,
    ) -> Result<Vec<CallRecord>> {
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        self.ask(
            include_str!("../../sql/read/calls.sql"),
            (&run.0, section.as_str(), cycle, limit, offset),
            |row| call(row, section),
        )
    }
}

pub(super) fn call(row: &Row<'_>, section: &SectionId) -> std::result::Result<CallRecord, Misread> {
    let mut columns = Columns::of(row);
    Ok(CallRecord {
        cell: CellKey { cycle: columns.get()?, section: section.clone(), scenario: columns.get()? },
        number: columns.get()?,
        intent: columns.intent()?,
        verdict: columns.verdict()?,
        wall_ms: columns.get::<i64>()? as f64 / 1e3,
        cpu_ms: columns.get::<i64>()? as f64 / 1e3,
        memory_bytes: columns.unsigned()?,
        exception: columns.get()?,
        message: columns.get()?,
        place: match (columns.get::<Option<String>>()?, columns.get::<Option<u32>>()?) {
            (Some(file), Some(line)) => Some(Place { file, line }),
            _ => None,
        },
        failure: columns.get::<Option<String>>()?.map(FailureId),
        call: columns.maybe_json("a call")?,
    })
}
