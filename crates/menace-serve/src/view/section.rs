//! The page of one section: its scores under each scenario, its calls, its failures.

use menace_model::{ScenarioSeverity, SectionId, Verdict};
use menace_store::{
    CallFilter, CallRecord, CallSortOrder, FailureFilter, FailureSortOrder, OutsideCellScenario,
    PageRange, Store,
};
use minijinja::Value;
use serde::Serialize;

use super::paging::{PageAddress, PageNavigation, ROWS_PER_PAGE, SortableColumn, TableSorting};
use super::run::{FailurePageRow, RunHead, SelectedRun, VerdictShare, VerdictShares};
use super::svg;
use crate::chart::{ChartSeries, LineChart, MarkRole};
use crate::data_source::DataSource;
use crate::error::{ServeError, ServeResult};
use crate::failure_detail::section_display_name;
use crate::text::truncate;

const MAX_CHART_CYCLES: u32 = 200;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct SectionQuery {
    pub id: Option<String>,
    pub run: Option<String>,
    pub verdict: Option<String>,
    pub scenario: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
    pub page: Option<u64>,
}

const CALL_COLUMNS: &[(&str, &str, bool)] =
    &[("number", "No.", true), ("time", "Time", true), ("memory", "Memory", true)];

impl SectionQuery {
    /// Calls that neither returned nor refused come first, unless the query has another order.
    fn sorting(&self) -> TableSorting {
        let bad = TableSorting { by: "bad", descending: true };
        TableSorting::from_query(CALL_COLUMNS, bad, self.sort.as_deref(), self.dir.as_deref())
    }

    fn order(&self) -> (CallSortOrder, bool) {
        let TableSorting { by, descending } = self.sorting();
        let order = match by {
            "number" => CallSortOrder::Number,
            "time" => CallSortOrder::WallTime,
            "memory" => CallSortOrder::Memory,
            _ => CallSortOrder::FailedFirst,
        };
        (order, descending)
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SectionPage {
    pub head: RunHead,
    pub id: String,
    pub module: String,
    pub name: String,
    pub cells: Vec<SectionCellRow>,
    pub cells_csv: String,
    pub chart: Value,
    pub png: String,
    pub failures: Vec<FailurePageRow>,
    pub calls: Vec<SectionCallRow>,
    pub columns: Vec<SortableColumn>,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub paging: PageNavigation,
    pub verdict: String,
    pub scenario: String,
    pub verdict_choices: Vec<&'static str>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SectionCellRow {
    pub scenario: String,
    /// An explanation of calls that belong to no scenario.
    pub note: &'static str,
    pub severity: Option<ScenarioSeverity>,
    pub calls: u64,
    pub roi: Option<f64>,
    pub strip: Value,
    pub parts: Vec<VerdictShare>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SectionCallRow {
    pub number: u32,
    pub scenario: String,
    pub intent: String,
    pub verdict: String,
    pub wall_ms: f64,
    pub memory_bytes: u64,
    pub exception: Option<String>,
    pub message: Option<String>,
    pub place: Option<String>,
    pub failure: Option<String>,
    pub input: Option<String>,
}

impl SectionCallRow {
    pub(crate) fn from_record(call: CallRecord) -> Self {
        Self {
            number: call.number,
            scenario: call.cell.scenario,
            intent: call.intent.as_str().to_owned(),
            verdict: call.verdict.as_str().to_owned(),
            wall_ms: call.wall_ms,
            memory_bytes: call.memory_bytes,
            exception: call.exception,
            message: call.message,
            place: call.place.map(|place| place.to_string()),
            failure: call.failure.map(|id| id.0),
            input: call.call.map(|call| truncate(&call.to_python(), 300)),
        }
    }
}

fn scenario_note(scenario: &str) -> &'static str {
    match OutsideCellScenario::from_name(scenario) {
        Some(OutsideCellScenario::Depth) => {
            "inputs that learn from what they reach, under no scenario"
        }
        Some(OutsideCellScenario::Auxiliary) => {
            "to confirm, to compare, to measure time: not among the calls of the run"
        }
        None => "",
    }
}

/// The id as an address has it.
pub(crate) fn parse_section_id(id: Option<&str>) -> ServeResult<SectionId> {
    let id = id.unwrap_or_default();
    match id.rsplit_once("::") {
        Some((path, qualname)) => Ok(SectionId::new(path, qualname)),
        None => Err(ServeError::NotFound(format!(
            "`{id}` is no section; those look like `shop/cart.py::add`"
        ))),
    }
}

pub(crate) fn call_rows(
    source: &DataSource,
    query: &SectionQuery,
    page: PageRange,
) -> ServeResult<Vec<SectionCallRow>> {
    let section = parse_section_id(query.id.as_deref())?;
    source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, query.run.as_deref())?;
        let cycle = shown.cycle()?;
        let calls = store.call_page(
            &shown.run.id,
            cycle,
            &section,
            &call_filter(query),
            query.order(),
            page,
        )?;
        Ok(calls.into_iter().map(SectionCallRow::from_record).collect())
    })
}

