//! The handlers of tables as CSV files.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use menace_model::Verdict;
use menace_store::PageRange;
use serde::de::DeserializeOwned;

use super::csv::{CsvTable, format_number};
use super::response::{respond_blocking, text_response};
use super::{AppState, DashboardState};
use crate::error::ServeResult;
use crate::view;
use crate::view::compare::{ComparisonPage, ComparisonQuery};
use crate::view::failures::FailuresQuery;
use crate::view::forecasts::{ForecastsQuery, requested_metric};
use crate::view::heat_map::{HeatMap, heat_map_of};
use crate::view::modules::ModulesQuery;
use crate::view::run::SelectedRun;
use crate::view::runs::RunsQuery;
use crate::view::section::SectionQuery;
use crate::view::settings::SettingsQuery;
use crate::view::synergy::SynergyQuery;
use crate::view::table_query::TableQuery;

/// Rows of a file at most: a store may have ten million calls.
const MAX_CSV_ROWS: u32 = 10_000;

/// The routes of all tables, by name.
pub(super) fn routes() -> Router<Arc<DashboardState>> {
    Router::new()
        .route("/modules.csv", csv_download("modules", modules))
        .route("/failures.csv", csv_download("failures", failures))
        .route("/runs.csv", csv_download("runs", runs))
        .route("/calls.csv", csv_download("calls", calls))
        .route("/scenarios.csv", csv_download("scenarios", scenarios))
        .route("/heat.csv", csv_download("heat", heat))
        .route("/forecasts.csv", csv_download("forecasts", forecasts))
        .route("/sections.csv", csv_download("sections", sections))
        .route("/module_metrics.csv", csv_download("module_metrics", module_metrics))
        .route("/section_scenarios.csv", csv_download("section_scenarios", section_scenarios))
        .route("/forecast_errors.csv", csv_download("forecast_errors", forecast_errors))
        .route("/decisions.csv", csv_download("decisions", decisions))
        .route("/outlook.csv", csv_download("outlook", outlook))
        .route("/compare.csv", csv_download("compare", compare))
        .route("/synergy.csv", csv_download("synergy", synergy))
        .route("/weights.csv", csv_download("weights", weights))
        .route("/settings.csv", csv_download("settings", |app, query| Ok(settings(app, query))))
}

/// Answers with the table that `make` finds.
fn csv_download<Q: DeserializeOwned + Send + 'static>(
    name: &'static str,
    make: fn(&DashboardState, &Q) -> ServeResult<CsvTable>,
) -> MethodRouter<Arc<DashboardState>> {
    get(move |State(app): AppState, Query(query): Query<Q>| {
        respond_blocking(move || Ok(csv_response(name, make(&app, &query)?)))
    })
}

fn csv_response(name: &str, csv: CsvTable) -> Response {
    let response = text_response("text/csv; charset=utf-8", csv.into_text());
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    ([(header::CONTENT_DISPOSITION, disposition)], response).into_response()
}

fn modules(app: &DashboardState, query: &ModulesQuery) -> ServeResult<CsvTable> {
    let (_, rows, _) = view::modules::module_rows(&app.data_source, query)?;
    let mut csv = CsvTable::new(
        "module,roi,raroi,reliability,resilience,safety_rating,risk_index,\
             flagged",
    );
    for row in rows.into_iter().take(MAX_CSV_ROWS as usize) {
        let numbers = [
            row.roi,
            row.raroi,
            row.reliability,
            row.resilience,
            row.safety_rating,
            row.risk_index,
        ];
        csv.add_row(
            std::iter::once(row.path)
                .chain(numbers.map(format_number))
                .chain([row.flagged.to_string()]),
        );
    }
    Ok(csv)
}

