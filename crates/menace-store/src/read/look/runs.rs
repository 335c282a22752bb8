//! Runs in few words, sums over all of them, and the cells of one.

use std::collections::BTreeMap;

use rusqlite::Row;
use serde::Serialize;

use super::{Page, anywhere};
use crate::database::Result;
use crate::read::rows::{Columns, Misread};
use crate::{RunId, RunStatus, Store};

/// A run as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunLine {
    pub id: RunId,
    pub repository: String,
    pub started_ms: i64,
    pub finished_ms: Option<i64>,
    pub status: RunStatus,
    pub cycles: u32,
    /// Nothing, like all that follows, for a run that did not come to an end.
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

/// What a list of runs is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunOrder {
    #[default]
    Started,
    Took,
    Calls,
    Failures,
    New,
    Roi,
    Change,
}

impl RunOrder {
    fn column(self) -> &'static str {
        match self {
            Self::Started => "runs.started_ms",
            Self::Took => "facts.elapsed_s",
            Self::Calls => "facts.calls",
            Self::Failures => "facts.failures",
            Self::New => "facts.new_failures",
            Self::Roi => "facts.roi",
            Self::Change => "facts.roi_delta",
        }
    }
}

/// Over all runs there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreTotals {
    pub runs: u64,
    /// Of runs that came to an end.
    pub calls: u64,
}

/// A module under one scenario, summed over its sections.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatSum {
    pub module: String,
    pub scenario: String,
    pub calls: u64,
    /// Calls that returned or refused.
    pub fine: u64,
    /// ROI times calls, and the calls that have one.
    pub worth: f64,
    pub weight: f64,
}

impl Store {
    /// Latest first.
    pub fn run_lines(&self, page: Page) -> Result<Vec<RunLine>> {
        let sql = include_str!("../../../sql/look/runs.sql");
        self.ask(sql, (page.limit, page.start()), line)
    }

    /// Sorted, the largest first or last; `text` is looked for in their ids. What has no number comes
    /// last, whichever way.
    pub fn sorted_runs(
        &self,
        text: Option<&str>,
        order: RunOrder,
        descending: bool,
        page: Page,
    ) -> Result<Vec<RunLine>> {
        if text.is_none() && order == RunOrder::Started && descending {
            // An index has them in this order.
            return self.run_lines(page);
        }
        let column = order.column();
        let direction = if descending { "DESC" } else { "ASC" };
        let order = format!("{column} IS NULL, {column} {direction}");
        let sql = include_str!("../../../sql/look/sorted_runs.sql").replace("{order}", &order);
        self.ask(&sql, (text.map(anywhere), page.limit, page.start()), line)
    }

    /// How many runs have this in their ids.
    pub fn runs_with(&self, text: &str) -> Result<u64> {
        let sql = include_str!("../../../sql/look/runs_with.sql");
        let counts = self.ask(sql, [anywhere(text)], |row| Columns::of(row).unsigned())?;
        Ok(counts.into_iter().sum())
    }

    /// The run of exactly that name.
    pub fn run_line(&self, run: &RunId) -> Result<Option<RunLine>> {
        Ok(self.ask(include_str!("../../../sql/look/run.sql"), [&run.0], line)?.pop())
    }

    /// The one that was started before.
    pub fn run_before(&self, run: &RunId) -> Result<Option<RunId>> {
        let sql = include_str!("../../../sql/look/neighbours.sql");
        Ok(self.ask(sql, [&run.0], |row| Ok(RunId(Columns::of(row).get()?)))?.pop())
    }

    pub fn totals(&self) -> Result<StoreTotals> {
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok((columns.get::<String>()?, columns.unsigned()?))
        };
        let mut totals = StoreTotals::default();
        for (name, value) in self.ask(include_str!("../../../sql/look/totals.sql"), [], read)? {
            match &*name {
                "runs" => totals.runs = value,
                "calls" => totals.calls = value,
                _ => {}
            }
        }
        Ok(totals)
    }

    /// The cells of a cycle, summed up, in no order.
    pub fn heat(&self, run: &RunId, cycle: u32) -> Result<Vec<HeatSum>> {
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok(HeatSum {
                module: columns.get()?,
                scenario: columns.get()?,
                calls: columns.unsigned()?,
                fine: columns.unsigned()?,
                worth: columns.get()?,
                weight: columns.get()?,
            })
        };
        self.ask(include_str!("../../../sql/look/heat.sql"), (&run.0, cycle), read)
    }
}

fn line(row: &Row<'_>) -> std::result::Result<RunLine, Misread> {
    let mut columns = Columns::of(row);
    let count = |columns: &mut Columns<'_>| -> std::result::Result<Option<u64>, Misread> {
        Ok(columns.get::<Option<i64>>()?.map(|count| count.max(0).cast_unsigned()))
    };
    Ok(RunLine {
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
        verdicts: columns.maybe_json("counts of verdicts")?.unwrap_or_default(),
    })
}