fn call_filter(query: &SectionQuery) -> CallFilter {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let text = given(&query.q);
    CallFilter { verdict: given(&query.verdict), scenario: given(&query.scenario), text }
}

/// A section over the cycles that had it.
pub(crate) fn section_chart(store: &Store, section: &SectionId) -> ServeResult<LineChart> {
    let points = store.section_history(section.as_str(), MAX_CHART_CYCLES)?;
    let values = points.iter().map(|point| point.roi);
    Ok(LineChart::new(format!("ROI of {} over cycles", section.as_str()))
        .with_series(ChartSeries::from_values("ROI", MarkRole::Actual, 1, values)))
}

pub(crate) fn section_page(source: &DataSource, query: &SectionQuery) -> ServeResult<SectionPage> {
    let section = parse_section_id(query.id.as_deref())?;
    source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, query.run.as_deref())?;
        let (run, cycle) = (&shown.run.id, shown.cycle()?);
        let cells = store.cells_of_section(run, cycle, &section)?;
        let chart = section_chart(store, &section)?;
        if cells.is_empty() && chart.series.is_empty() {
            let what = format!("run {run} has no section `{}`", section.as_str());
            return Err(ServeError::NotFound(what));
        }
        let filter = call_filter(query);
        let here = PageAddress::new("/section")
            .with("id", query.id.as_deref())
            .with("run", query.run.as_deref())
            .with("verdict", query.verdict.as_deref())
            .with("scenario", query.scenario.as_deref())
            .with("q", query.q.as_deref())
            .with("sort", query.sort.as_deref())
            .with("dir", query.dir.as_deref());
        let total = store.call_count(run, cycle, &section, &filter)?;
        let paging = PageNavigation::new(&here, query.page, total);
        let page = PageRange { limit: ROWS_PER_PAGE, offset: paging.offset() };
        let made = store.call_page(run, cycle, &section, &filter, query.order(), page)?;
        let failures = FailureFilter {
            place: Some(section.as_str().to_owned()),
            gone: true,
            ..FailureFilter::default()
        };
        let lines = store.list_failures(
            &failures,
            FailureSortOrder::LastSeen,
            false,
            PageRange::first(ROWS_PER_PAGE),
        )?;
        Ok(SectionPage {
            head: RunHead::from_run(&shown.run),
            id: section.as_str().to_owned(),
            module: section.path().to_owned(),
            name: section_display_name(section.qualname()),
            cells: cells
                .into_iter()
                .map(|cell| {
                    let VerdictShares { strip, parts } = VerdictShares::from_counts(|verdict| {
                        cell.verdicts.get(&verdict).copied().unwrap_or_default()
                    });
                    SectionCellRow {
                        note: scenario_note(&cell.key.scenario),
                        scenario: cell.key.scenario,
                        severity: cell.severity,
                        calls: cell.calls.unwrap_or_default(),
                        roi: cell.roi,
                        strip,
                        parts,
                    }
                })
                .collect(),
            cells_csv: here.at_path("/section_scenarios.csv").href(),
            chart: svg(&chart.draw()),
            png: PageAddress::new("/plots/section.png").with("id", Some(section.as_str())).href(),
            failures: lines.into_iter().map(FailurePageRow::from_line).collect(),
            calls: made.into_iter().map(SectionCallRow::from_record).collect(),
            columns: query.sorting().column_heads(CALL_COLUMNS, &here),
            q: filter.text.unwrap_or_default(),
            hidden_fields: here.hidden_fields(&["q", "verdict", "scenario"]),
            paging,
            verdict: filter.verdict.unwrap_or_default(),
            scenario: filter.scenario.unwrap_or_default(),
            verdict_choices: Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect(),
            csv: here.at_path("/calls.csv").href(),
        })
    })
}