/// The sections of one module.
fn sections(app: &DashboardState, query: &ModulesQuery) -> ServeResult<CsvTable> {
    let (rows, _) = app.data_source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, query.table.run.as_deref())?;
        view::modules::section_rows(store, &shown, query)
    })?;
    let mut csv = CsvTable::new("section,roi,raroi,reliability,risk_index,unreachable");
    for row in rows.into_iter().take(MAX_CSV_ROWS as usize) {
        let numbers = [row.roi, row.raroi, row.reliability, row.risk_index].map(format_number);
        let note = row.uncallable_reason.unwrap_or_default();
        csv.add_row(std::iter::once(row.id).chain(numbers).chain([note]));
    }
    Ok(csv)
}

/// Every metric of one module.
fn module_metrics(app: &DashboardState, query: &ModulesQuery) -> ServeResult<CsvTable> {
    let mut csv = CsvTable::new("metric,value");
    for (metric, value) in view::modules::module_page(&app.data_source, query)?.metrics {
        csv.add_row([metric, format_number(value)]);
    }
    Ok(csv)
}

/// How the calls of one section ended, under each scenario.
fn section_scenarios(app: &DashboardState, query: &SectionQuery) -> ServeResult<CsvTable> {
    let verdicts = Verdict::ALL.iter().map(|verdict| verdict.as_str());
    let head: Vec<&str> =
        ["scenario", "severity", "calls", "roi"].into_iter().chain(verdicts.clone()).collect();
    let mut csv = CsvTable::new(&head.join(","));
    for cell in view::section::section_page(&app.data_source, query)?.cells {
        let ended = verdicts.clone().map(|verdict| {
            let part = cell.parts.iter().find(|part| part.verdict == verdict);
            part.map_or(0, |part| part.count).to_string()
        });
        let severity = cell.severity.map(|severity| severity.to_string()).unwrap_or_default();
        let known =
            [cell.scenario.clone(), severity, cell.calls.to_string(), format_number(cell.roi)];
        csv.add_row(known.into_iter().chain(ended));
    }
    Ok(csv)
}

fn failures(app: &DashboardState, query: &FailuresQuery) -> ServeResult<CsvTable> {
    let (lines, _) =
        view::failures::failure_lines(&app.data_source, query, |_| PageRange::first(MAX_CSV_ROWS))?;
    let mut csv = CsvTable::new(
        "id,section,kind,scenario,verdict,exception,message,location,count,\
             first_ms,last_ms,gone_ms",
    );
    for line in lines {
        csv.add_row([
            line.id.0,
            line.section.as_str().to_owned(),
            line.kind.to_string(),
            line.scenario,
            line.verdict.to_string(),
            line.exception.unwrap_or_default(),
            line.message,
            line.location.to_string(),
            line.count.to_string(),
            line.first_ms.to_string(),
            line.last_ms.to_string(),
            line.gone_ms.map_or_else(String::new, |ms| ms.to_string()),
        ]);
    }
    Ok(csv)
}

fn runs(app: &DashboardState, query: &RunsQuery) -> ServeResult<CsvTable> {
    let page = PageRange::first(MAX_CSV_ROWS);
    let lines = app.data_source.query(|store| view::runs::run_lines(store, query, page))?;
    let mut csv = CsvTable::new(
        "run,started_ms,finished_ms,status,cycles,sections,calls,failures,\
             new_failures,roi,roi_delta,elapsed_s",
    );
    let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
    for line in lines.unwrap_or_default() {
        csv.add_row([
            line.id.0,
            line.started_ms.to_string(),
            line.finished_ms.map_or_else(String::new, |ms| ms.to_string()),
            line.status.to_string(),
            line.cycles.to_string(),
            count(line.sections),
            count(line.calls),
            count(line.failures),
            count(line.new_failures),
            format_number(line.roi),
            format_number(line.roi_delta),
            format_number(line.elapsed_s),
        ]);
    }
    Ok(csv)
}

