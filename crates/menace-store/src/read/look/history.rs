//! One module or section through the latest cycles.

use rusqlite::Row;
use serde::Serialize;

use crate::database::Result;
use crate::read::rows::{Columns, Misread};
use crate::{RunId, Store};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryPoint {
    pub run: RunId,
    pub cycle: u32,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
}

impl Store {
    /// The latest cycles that had a module, oldest first.
    pub fn module_history(&self, path: &str, limit: u32) -> Result<Vec<HistoryPoint>> {
        self.history(include_str!("../../../sql/look/module_history.sql"), path, limit)
    }

    /// The latest cycles that had a section, oldest first.
    pub fn section_history(&self, section: &str, limit: u32) -> Result<Vec<HistoryPoint>> {
        self.history(include_str!("../../../sql/look/section_history.sql"), section, limit)
    }

    fn history(&self, sql: &str, name: &str, limit: u32) -> Result<Vec<HistoryPoint>> {
        let mut points = self.ask(sql, (name, limit), point)?;
        points.reverse();
        Ok(points)
    }
}

fn point(row: &Row<'_>) -> std::result::Result<HistoryPoint, Misread> {
    let mut columns = Columns::of(row);
    Ok(HistoryPoint {
        run: RunId(columns.get()?),
        cycle: columns.get()?,
        roi: columns.get()?,
        raroi: columns.get()?,
    })
}
