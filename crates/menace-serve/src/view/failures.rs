//! Failures: searched, sorted, and one of them in full.

use std::path::Path;

use menace_model::WeaknessKind;
use menace_store::{FailureFilter, FailureListRow, FailureSortOrder, PageRange, RunId};
use serde::Serialize;

use super::paging::{PageAddress, PageNavigation, ROWS_PER_PAGE, SortableColumn, TableSorting};
use super::run::{FailurePageRow, SelectedRun};
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::failure_detail::{FailureDetail, build_failure_detail};
use crate::text::format_timestamp;

/// Runs that saw a failure, the latest ones.
const MAX_OCCURRENCES: u32 = 25;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct FailuresQuery {
    pub q: Option<String>,
    pub kind: Option<String>,
    pub scenario: Option<String>,
    pub place: Option<String>,
    pub run: Option<String>,
    pub gone: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
    pub page: Option<u64>,
}

const FAILURE_COLUMNS: &[(&str, &str, bool)] = &[
    ("section", "Section", false),
    ("kind", "Kind", false),
    ("count", "Calls", true),
    ("first", "First seen", true),
    ("last", "Last seen", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct FailuresPage {
    pub columns: Vec<SortableColumn>,
    pub rows: Vec<FailurePageRow>,
    pub paging: PageNavigation,
    pub q: String,
    pub kind: String,
    pub run: String,
    pub gone: bool,
    pub hidden_fields: Vec<(String, String)>,
    /// Conditions of the query that the form has no fields for.
    pub active_filters: Vec<ActiveFilter>,
    pub kind_choices: Vec<&'static str>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ActiveFilter {
    pub what: &'static str,
    pub value: String,
    /// The address of the page without this condition.
    pub without: String,
}

impl FailuresQuery {
    fn sorting(&self) -> TableSorting {
        let latest = TableSorting { by: "last", descending: true };
        TableSorting::from_query(FAILURE_COLUMNS, latest, self.sort.as_deref(), self.dir.as_deref())
    }

    fn page_address(&self) -> PageAddress {
        PageAddress::new("/failures")
            .with("q", self.q.as_deref())
            .with("kind", self.kind.as_deref())
            .with("scenario", self.scenario.as_deref())
            .with("place", self.place.as_deref())
            .with("run", self.run.as_deref())
            .with("gone", self.gone.as_deref())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }

    /// None where no failure can be of that kind.
    fn filter(&self, run: Option<RunId>) -> Option<FailureFilter> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Some(FailureFilter {
            gone: self.gone.is_some() || run.is_some(),
            kind: given(&self.kind).map(|kind| kind.parse()).transpose().ok()?,
            scenario: given(&self.scenario),
            place: given(&self.place),
            run,
            text: given(&self.q),
        })
    }
}

/// One page of the failures that match the query, and their number.
pub(crate) fn failure_lines(
    source: &DataSource,
    query: &FailuresQuery,
    page: impl FnOnce(u64) -> PageRange,
) -> ServeResult<(Vec<FailureListRow>, u64)> {
    let sorting = query.sorting();
    let order = match sorting.by {
        "section" => FailureSortOrder::Section,
        "kind" => FailureSortOrder::Kind,
        "count" => FailureSortOrder::Count,
        "first" => FailureSortOrder::FirstSeen,
        _ => FailureSortOrder::LastSeen,
    };
    // Numbers and moments come with the largest first; names with the first.
    let reverse = match order {
        FailureSortOrder::Section | FailureSortOrder::Kind | FailureSortOrder::Severity => {
            sorting.descending
        }
        FailureSortOrder::Count | FailureSortOrder::FirstSeen | FailureSortOrder::LastSeen => {
            !sorting.descending
        }
    };
    let found = source.query(|store| {
        let run = match query.run.as_deref().filter(|run| !run.is_empty()) {
            Some(run) => Some(SelectedRun::find_existing(store, Some(run))?.run.id),
            None => None,
        };
        let Some(filter) = query.filter(run) else {
            return Ok((Vec::new(), 0));
        };
        let total = store.failure_count(&filter)?;
        Ok((store.list_failures(&filter, order, reverse, page(total))?, total))
    })?;
    Ok(found.unwrap_or_default())
}

pub(crate) fn failures_page(
    source: &DataSource,
    query: &FailuresQuery,
) -> ServeResult<FailuresPage> {
    let (here, sorting) = (query.page_address(), query.sorting());
    let (lines, total) = failure_lines(source, query, |total| {
        let paging = PageNavigation::new(&here, query.page, total);
        PageRange { limit: ROWS_PER_PAGE, offset: paging.offset() }
    })?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(FailuresPage {
        columns: sorting.column_heads(FAILURE_COLUMNS, &here),
        rows: lines.into_iter().map(FailurePageRow::from_line).collect(),
        paging: PageNavigation::new(&here, query.page, total),
        q: text(&query.q),
        kind: text(&query.kind),
        run: text(&query.run),
        gone: query.gone.is_some(),
        hidden_fields: here.hidden_fields(&["q", "kind", "gone"]),
        active_filters: [
            ("run", &query.run),
            ("scenario", &query.scenario),
            ("place", &query.place),
        ]
        .into_iter()
        .filter_map(|(what, value)| {
            let value = value.clone().filter(|value| !value.is_empty())?;
            Some(ActiveFilter { what, value, without: here.clone().with(what, None).href() })
        })
        .collect(),
        kind_choices: WeaknessKind::ALL.iter().map(|kind| kind.as_str()).collect(),
        csv: here.at_path("/failures.csv").href(),
    })
}

#[derive(Debug, Serialize)]
pub(crate) struct FailurePage {
    pub detail: FailureDetail,
    pub occurrences: Vec<FailureOccurrence>,
    pub occurrence_count: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct FailureOccurrence {
    pub run: String,
    pub started: String,
    pub count: u64,
}

pub(crate) fn failure_page(source: &DataSource, id: &str) -> ServeResult<FailurePage> {
    source.query_existing(|store| {
        let record = store.failure(id)?;
        // The repository of the run that saw it last.
        let repository = store.run_list_row(&record.last_seen.run)?.map(|run| run.repository);
        let (sightings, sighting_count) =
            store.latest_occurrences(&record.failure.id, MAX_OCCURRENCES)?;
        Ok(FailurePage {
            detail: build_failure_detail(&record, Path::new(&repository.unwrap_or_default())),
            occurrences: sightings
                .into_iter()
                .map(|seen| FailureOccurrence {
                    run: seen.run.0,
                    started: format_timestamp(seen.started_ms),
                    count: seen.count,
                })
                .collect(),
            occurrence_count: sighting_count,
        })
    })
}
