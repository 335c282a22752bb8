//! Failures in few words: searched, sorted, page by page.

use menace_model::{FailureId, Place, SectionId};
use rusqlite::{Row, ToSql};
use serde::Serialize;

use super::{Page, anywhere};
use crate::database::Result;
use crate::read::rows::{Columns, Misread};
use crate::{RunId, Sighting, Store};

/// A failure as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureLine {
    pub id: FailureId,
    pub section: SectionId,
    pub kind: String,
    pub scenario: String,
    pub verdict: String,
    pub exception: Option<String>,
    /// Its beginning.
    pub message: String,
    pub location: Place,
    pub count: u64,
    pub first_ms: i64,
    pub last_ms: i64,
    pub gone_ms: Option<i64>,
}

/// Which failures; what is not said does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureFilter {
    /// Those that are gone, too.
    pub gone: bool,
    pub kind: Option<String>,
    /// With or without its severity: `hostile_input` is any, `hostile_input:high` that one.
    pub scenario: Option<String>,
    /// A module's path, or a section's id.
    pub place: Option<String>,
    /// That this run saw.
    pub run: Option<RunId>,
    /// In the section, the id, the exception or the message.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailureOrder {
    /// Seen last first.
    #[default]
    Last,
    /// Newest first.
    First,
    /// The most frequent first.
    Count,
    Section,
    Kind,
}

impl FailureOrder {
    fn sql(self, reverse: bool) -> &'static str {
        match (self, reverse) {
            (Self::Last, false) => "failures.last_ms DESC, failures.id",
            (Self::Last, true) => "failures.last_ms, failures.id",
            (Self::First, false) => "failures.first_ms DESC, failures.id",
            (Self::First, true) => "failures.first_ms, failures.id",
            (Self::Count, false) => "failures.count DESC, failures.id",
            (Self::Count, true) => "failures.count, failures.id",
            (Self::Section, false) => "place, failures.id",
            (Self::Section, true) => "place DESC, failures.id",
            (Self::Kind, false) => "sort, place, failures.id",
            (Self::Kind, true) => "sort DESC, place, failures.id",
        }
    }
}

impl FailureFilter {
    fn search(&self) -> &'static str {
        match self.text {
            Some(_) => include_str!("../../../sql/look/failure_search.sql"),
            None => "AND ?6 IS NULL",
        }
    }

    fn values(&self) -> [Box<dyn ToSql>; 6] {
        let Self { gone, kind, scenario, place, run, text } = self;
        [
            Box::new(*gone),
            Box::new(kind.clone()),
            Box::new(scenario.clone()),
            Box::new(place.clone()),
            Box::new(run.as_ref().map(|run| run.0.clone())),
            Box::new(text.as_deref().map(anywhere)),
        ]
    }
}

impl Store {
    pub fn failure_lines(
        &self,
        filter: &FailureFilter,
        order: FailureOrder,
        reverse: bool,
        page: Page,
    ) -> Result<Vec<FailureLine>> {
        let sql = include_str!("../../../sql/look/failures.sql");
        let sql = sql.replace("{order}", order.sql(reverse)).replace("{search}", filter.search());
        let mut values = Vec::from(filter.values());
        values.push(Box::new(page.limit));
        values.push(Box::new(page.start()));
        self.ask(&sql, rusqlite::params_from_iter(values), line)
    }

    pub fn failure_count(&self, filter: &FailureFilter) -> Result<u64> {
        let sql = include_str!("../../../sql/look/failure_count.sql");
        let sql = sql.replace("{search}", filter.search());
        let values = rusqlite::params_from_iter(filter.values());
        let counts = self.ask(&sql, values, |row| Columns::of(row).unsigned())?;
        Ok(counts.into_iter().sum())
    }

    /// How many failures of each kind are still there, the most frequent kind first.
    pub fn failure_kinds(&self) -> Result<Vec<(String, u64)>> {
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok((columns.get()?, columns.unsigned()?))
        };
        self.ask(include_str!("../../../sql/look/failure_kinds.sql"), [], read)
    }

    /// The latest runs that saw a failure, latest first, and how many there are.
    pub fn latest_sightings(
        &self,
        failure: &FailureId,
        limit: u32,
    ) -> Result<(Vec<Sighting>, u64)> {
        let read = |row: &Row<'_>| {
            let mut columns = Columns::of(row);
            Ok(Sighting {
                run: RunId(columns.get()?),
                started_ms: columns.get()?,
                count: columns.unsigned()?,
            })
        };
        let sql = include_str!("../../../sql/look/sightings.sql");
        let seen = self.ask(sql, (&failure.0, limit), read)?;
        let sql = include_str!("../../../sql/look/sighting_count.sql");
        let counts = self.ask(sql, [&failure.0], |row| Columns::of(row).unsigned())?;
        Ok((seen, counts.into_iter().sum()))
    }
}

fn line(row: &Row<'_>) -> std::result::Result<FailureLine, Misread> {
    let mut columns = Columns::of(row);
    Ok(FailureLine {
        id: FailureId(columns.get()?),
        section: columns.section()?,
        kind: columns.get()?,
        scenario: columns.get()?,
        verdict: columns.get()?,
        exception: columns.get()?,
        message: columns.get()?,
        location: Place { file: columns.get()?, line: columns.get()? },
        count: columns.unsigned()?,
        first_ms: columns.get()?,
        last_ms: columns.get()?,
        gone_ms: columns.get()?,
    })
}
