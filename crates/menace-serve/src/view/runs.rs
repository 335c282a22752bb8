//! All runs, page by page.

use menace_store::{PageRange, RunListRow, RunSortOrder, RunStatus, Store};
use serde::Serialize;

use super::paging::{PageAddress, PageNavigation, ROWS_PER_PAGE, SortableColumn, TableSorting};
use super::run::status_text;
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::text::{format_millis, format_timestamp};

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct RunsQuery {
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
    pub page: Option<u64>,
}

const RUN_COLUMNS: &[(&str, &str, bool)] = &[
    ("started", "Begun (UTC)", false),
    ("took", "Took", true),
    ("calls", "Calls", true),
    ("failures", "Failures", true),
    ("new", "New", true),
    ("roi", "ROI", true),
    ("change", "Change", true),
];

impl RunsQuery {
    fn sorting(&self) -> TableSorting {
        let latest = TableSorting { by: "started", descending: true };
        TableSorting::from_query(RUN_COLUMNS, latest, self.sort.as_deref(), self.dir.as_deref())
    }

    fn order(&self) -> (RunSortOrder, bool) {
        let TableSorting { by, descending } = self.sorting();
        let order = match by {
            "took" => RunSortOrder::Elapsed,
            "calls" => RunSortOrder::Calls,
            "failures" => RunSortOrder::Failures,
            "new" => RunSortOrder::NewFailures,
            "roi" => RunSortOrder::Roi,
            "change" => RunSortOrder::RoiDelta,
            _ => RunSortOrder::Started,
        };
        (order, descending)
    }

    fn search_text(&self) -> Option<&str> {
        self.q.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    fn page_address(&self) -> PageAddress {
        PageAddress::new("/runs")
            .with("q", self.search_text())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct RunsPage {
    pub columns: Vec<SortableColumn>,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub csv: String,
    pub rows: Vec<RunsPageRow>,
    pub paging: PageNavigation,
}

#[derive(Debug, Serialize)]
pub(crate) struct RunsPageRow {
    pub id: String,
    pub started: String,
    pub status: RunStatus,
    pub status_text: &'static str,
    pub took: Option<String>,
    pub cycles: u32,
    pub calls: Option<u64>,
    pub failures: Option<u64>,
    pub new_failures: Option<u64>,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
}

impl RunsPageRow {
    pub(crate) fn from_line(line: RunListRow) -> Self {
        Self {
            id: line.id.0,
            started: format_timestamp(line.started_ms),
            status: line.status,
            status_text: status_text(line.status),
            took: line.elapsed_s.map(|seconds| format_millis(1000.0 * seconds)),
            cycles: line.cycles,
            calls: line.calls,
            failures: line.failures,
            new_failures: line.new_failures,
            roi: line.roi,
            roi_delta: line.roi_delta,
        }
    }
}

/// The runs that match the query, in its order.
pub(crate) fn run_lines(
    store: &Store,
    query: &RunsQuery,
    page: PageRange,
) -> ServeResult<Vec<RunListRow>> {
    let (order, descending) = query.order();
    Ok(store.list_sorted_runs(query.search_text(), order, descending, page)?)
}

pub(crate) fn runs_page(source: &DataSource, query: &RunsQuery) -> ServeResult<RunsPage> {
    let here = query.page_address();
    let found = source.query(|store| {
        let total = match query.search_text() {
            Some(text) => store.count_runs_matching(text)?,
            None => store.totals()?.runs,
        };
        let paging = PageNavigation::new(&here, query.page, total);
        let page = PageRange { limit: ROWS_PER_PAGE, offset: paging.offset() };
        Ok((
            run_lines(store, query, page)?.into_iter().map(RunsPageRow::from_line).collect(),
            paging,
        ))
    })?;
    let (rows, paging) = found.unwrap_or_else(|| (Vec::new(), PageNavigation::new(&here, None, 0)));
    let columns = query.sorting().column_heads(RUN_COLUMNS, &here);
    Ok(RunsPage {
        columns,
        q: query.search_text().unwrap_or_default().to_owned(),
        hidden_fields: here.hidden_fields(&["q"]),
        csv: here.at_path("/runs.csv").href(),
        rows,
        paging,
    })
}
