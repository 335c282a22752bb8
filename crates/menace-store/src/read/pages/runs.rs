//! Queries for lists of runs, totals over all runs, and the cells of one run.

use std::collections::BTreeMap;

use rusqlite::Row;
use serde::Serialize;

use super::{PageRange, like_pattern};
use crate::database::StoreResult;
use crate::read::rows::{ColumnReader, RowResult};
use crate::{RunId, RunStatus, Store};

/// A run as a row of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunListRow {
    pub id: RunId,
    pub repository: String,
    pub started_ms: i64,
    pub finished_ms: Option<i64>,
    pub status: RunStatus,
    pub cycles: u32,
    /// `None`, like the fields below, for a run that has not ended.
    pub calls: Option<u64>,
    pub sections: Option<u64>,
    pub failures: Option<u64>,
    pub new_failures: Option<u64>,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
    pub elapsed_s: Option<f64>,
    pub worst_scenario: Option<String>,
    pub verdicts: BTreeMap<String, u64>,
}

const LATEST_FIRST: &str = "runs.started_ms DESC";

/// The order of a list of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunSortOrder {
    #[default]
    Started,
    Elapsed,
    Calls,
    Failures,
    NewFailures,
    Roi,
    RoiDelta,
}

impl RunSortOrder {
    fn column(self) -> &'static str {
        match self {
            Self::Started => "runs.started_ms",
            Self::Elapsed => "facts.elapsed_s",
            Self::Calls => "facts.calls",
            Self::Failures => "facts.failures",
            Self::NewFailures => "facts.new_failures",
            Self::Roi => "facts.roi",
            Self::RoiDelta => "facts.roi_delta",
        }
    }
}

/// Totals over all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreTotals {
    pub runs: u64,
    /// Calls of ended runs.
    pub calls: u64,
}

/// Totals of a module under one scenario, over its sections.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatmapTotals {
    pub module: String,
    pub scenario: String,
    pub calls: u64,
    /// Calls that returned or refused.
    pub ok_calls: u64,
    /// Sum of ROI × calls, and the number of these calls.
    pub weighted_roi: f64,
    pub roi_calls: f64,
}

impl Store {
    /// The latest runs, latest first.
    pub fn list_runs(&self, page: PageRange) -> StoreResult<Vec<RunListRow>> {
        let sql = runs_sql(include_str!("../../../sql/pages/latest_runs.sql"), LATEST_FIRST);
        self.query(&sql, (page.limit, page.sql_offset()), read_run_row)
    }

    /// Runs in the given order and direction, whose id contains `text`. Runs without the value come
    /// last in both directions.
    pub fn list_sorted_runs(
        &self,
        text: Option<&str>,
        order: RunSortOrder,
        descending: bool,
        page: PageRange,
    ) -> StoreResult<Vec<RunListRow>> {
        if text.is_none() && order == RunSortOrder::Started && descending {
            // An index has this order.
            return self.list_runs(page);
        }
        let column = order.column();
        let direction = if descending { "DESC" } else { "ASC" };
        let order = format!("{column} IS NULL, {column} {direction}");
        let sql = runs_sql(include_str!("../../../sql/pages/sorted_runs.sql"), &order);
        self.query(&sql, (text.map(like_pattern), page.limit, page.sql_offset()), read_run_row)
    }

    /// The number of runs whose id contains `text`.
    pub fn count_runs_matching(&self, text: &str) -> StoreResult<u64> {
        let sql = include_str!("../../../sql/pages/run_count.sql");
        self.query_count(sql, [like_pattern(text)])
    }

    /// The run with exactly this id.
    pub fn run_list_row(&self, run: &RunId) -> StoreResult<Option<RunListRow>> {
        let sql = runs_sql("SELECT key FROM runs WHERE id = ?1", LATEST_FIRST);
        Ok(self.query(&sql, [&run.0], read_run_row)?.pop())
    }

    /// The run that was started before this one.
    pub fn previous_run(&self, run: &RunId) -> StoreResult<Option<RunId>> {
        let sql = include_str!("../../../sql/pages/previous_run.sql");
        Ok(self.query(sql, [&run.0], |row| Ok(RunId(ColumnReader::new(row).get()?)))?.pop())
    }

    pub fn totals(&self) -> StoreResult<StoreTotals> {
        let read = |row: &Row<'_>| {
            let mut columns = ColumnReader::new(row);
            Ok((columns.get::<String>()?, columns.get_u64()?))
        };
        let mut totals = StoreTotals::default();
        for (name, value) in self.query(include_str!("../../../sql/pages/totals.sql"), [], read)? {
            match &*name {
                "runs" => totals.runs = value,
                "calls" => totals.calls = value,
                _ => {}
            }
        }
        Ok(totals)
    }

    /// The totals of a cycle's cells, in no particular order.
    pub fn heatmap(&self, run: &RunId, cycle: u32) -> StoreResult<Vec<HeatmapTotals>> {
        let read = |row: &Row<'_>| {
            let mut columns = ColumnReader::new(row);
            Ok(HeatmapTotals {
                module: columns.get()?,
                scenario: columns.get()?,
                calls: columns.get_u64()?,
                ok_calls: columns.get_u64()?,
                weighted_roi: columns.get()?,
                roi_calls: columns.get()?,
            })
        };
        self.query(include_str!("../../../sql/pages/heatmap.sql"), (&run.0, cycle), read)
    }
}

/// The query for the runs whose keys the subquery `page` selects; both use `order`.
fn runs_sql(page: &str, order: &str) -> String {
    let sql = include_str!("../../../sql/pages/runs.sql");
    sql.replace("{page}", page).replace("{order}", order)
}

fn read_run_row(row: &Row<'_>) -> RowResult<RunListRow> {
    let mut columns = ColumnReader::new(row);
    let count = |columns: &mut ColumnReader<'_>| -> RowResult<Option<u64>> {
        Ok(columns.get::<Option<i64>>()?.map(|count| count.max(0).cast_unsigned()))
    };
    Ok(RunListRow {
        id: RunId(columns.get()?),
        repository: columns.get()?,
        started_ms: columns.get()?,
        finished_ms: columns.get()?,
        status: columns.status()?,
        cycles: columns.get()?,
        calls: count(&mut columns)?,
        sections: count(&mut columns)?,
        failures: count(&mut columns)?,
        new_failures: count(&mut columns)?,
        roi: columns.get()?,
        roi_delta: columns.get()?,
        elapsed_s: columns.get()?,
        worst_scenario: columns.get()?,
        verdicts: columns.get_optional_json("counts of verdicts")?.unwrap_or_default(),
    })
}
