//! Queries for lists of failures: filtered, sorted, page by page.

use menace_model::{FailureId, SectionId, SourceLocation, Verdict, WeaknessKind};
use rusqlite::{Row, ToSql};
use serde::Serialize;

use super::{PageRange, like_pattern};
use crate::database::StoreResult;
use crate::read::failures::read_occurrences;
use crate::read::rows::{ColumnReader, RowResult};
use crate::{RunId, RunOccurrences, Store};

/// A failure as a row of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureListRow {
    pub id: FailureId,
    pub section: SectionId,
    pub kind: WeaknessKind,
    pub scenario: String,
    pub verdict: Verdict,
    pub exception: Option<String>,
    /// The beginning of the message.
    pub message: String,
    pub location: SourceLocation,
    pub count: u64,
    pub first_ms: i64,
    pub last_ms: i64,
    pub gone_ms: Option<i64>,
    /// Whether it was new in the queried run; see [`crate::RunWriter::is_new`].
    pub new_in_run: bool,
}

/// Conditions for failures; `None` matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailureFilter {
    /// Whether failures that are gone are included.
    pub gone: bool,
    pub kind: Option<WeaknessKind>,
    /// With or without a severity: `hostile_input` matches all, `hostile_input:high` only that one.
    pub scenario: Option<String>,
    /// Path of a module, or id of a section.
    pub place: Option<String>,
    /// Only failures that this run saw.
    pub run: Option<RunId>,
    /// Text in the section, the id, the exception or the message.
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FailureSortOrder {
    /// Seen last first.
    #[default]
    LastSeen,
    /// Newest first.
    FirstSeen,
    /// The most frequent first.
    Count,
    Section,
    Kind,
    /// By severity of the kind, worst first, then newest first.
    Severity,
}

impl FailureSortOrder {
    fn order_by_sql(self, reverse: bool) -> String {
        let (column, starts_descending, then) = match self {
            Self::LastSeen => ("failures.last_ms", true, ""),
            Self::FirstSeen => ("failures.first_ms", true, ""),
            Self::Count => ("failures.count", true, ""),
            Self::Section => ("place", false, ""),
            Self::Kind => ("sort", false, "place, "),
            Self::Severity => (&*severity_rank_sql(), false, "failures.first_ms DESC, "),
        };
        let direction = if starts_descending == reverse { "ASC" } else { "DESC" };
        format!("{column} {direction}, {then}failures.id")
    }
}

fn severity_rank_sql() -> String {
    let kinds = WeaknessKind::WORST_FIRST.iter().enumerate();
    let cases: Vec<String> =
        kinds.map(|(rank, kind)| format!("WHEN '{kind}' THEN {rank}")).collect();
    format!("CASE sort.text {} ELSE {} END", cases.join(" "), cases.len())
}

impl FailureFilter {
    /// The `FROM` and `WHERE` clauses of the list and of its count.
    fn filter_sql(&self) -> String {
        let search = match self.text {
            Some(_) => include_str!("../../../sql/pages/failure_search.sql"),
            None => "AND ?6 IS NULL",
        };
        include_str!("../../../sql/pages/failure_filter.sql").replace("{search}", search)
    }

    fn sql_values(&self) -> [Box<dyn ToSql>; 6] {
        let Self { gone, kind, scenario, place, run, text } = self;
        [
            Box::new(*gone),
            Box::new(kind.map(WeaknessKind::as_str)),
            Box::new(scenario.clone()),
            Box::new(place.clone()),
            Box::new(run.as_ref().map(|run| run.0.clone())),
            Box::new(text.as_deref().map(like_pattern)),
        ]
    }
}

impl Store {
    pub fn list_failures(
        &self,
        filter: &FailureFilter,
        order: FailureSortOrder,
        reverse: bool,
        page: PageRange,
    ) -> StoreResult<Vec<FailureListRow>> {
        let sql = include_str!("../../../sql/pages/failures.sql");
        let sql = sql
            .replace("{filter}", &filter.filter_sql())
            .replace("{order}", &order.order_by_sql(reverse));
        let mut values = Vec::from(filter.sql_values());
        values.push(Box::new(page.limit));
        values.push(Box::new(page.sql_offset()));
        self.query(&sql, rusqlite::params_from_iter(values), read_failure_row)
    }

    pub fn failure_count(&self, filter: &FailureFilter) -> StoreResult<u64> {
        let sql = format!("SELECT count(*) {}", filter.filter_sql());
        let values = rusqlite::params_from_iter(filter.sql_values());
        self.query_count(&sql, values)
    }

    /// The number of present failures of each kind, most frequent first.
    pub fn failure_kinds(&self) -> StoreResult<Vec<(WeaknessKind, u64)>> {
        let read = |row: &Row<'_>| {
            let mut columns = ColumnReader::new(row);
            Ok((columns.kind()?, columns.get_u64()?))
        };
        self.query(include_str!("../../../sql/pages/failure_kinds.sql"), [], read)
    }

    /// The latest runs that saw a failure, latest first, and how many there are.
    pub fn latest_occurrences(
        &self,
        failure: &FailureId,
        limit: u32,
    ) -> StoreResult<(Vec<RunOccurrences>, u64)> {
        let sql = include_str!("../../../sql/pages/sightings.sql");
        let occurrences = self.query(sql, (&failure.0, limit), read_occurrences)?;
        let sql = include_str!("../../../sql/pages/sighting_count.sql");
        Ok((occurrences, self.query_count(sql, [&failure.0])?))
    }
}

fn read_failure_row(row: &Row<'_>) -> RowResult<FailureListRow> {
    let mut columns = ColumnReader::new(row);
    Ok(FailureListRow {
        id: FailureId(columns.get()?),
        section: columns.section()?,
        kind: columns.kind()?,
        scenario: columns.get()?,
        verdict: columns.verdict()?,
        exception: columns.get()?,
        message: columns.get()?,
        location: SourceLocation { file: columns.get()?, line: columns.get()? },
        count: columns.get_u64()?,
        first_ms: columns.get()?,
        last_ms: columns.get()?,
        gone_ms: columns.get()?,
        new_in_run: columns.get::<Option<bool>>()?.unwrap_or_default(),
    })
}
