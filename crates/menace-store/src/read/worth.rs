//! What the parts of a run were worth in one cycle, by name.

use rusqlite::Row;

use super::rows::{Columns, Misread};
use crate::database::Result;
use crate::{Cell, CellKey, ModuleRecord, RunId, ScenarioRecord, SectionRecord, Store};

impl Store {
    pub fn cells(&self, run: &RunId, cycle: u32) -> Result<Vec<Cell>> {
        self.ask(include_str!("../../sql/read/cells.sql"), (&run.0, cycle), cell)
    }

    pub fn sections(&self, run: &RunId, cycle: u32) -> Result<Vec<SectionRecord>> {
        self.ask(include_str!("../../sql/read/sections.sql"), (&run.0, cycle), section)
    }

    pub fn modules(&self, run: &RunId, cycle: u32) -> Result<Vec<ModuleRecord>> {
        self.ask(include_str!("../../sql/read/modules.sql"), (&run.0, cycle), module)
    }

    pub fn scenarios(&self, run: &RunId, cycle: u32) -> Result<Vec<ScenarioRecord>> {
        self.ask(include_str!("../../sql/read/scenarios.sql"), (&run.0, cycle), scenario)
    }
}

pub(super) fn cell(row: &Row<'_>) -> std::result::Result<Cell, Misread> {
    let mut columns = Columns::of(row);
    let cycle = columns.get()?;
    let section = columns.section()?;
    Ok(Cell {
        key: CellKey { cycle, section, scenario: columns.get()? },
        severity: columns.get()?,
        calls: columns.get::<Option<i64>>()?.map(|calls| calls.max(0).cast_unsigned()),
        verdicts: columns.maybe_json("counts of verdicts")?.unwrap_or_default(),
        roi: columns.get()?,
        metrics: columns.numbers()?,
    })
}

fn section(row: &Row<'_>) -> std::result::Result<SectionRecord, Misread> {
    let mut columns = Columns::of(row);
    Ok(SectionRecord {
        cycle: columns.get()?,
        section: columns.section()?,
        signature: columns.get()?,
        roi: columns.get()?,
        raroi: columns.get()?,
        metrics: columns.numbers()?,
        unreachable: columns.get()?,
    })
}

fn module(row: &Row<'_>) -> std::result::Result<ModuleRecord, Misread> {
    let mut columns = Columns::of(row);
    Ok(ModuleRecord {
        cycle: columns.get()?,
        path: columns.get()?,
        roi: columns.get()?,
        raroi: columns.get()?,
        metrics: columns.numbers()?,
        flagged: columns.get()?,
        risk_flags: columns.json("risk flags")?,
    })
}

fn scenario(row: &Row<'_>) -> std::result::Result<ScenarioRecord, Misread> {
    let mut columns = Columns::of(row);
    Ok(ScenarioRecord {
        cycle: columns.get()?,
        scenario: columns.get()?,
        severity: columns.get()?,
        roi: columns.get()?,
        roi_delta: columns.get()?,
        metrics: columns.numbers()?,
    })
}
