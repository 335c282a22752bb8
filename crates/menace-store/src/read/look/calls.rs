//! The calls of one section, page by page, and what its cells were worth.

use menace_model::SectionId;

use super::{Page, anywhere};
use crate::database::Result;
use crate::read::rows::Columns;
use crate::{CallRecord, Cell, RunId, Store};

/// Which calls; what is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallFilter {
    pub verdict: Option<String>,
    pub scenario: Option<String>,
    /// In the exception or the message.
    pub text: Option<String>,
}

/// What a list of calls is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallOrder {
    /// Those that did not go well first.
    #[default]
    Bad,
    Number,
    Time,
    Memory,
}

impl CallOrder {
    fn sql(self, descending: bool) -> &'static str {
        match (self, descending) {
            (Self::Bad, _) => {
                "calls.failure IS NULL AND calls.verdict IN \
                 (SELECT key FROM names WHERE text IN ('returned', 'refused'))"
            }
            (Self::Number, true) => "calls.number DESC",
            (Self::Number, false) => "calls.number",
            (Self::Time, true) => "calls.wall_us DESC",
            (Self::Time, false) => "calls.wall_us",
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
        (order, descending): (CallOrder, bool),
        page: Page,
    ) -> Result<Vec<CallRecord>> {
        let CallFilter { verdict, scenario, text } = filter;
        let (text, first) = (text.as_deref().map(anywhere), page.start());
        let sql = include_str!("../../../sql/look/calls.sql");
        self.ask(
            &sql.replace("{order}", order.sql(descending)),
            (&run.0, cycle, section.as_str(), verdict, scenario, text, page.limit, first),
            |row| crate::read::calls::call(row, section),
        )
    }

    pub fn call_count(
        &self,
        run: &RunId,
        cycle: u32,
        section: &SectionId,
        filter: &CallFilter,
    ) -> Result<u64> {
        let CallFilter { verdict, scenario, text } = filter;
        let counts = self.ask(
            include_str!("../../../sql/look/call_count.sql"),
            (&run.0, cycle, section.as_str(), verdict, scenario, text.as_deref().map(anywhere)),
            |row| Columns::of(row).unsigned(),
        )?;
        Ok(counts.into_iter().sum())
    }

    /// What each scenario made of a section. Calls in depth, and beside, belong to no scenario that is
    /// weighed: they are counted.
    pub fn cells_of(&self, run: &RunId, cycle: u32, section: &SectionId) -> Result<Vec<Cell>> {
        let which = (&run.0, cycle, section.as_str());
        let sql = include_str!("../../../sql/look/cells_of_section.sql");
        let mut cells = self.ask(sql, which, crate::read::worth::cell)?;
        let beyond =
            self.ask(include_str!("../../../sql/look/calls_beyond.sql"), which, |row| {
                let mut columns = Columns::of(row);
                Ok((columns.get::<String>()?, columns.verdict()?, columns.unsigned()?))
            })?;
        for (scenario, verdict, count) in beyond {
            if let Some(cell) = cells.iter_mut().find(|cell| cell.key.scenario == scenario) {
                *cell.calls.get_or_insert_default() += count;
                *cell.verdicts.entry(verdict).or_default() += count;
            }
        }
        Ok(cells)
    }
}
