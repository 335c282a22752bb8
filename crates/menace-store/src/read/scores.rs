//! Scores of the cells, sections, modules and scenarios of one cycle.

use rusqlite::Row;

use super::rows::{ColumnReader, RowResult};
use crate::database::StoreResult;
use crate::{CellKey, CellRecord, ModuleRecord, RunId, ScenarioRecord, SectionRecord, Store};

impl Store {
    pub fn cells(&self, run: &RunId, cycle: u32) -> StoreResult<Vec<CellRecord>> {
        self.query(include_str!("../../sql/read/cells.sql"), (&run.0, cycle), read_cell)
    }

    pub fn sections(&self, run: &RunId, cycle: u32) -> StoreResult<Vec<SectionRecord>> {
        self.query(include_str!("../../sql/read/sections.sql"), (&run.0, cycle), read_section)
    }

    pub fn modules(&self, run: &RunId, cycle: u32) -> StoreResult<Vec<ModuleRecord>> {
        self.query(include_str!("../../sql/read/modules.sql"), (&run.0, cycle), read_module)
    }

    pub fn scenarios(&self, run: &RunId, cycle: u32) -> StoreResult<Vec<ScenarioRecord>> {
        self.query(include_str!("../../sql/read/scenarios.sql"), (&run.0, cycle), read_scenario)
    }
}

pub(super) fn read_cell(row: &Row<'_>) -> RowResult<CellRecord> {
    let mut columns = ColumnReader::new(row);
    let cycle = columns.get()?;
    let section = columns.section()?;
    Ok(CellRecord {
        key: CellKey { cycle, section, scenario: columns.get()? },
        severity: columns.severity()?,
        calls: columns.get::<Option<i64>>()?.map(|calls| calls.max(0).cast_unsigned()),
        verdicts: columns.get_optional_json("counts of verdicts")?.unwrap_or_default(),
        roi: columns.get()?,
        metrics: columns.get_metrics()?,
    })
}

fn read_section(row: &Row<'_>) -> RowResult<SectionRecord> {
    let mut columns = ColumnReader::new(row);
    Ok(SectionRecord {
        cycle: columns.get()?,
        section: columns.section()?,
        signature: columns.get()?,
        roi: columns.get()?,
        raroi: columns.get()?,
        metrics: columns.get_metrics()?,
        uncallable_reason: columns.get()?,
    })
}

fn read_module(row: &Row<'_>) -> RowResult<ModuleRecord> {
    let mut columns = ColumnReader::new(row);
    Ok(ModuleRecord {
        cycle: columns.get()?,
        path: columns.get()?,
        roi: columns.get()?,
        raroi: columns.get()?,
        metrics: columns.get_metrics()?,
        flagged: columns.get()?,
        risk_flags: columns.get_json("risk flags")?,
    })
}

fn read_scenario(row: &Row<'_>) -> RowResult<ScenarioRecord> {
    let mut columns = ColumnReader::new(row);
    Ok(ScenarioRecord {
        cycle: columns.get()?,
        scenario: columns.get()?,
        severity: columns.severity()?,
        roi: columns.get()?,
        roi_delta: columns.get()?,
        metrics: columns.get_metrics()?,
    })
}
