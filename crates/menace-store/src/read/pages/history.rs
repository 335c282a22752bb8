//! Queries for the history of one module or section.

use rusqlite::Row;
use serde::Serialize;

use crate::database::StoreResult;
use crate::read::rows::{ColumnReader, RowResult};
use crate::{RunId, Store};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoiHistoryPoint {
    pub run: RunId,
    pub cycle: u32,
    pub roi: Option<f64>,
    pub raroi: Option<f64>,
}

impl Store {
    /// The latest cycles with this module, oldest first.
    pub fn module_history(&self, path: &str, limit: u32) -> StoreResult<Vec<RoiHistoryPoint>> {
        self.query_history(include_str!("../../../sql/pages/module_history.sql"), path, limit)
    }

    /// The latest cycles with this section, oldest first.
    pub fn section_history(&self, section: &str, limit: u32) -> StoreResult<Vec<RoiHistoryPoint>> {
        self.query_history(include_str!("../../../sql/pages/section_history.sql"), section, limit)
    }

    fn query_history(&self, sql: &str, name: &str, most: u32) -> StoreResult<Vec<RoiHistoryPoint>> {
        let mut points = self.query(sql, (name, most), read_point)?;
        points.reverse();
        Ok(points)
    }
}

fn read_point(row: &Row<'_>) -> RowResult<RoiHistoryPoint> {
    let mut columns = ColumnReader::new(row);
    Ok(RoiHistoryPoint {
        run: RunId(columns.get()?),
        cycle: columns.get()?,
        roi: columns.get()?,
        raroi: columns.get()?,
    })
}
