//! All runs, page by page.

use menace_store::{Page, RunLine, RunOrder, Store};
use serde::Serialize;

use super::paging::{Column, Here, Paging, ROWS, Sorting};
use super::run::status_text;
use crate::clock::moment;
use crate::error::Result;
use crate::library::Library;
use crate::text::milliseconds;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
    pub page: Option<u64>,
}

const COLUMNS: &[(&str, &str, bool)] = &[
    ("started", "Begun (UTC)", false),
    ("took", "Took", true),
    ("calls", "Calls", true),
    ("failures", "Failures", true),
    ("new", "New", true),
    ("roi", "ROI", true),
    ("change", "Change", true),
];

impl Asked {
    fn sorting(&self) -> Sorting {
        let latest = Sorting { by: "started", descending: true };
        Sorting::of(COLUMNS, latest, self.sort.as_deref(), self.dir.as_deref())
    }

    fn order(&self) -> (RunOrder, bool) {
        let Sorting { by, descending } = self.sorting();
        let order = match by {
            "took" => RunOrder::Took,
            "calls" => RunOrder::Calls,
            "failures" => RunOrder::Failures,
            "new" => RunOrder::New,
            "roi" => RunOrder::Roi,
            "change" => RunOrder::Change,
            _ => RunOrder::Started,
        };
        (order, descending)
    }

    fn text(&self) -> Option<&str> {
        self.q.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }

    fn here(&self) -> Here {
        Here::new("/runs")
            .with("q", self.text())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Runs {
    pub columns: Vec<Column>,
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub csv: String,
    pub rows: Vec<RunRow>,
    pub paging: Paging,
}

#[derive(Debug, Serialize)]
pub(crate) struct RunRow {
    pub id: String,
    pub started: String,
    pub status: String,
    pub status_text: &'static str,
    pub took: Option<String>,
    pub cycles: u32,
    pub calls: Option<u64>,
    pub failures: Option<u64>,
    pub new_failures: Option<u64>,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
}

impl RunRow {
    pub(crate) fn of(line: RunLine) -> Self {
        Self {
            id: line.id.0,
            started: moment(line.started_ms),
            status: line.status.as_str().to_owned(),
            status_text: status_text(line.status),
            took: line.elapsed_s.map(|seconds| milliseconds(1000.0 * seconds)),
            cycles: line.cycles,
            calls: line.calls,
            failures: line.failures,
            new_failures: line.new_failures,
            roi: line.roi,
            roi_delta: line.roi_delta,
        }
    }
}

/// Those that were asked for, in the order that was asked for.
pub(crate) fn lines(store: &Store, asked: &Asked, page: Page) -> Result<Vec<RunLine>> {
    let (order, descending) = asked.order();
    Ok(store.sorted_runs(asked.text(), order, descending, page)?)
}

pub(crate) fn runs(library: &Library, asked: &Asked) -> Result<Runs> {
    let here = asked.here();
    let found = library.ask(|store| {
        let total = match asked.text() {
            Some(text) => store.runs_with(text)?,
            None => store.totals()?.runs,
        };
        let paging = Paging::new(&here, asked.page, total);
        let page = Page { limit: ROWS, offset: paging.offset() };
        Ok((lines(store, asked, page)?.into_iter().map(RunRow::of).collect(), paging))
    })?;
    let (rows, paging) = found.unwrap_or_else(|| (Vec::new(), Paging::new(&here, None, 0)));
    let columns = asked.sorting().heads(COLUMNS, &here);
    Ok(Runs {
        columns,
        q: asked.text().unwrap_or_default().to_owned(),
        kept: here.kept(&["q"]),
        csv: here.at("/runs.csv").href(),
        rows,
        paging,
    })
}
