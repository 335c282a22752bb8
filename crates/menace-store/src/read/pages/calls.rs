//! Queries for the calls of one section, page by page, and the scores of its cells.

use menace_model::SectionId;

use super::{PageRange, like_pattern};
use crate::database::StoreResult;
use crate::read::rows::ColumnReader;
use crate::{CallRecord, CellRecord, RunId, Store};

const CALL_FILTER_SQL: &str = include_str!("../../../sql/pages/call_filter.sql");

/// Conditions for calls; `None` matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallFilter {
    pub verdict: Option<String>,
    pub scenario: Option<String>,
    /// Text in the exception or the message.
    pub text: Option<String>,
}

/// The order of a list of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallSortOrder {
    /// Calls that did not return or refuse come first.
    #[default]
    FailedFirst,
    Number,
    WallTime,
    Memory,
}

impl CallSortOrder {
    fn order_by_sql(self, descending: bool) -> &'static str {
        match (self, descending) {
            (Self::FailedFirst, _) => {
                "calls.failure IS NULL AND calls.verdict IN \
                 (SELECT key FROM names WHERE text IN ('returned', 'refused'))"
            }
            (Self::Number, true) => "calls.number DESC",
            (Self::Number, false) => "calls.number",
            (Self::WallTime, true) => "calls.wall_us DESC",
            (Self::WallTime, false) => "calls.wall_us",
            (Self::Memory, true) => "calls.memory_bytes DESC",
            (Self::Memory, false) => "calls.memory_bytes",
        }
    }
}

impl Store {
    /// Calls of a section in one cycle.
    pub fn call_page(
        &self,
        run: &RunId,
        cycle: u32,
        section: &SectionId,
        filter: &CallFilter,
        (order, descending): (CallSortOrder, bool),
        page: PageRange,
    ) -> StoreResult<Vec<CallRecord>> {
        let CallFilter { verdict, scenario, text } = filter;
        let text = text.as_deref().map(like_pattern);
        let offset = page.sql_offset();
        let sql = include_str!("../../../sql/pages/calls.sql")
            .replace("{filter}", CALL_FILTER_SQL)
            .replace("{order}", order.order_by_sql(descending));
        self.query(
            &sql,
            (&run.0, cycle, section.as_str(), verdict, scenario, text, page.limit, offset),
            |row| crate::read::calls::read_call(row, section),
        )
    }

    pub fn call_count(
        &self,
        run: &RunId,
        cycle: u32,
        section: &SectionId,
        filter: &CallFilter,
    ) -> StoreResult<u64> {
        let CallFilter { verdict, scenario, text } = filter;
        self.query_count(
            &format!("SELECT count(*) {CALL_FILTER_SQL}"),
            (&run.0, cycle, section.as_str(), verdict, scenario, text.as_deref().map(like_pattern)),
        )
    }

    /// The scores and counts of a section under each scenario. Calls of the depth phase and
    /// auxiliary calls belong to no scored scenario: they are only counted.
    pub fn cells_of_section(
        &self,
        run: &RunId,
        cycle: u32,
        section: &SectionId,
    ) -> StoreResult<Vec<CellRecord>> {
        let which = (&run.0, cycle, section.as_str());
        let sql = include_str!("../../../sql/pages/cells_of_section.sql");
        let mut cells = self.query(sql, which, crate::read::scores::read_cell)?;
        let calls_outside_plan =
            self.query(include_str!("../../../sql/pages/calls_outside_plan.sql"), which, |row| {
                let mut columns = ColumnReader::new(row);
                Ok((columns.get::<String>()?, columns.verdict()?, columns.get_u64()?))
            })?;
        for (scenario, verdict, count) in calls_outside_plan {
            if let Some(cell) = cells.iter_mut().find(|cell| cell.key.scenario == scenario) {
                *cell.calls.get_or_insert_default() += count;
                *cell.verdicts.entry(verdict).or_default() += count;
            }
        }
        Ok(cells)
    }
}
