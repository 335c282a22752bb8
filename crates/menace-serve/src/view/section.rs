//! One section: what each scenario made of it, its calls, its failures.

use menace_loop::failure::python;
use menace_model::{SectionId, Verdict};
use menace_store::{
    BESIDE, CallFilter, CallOrder, CallRecord, FailureFilter, FailureOrder, Page, Store,
};
use minijinja::Value;
use serde::Serialize;

use super::paging::{Column, Here, Paging, ROWS, Sorting};
use super::run::{FailureRow, Head, Shown, VerdictPart, Verdicts};
use super::svg;
use crate::chart::{LineChart, Role, Series};
use crate::error::{Error, Result};
use crate::library::Library;
use crate::story::named;
use crate::text::cut;

const CYCLES: u32 = 200;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub id: Option<String>,
    pub run: Option<String>,
    pub verdict: Option<String>,
    pub scenario: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
    pub page: Option<u64>,
}

const COLUMNS: &[(&str, &str, bool)] =
    &[("number", "No.", true), ("time", "Time", true), ("memory", "Memory", true)];

impl Asked {
    /// Those that did not go well come first, unless somebody wants another order.
    fn sorting(&self) -> Sorting {
        let bad = Sorting { by: "bad", descending: true };
        Sorting::of(COLUMNS, bad, self.sort.as_deref(), self.dir.as_deref())
    }

    fn order(&self) -> (CallOrder, bool) {
        let Sorting { by, descending } = self.sorting();
        let order = match by {
            "number" => CallOrder::Number,
            "time" => CallOrder::Time,
            "memory" => CallOrder::Memory,
            _ => CallOrder::Bad,
        };
        (order, descending)
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct OneSection {
    pub head: Head,
    pub id: String,
    pub module: String,
    pub name: String,
    pub cells: Vec<CellRow>,
    pub cells_csv: String,
    pub chart: Value,
    pub png: String,
    pub failures: Vec<FailureRow>,
    pub calls: Vec<CallRow>,
    pub columns: Vec<Column>,
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub paging: Paging,
    pub verdict: String,
    pub scenario: String,
    pub verdict_choices: Vec<&'static str>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct CellRow {
    pub scenario: String,
    /// What the calls of no scenario are.
    pub note: &'static str,
    pub severity: Option<String>,
    pub calls: u64,
    pub roi: Option<f64>,
    pub strip: Value,
    pub parts: Vec<VerdictPart>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CallRow {
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

impl CallRow {
    pub(crate) fn of(call: CallRecord) -> Self {
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
            input: call.call.map(|call| cut(&python(&call), 300)),
        }
    }
}

fn note(scenario: &str) -> &'static str {
    match scenario {
        "depth" => "inputs that learn from what they reach, under no scenario",
        BESIDE => "to confirm, to compare, to measure time: not among the calls of the run",
        _ => "",
    }
}

/// The id as an address has it.
pub(crate) fn section_of(id: Option<&str>) -> Result<SectionId> {
    let id = id.unwrap_or_default();
    match id.rsplit_once("::") {
        Some((path, qualname)) => Ok(SectionId::new(path, qualname)),
        None => Err(Error::Nothing(format!(
            "`{id}` is no section; those look like `shop/cart.py::add`"
        ))),
    }
}

pub(crate) fn calls(library: &Library, asked: &Asked, page: Page) -> Result<Vec<CallRow>> {
    let section = section_of(asked.id.as_deref())?;
    library.must(|store| {
        let shown = Shown::must(store, asked.run.as_deref())?;
        let cycle = shown.cycle()?;
        let calls =
            store.call_page(&shown.run.id, cycle, &section, &filter(asked), asked.order(), page)?;
        Ok(calls.into_iter().map(CallRow::of).collect())
    })
}

fn filter(asked: &Asked) -> CallFilter {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let text = given(&asked.q);
    CallFilter { verdict: given(&asked.verdict), scenario: given(&asked.scenario), text }
}

/// A section over the cycles that had it.
pub(crate) fn chart(store: &Store, section: &SectionId) -> Result<LineChart> {
    let points = store.section_history(section.as_str(), CYCLES)?;
    let values: Vec<f64> = points.iter().map(|point| point.roi.unwrap_or(f64::NAN)).collect();
    Ok(LineChart::new(format!("ROI of {} over cycles", section.as_str())).with(Series::from(
        "ROI",
        Role::Actual,
        1,
        &values,
    )))
}

pub(crate) fn section(library: &Library, asked: &Asked) -> Result<OneSection> {
    let section = section_of(asked.id.as_deref())?;
    library.must(|store| {
        let shown = Shown::must(store, asked.run.as_deref())?;
        let (run, cycle) = (&shown.run.id, shown.cycle()?);
        let cells = store.cells_of(run, cycle, &section)?;
        let chart = chart(store, &section)?;
        if cells.is_empty() && chart.series.is_empty() {
            let what = format!("run {run} has no section `{}`", section.as_str());
            return Err(Error::Nothing(what));
        }
        let filter = filter(asked);
        let here = Here::new("/section")
            .with("id", asked.id.as_deref())
            .with("run", asked.run.as_deref())
            .with("verdict", asked.verdict.as_deref())
            .with("scenario", asked.scenario.as_deref())
            .with("q", asked.q.as_deref())
            .with("sort", asked.sort.as_deref())
            .with("dir", asked.dir.as_deref());
        let total = store.call_count(run, cycle, &section, &filter)?;
        let paging = Paging::new(&here, asked.page, total);
        let page = Page { limit: ROWS, offset: paging.offset() };
        let made = store.call_page(run, cycle, &section, &filter, asked.order(), page)?;
        let failures = FailureFilter {
            place: Some(section.as_str().to_owned()),
            gone: true,
            ..FailureFilter::default()
        };
        let lines = store.failure_lines(&failures, FailureOrder::Last, false, Page::first(ROWS))?;
        Ok(OneSection {
            head: Head::of(&shown.run),
            id: section.as_str().to_owned(),
            module: section.path().to_owned(),
            name: named(section.qualname()),
            cells: cells
                .into_iter()
                .map(|cell| {
                    let Verdicts { strip, parts } = Verdicts::of(|verdict| {
                        cell.verdicts.get(&verdict).copied().unwrap_or_default()
                    });
                    CellRow {
                        note: note(&cell.key.scenario),
                        scenario: cell.key.scenario,
                        severity: cell.severity,
                        calls: cell.calls.unwrap_or_default(),
                        roi: cell.roi,
                        strip,
                        parts,
                    }
                })
                .collect(),
            cells_csv: here.at("/section_scenarios.csv").href(),
            chart: svg(&chart.draw()),
            png: Here::new("/plots/section.png").with("id", Some(section.as_str())).href(),
            failures: lines.into_iter().map(|line| FailureRow::of(line, None)).collect(),
            calls: made.into_iter().map(CallRow::of).collect(),
            columns: asked.sorting().heads(COLUMNS, &here),
            q: filter.text.unwrap_or_default(),
            kept: here.kept(&["q", "verdict", "scenario"]),
            paging,
            verdict: filter.verdict.unwrap_or_default(),
            scenario: filter.scenario.unwrap_or_default(),
            verdict_choices: Verdict::ALL.iter().map(|verdict| verdict.as_str()).collect(),
            csv: here.at("/calls.csv").href(),
        })
    })
}