fn calls(app: &DashboardState, query: &SectionQuery) -> ServeResult<CsvTable> {
    let rows = view::section::call_rows(&app.data_source, query, PageRange::first(MAX_CSV_ROWS))?;
    let mut csv = CsvTable::new(
        "number,scenario,intent,verdict,wall_ms,memory_bytes,exception,message,\
             place,failure,input",
    );
    for row in rows {
        csv.add_row([
            row.number.to_string(),
            row.scenario,
            row.intent,
            row.verdict,
            row.wall_ms.to_string(),
            row.memory_bytes.to_string(),
            row.exception.unwrap_or_default(),
            row.message.unwrap_or_default(),
            row.place.unwrap_or_default(),
            row.failure.unwrap_or_default(),
            row.input.unwrap_or_default(),
        ]);
    }
    Ok(csv)
}

fn scenarios(app: &DashboardState, query: &TableQuery) -> ServeResult<CsvTable> {
    let view = view::scenarios::scenarios_page(&app.data_source, query)?;
    let mut csv = CsvTable::new("scenario,metric,value");
    for row in view.rows {
        csv.add_row([row.name.clone(), "roi".into(), format_number(row.roi)]);
        csv.add_row([row.name.clone(), "roi_delta".into(), format_number(row.roi_delta)]);
        for (metric, value) in row.metrics.into_iter().chain(row.synergy) {
            csv.add_row([row.name.clone(), metric, format_number(Some(value))]);
        }
    }
    Ok(csv)
}

/// All modules of the heat map, weakest first.
fn heat(app: &DashboardState, query: &TableQuery) -> ServeResult<CsvTable> {
    let map = app.data_source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, query.run.as_deref())?;
        let Some(cycle) = shown.cycle else { return Ok(HeatMap::default()) };
        Ok(heat_map_of(&store.heatmap(&shown.run.id, cycle)?, MAX_CSV_ROWS as usize))
    })?;
    let mut csv = CsvTable::new("module,scenario,roi,calls,bad");
    let cells = map.rows.iter().flat_map(|row| {
        let cells = map.scenarios.iter().zip(&row.cells);
        cells.filter_map(|(scenario, cell)| Some((&row.module, scenario, cell.as_ref()?)))
    });
    for (module, scenario, cell) in cells.take(MAX_CSV_ROWS as usize) {
        csv.add_row([
            module.clone(),
            scenario.clone(),
            format_number(Some(cell.roi)),
            cell.calls.to_string(),
            cell.failed_calls.to_string(),
        ]);
    }
    Ok(csv)
}

fn forecasts(app: &DashboardState, query: &ForecastsQuery) -> ServeResult<CsvTable> {
    let history = app.data_source.history()?;
    let pairs = history.pairs(requested_metric(query.metric.as_deref()));
    let mut csv = CsvTable::new("forecast,predicted,actual");
    for (index, (predicted, actual)) in pairs.predicted.iter().zip(&pairs.actual).enumerate() {
        let which = pairs.first + index;
        csv.add_row([which.to_string(), format_number(*predicted), format_number(*actual)]);
    }
    Ok(csv)
}

fn decisions(app: &DashboardState, query: &TableQuery) -> ServeResult<CsvTable> {
    let shown = app
        .data_source
        .query_existing(|store| SelectedRun::find_existing(store, query.run.as_deref()))?;
    let mut csv = CsvTable::new(
        "question,answer,confidence,samples,needed,check,statistic,threshold,\
             p_value,speaks_for_it",
    );
    for decision in view::decisions::decision_rows(shown.decisions(), query) {
        let head = [
            decision.what,
            serialized_word(&decision.answer),
            decision.confidence.to_string(),
            decision.samples.to_string(),
            decision.needed.to_string(),
        ];
        for row in &decision.evidence {
            csv.add_row(head.clone().into_iter().chain([
                serialized_word(&row.check),
                format_number(Some(row.statistic)),
                format_number(Some(row.threshold)),
                format_number(row.p_value),
                row.holds.to_string(),
            ]));
        }
        if decision.evidence.is_empty() {
            csv.add_row(head.into_iter().chain(std::iter::repeat_n(String::new(), 5)));
        }
    }
    Ok(csv)
}

/// The word that JSON has for a value.
fn serialized_word(value: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn outlook(app: &DashboardState, query: &TableQuery) -> ServeResult<CsvTable> {
    let shown = app
        .data_source
        .query_existing(|store| SelectedRun::find_existing(store, query.run.as_deref()))?;
    let mut csv = CsvTable::new("of,what,value,note");
    for row in view::decisions::outlook_rows(shown.decisions(), query) {
        csv.add_row([row.of, row.what, format_number(row.value), row.note]);
    }
    Ok(csv)
}

fn compare(app: &DashboardState, query: &ComparisonQuery) -> ServeResult<CsvTable> {
    let mut csv = CsvTable::new("of,name,first,second,change,is");
    if let ComparisonPage::Compared(made) = view::compare::comparison_page(&app.data_source, query)?
    {
        let tables = [
            ("sum", made.sums),
            ("module", made.modules),
            ("scenario", made.scenarios),
            ("metric", made.metrics),
            ("synergy", made.synergy),
        ];
        for (of, pairs) in tables {
            for pair in pairs.into_iter().take(MAX_CSV_ROWS as usize) {
                let word = pair.trend_word().to_owned();
                let numbers = [pair.a, pair.b, pair.delta].map(format_number);
                csv.add_row([of.to_owned(), pair.name].into_iter().chain(numbers).chain([word]));
            }
        }
        for one in made.settings {
            let [a, b] = [one.a, one.b].map(Option::unwrap_or_default);
            csv.add_row(["setting".into(), one.name, a, b, String::new(), String::new()]);
        }
    }
    Ok(csv)
}

/// How far forecasts of each number were off.
fn forecast_errors(app: &DashboardState, query: &ForecastsQuery) -> ServeResult<CsvTable> {
    let history = app.data_source.history()?;
    let (rows, _) = view::forecasts::forecast_rows(&history, query, &query.page_address());
    let mut csv = CsvTable::new("name,predicted,actual,mean_error,forecasts,latest");
    for row in rows {
        let numbers = [row.predicted, row.actual, row.error].map(format_number);
        let rest = [row.count.to_string(), format_number(row.latest)];
        csv.add_row(std::iter::once(row.name).chain(numbers).chain(rest));
    }
    Ok(csv)
}

/// The metrics of the page, in its order, each through all cycles.
fn synergy(app: &DashboardState, query: &SynergyQuery) -> ServeResult<CsvTable> {
    let shown = view::synergy::synergy_page(&app.data_source, query)?;
    let entries = app.data_source.synergy(MAX_CSV_ROWS)?;
    let mut csv = CsvTable::new("cycle,metric,value");
    for row in shown.rows {
        for (cycle, entry) in entries.iter().enumerate() {
            if let Some(value) = entry.get(&row.name) {
                csv.add_row([
                    (cycle + 1).to_string(),
                    row.name.clone(),
                    format_number(Some(*value)),
                ]);
            }
        }
    }
    Ok(csv)
}

fn weights(app: &DashboardState, query: &SynergyQuery) -> ServeResult<CsvTable> {
    let mut csv = CsvTable::new("weight,value");
    for (name, weight) in view::synergy::weight_rows(&app.data_source, query)?.0 {
        csv.add_row([name, weight]);
    }
    Ok(csv)
}

fn settings(app: &DashboardState, query: &SettingsQuery) -> CsvTable {
    let mut csv = CsvTable::new("group,setting,value,from");
    for group in view::settings::settings_page(&app.settings, query).groups {
        for line in group.entries {
            let value = line.value.unwrap_or_default();
            csv.add_row([group.name.to_owned(), line.name.to_owned(), value, line.origin]);
        }
    }
    csv
}
