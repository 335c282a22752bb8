//! Tables of pages, as files.

use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use menace_model::Verdict;
use menace_store::Page;

use super::App;
use super::answer::{answered, text};
use super::csv::{Csv, number};
use crate::view;
use crate::view::compare::Comparison;
use crate::view::forecasts::metric_of;
use crate::view::heat::{Heat, heat_of};
use crate::view::run::Shown;

/// Rows of a file: enough for anybody, and not all of ten million.
const ROWS: u32 = 10_000;

fn file(name: &str, csv: Csv) -> Response {
    let response = text("text/csv; charset=utf-8", csv.text());
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    ([(header::CONTENT_DISPOSITION, disposition)], response).into_response()
}

pub(super) async fn modules(
    State(app): App,
    Query(asked): Query<view::modules::Asked>,
) -> Response {
    answered(move || {
        let (_, rows, _) = view::modules::rows(&app.library, &asked)?;
        let mut csv = Csv::new(&[
            "module",
            "roi",
            "raroi",
            "reliability",
            "resilience",
            "safety_rating",
            "risk_index",
            "flagged",
        ]);
        for row in rows.into_iter().take(ROWS as usize) {
            let numbers = [
                row.roi,
                row.raroi,
                row.reliability,
                row.resilience,
                row.safety_rating,
                row.risk_index,
            ];
            csv.row(
                std::iter::once(row.path)
                    .chain(numbers.map(number))
                    .chain([row.flagged.to_string()]),
            );
        }
        Ok(file("modules", csv))
    })
    .await
}

/// Of one module.
pub(super) async fn sections(
    State(app): App,
    Query(asked): Query<view::modules::Asked>,
) -> Response {
    answered(move || {
        let (rows, _) = app.library.must(|store| {
            let shown = Shown::must(store, asked.wish.run.as_deref())?;
            view::modules::sections(store, &shown, &asked)
        })?;
        let mut csv =
            Csv::new(&["section", "roi", "raroi", "reliability", "risk_index", "unreachable"]);
        for row in rows.into_iter().take(ROWS as usize) {
            let numbers = [row.roi, row.raroi, row.reliability, row.risk_index].map(number);
            let note = row.unreachable.unwrap_or_default();
            csv.row(std::iter::once(row.id).chain(numbers).chain([note]));
        }
        Ok(file("sections", csv))
    })
    .await
}

/// Every metric of one module.
pub(super) async fn module_metrics(
    State(app): App,
    Query(asked): Query<view::modules::Asked>,
) -> Response {
    answered(move || {
        let mut csv = Csv::new(&["metric", "value"]);
        for (metric, value) in view::modules::module(&app.library, &asked)?.metrics {
            csv.row([metric, number(Some(value))]);
        }
        Ok(file("module_metrics", csv))
    })
    .await
}

/// How the calls of one section ended, under each scenario.
pub(super) async fn section_scenarios(
    State(app): App,
    Query(asked): Query<view::section::Asked>,
) -> Response {
    answered(move || {
        let verdicts = Verdict::ALL.iter().map(|verdict| verdict.as_str());
        let head: Vec<&str> =
            ["scenario", "severity", "calls", "roi"].into_iter().chain(verdicts.clone()).collect();
        let mut csv = Csv::new(&head);
        for cell in view::section::section(&app.library, &asked)?.cells {
            let ended = verdicts.clone().map(|verdict| {
                let part = cell.parts.iter().find(|part| part.verdict == verdict);
                part.map_or(0, |part| part.count).to_string()
            });
            let severity = cell.severity.clone().unwrap_or_default();
            let known = [cell.scenario.clone(), severity, cell.calls.to_string(), number(cell.roi)];
            csv.row(known.into_iter().chain(ended));
        }
        Ok(file("section_scenarios", csv))
    })
    .await
}

pub(super) async fn failures(
    State(app): App,
    Query(asked): Query<view::failures::Asked>,
) -> Response {
    answered(move || {
        let (lines, _, _) = view::failures::lines(&app.library, &asked, |_| Page::first(ROWS))?;
        let mut csv = Csv::new(&[
            "id",
            "section",
            "kind",
            "scenario",
            "verdict",
            "exception",
            "message",
            "location",
            "count",
            "first_ms",
            "last_ms",
            "gone_ms",
        ]);
        for line in lines {
            csv.row([
                line.id.0,
                line.section.as_str().to_owned(),
                line.kind,
                line.scenario,
                line.verdict,
                line.exception.unwrap_or_default(),
                line.message,
                line.location.to_string(),
                line.count.to_string(),
                line.first_ms.to_string(),
                line.last_ms.to_string(),
                line.gone_ms.map_or_else(String::new, |ms| ms.to_string()),
            ]);
        }
        Ok(file("failures", csv))
    })
    .await
}

pub(super) async fn runs(State(app): App, Query(asked): Query<view::runs::Asked>) -> Response {
    answered(move || {
        let page = Page::first(ROWS);
        let lines = app.library.ask(|store| view::runs::lines(store, &asked, page))?;
        let mut csv = Csv::new(&[
            "run",
            "started_ms",
            "finished_ms",
            "status",
            "cycles",
            "sections",
            "calls",
            "failures",
            "new_failures",
            "roi",
            "roi_delta",
            "elapsed_s",
        ]);
        let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        for line in lines.unwrap_or_default() {
            csv.row([
                line.id.0,
                line.started_ms.to_string(),
                line.finished_ms.map_or_else(String::new, |ms| ms.to_string()),
                line.status.to_string(),
                line.cycles.to_string(),
                count(line.sections),
                count(line.calls),
                count(line.failures),
                count(line.new_failures),
                number(line.roi),
                number(line.roi_delta),
                number(line.elapsed_s),
            ]);
        }
        Ok(file("runs", csv))
    })
    .await
}

pub(super) async fn calls(State(app): App, Query(asked): Query<view::section::Asked>) -> Response {
    answered(move || {
        let rows = view::section::calls(&app.library, &asked, Page::first(ROWS))?;
        let mut csv = Csv::new(&[
            "number",
            "scenario",
            "intent",
            "verdict",
            "wall_ms",
            "memory_bytes",
            "exception",
            "message",
            "place",
            "failure",
            "input",
        ]);
        for row in rows {
            csv.row([
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
        Ok(file("calls", csv))
    })
    .await
}

pub(super) async fn scenarios(State(app): App, Query(asked): Query<view::wish::Wish>) -> Response {
    answered(move || {
        let view = view::scenarios::scenarios(&app.library, &asked)?;
        let mut csv = Csv::new(&["scenario", "metric", "value"]);
        for row in view.rows {
            csv.row([row.name.clone(), "roi".into(), number(row.roi)]);
            csv.row([row.name.clone(), "roi_delta".into(), number(row.roi_delta)]);
            for (metric, value) in row.metrics.into_iter().chain(row.synergy) {
                csv.row([row.name.clone(), metric, number(Some(value))]);
            }
        }
        Ok(file("scenarios", csv))
    })
    .await
}

/// All modules of the map, the weakest first.
pub(super) async fn heat(State(app): App, Query(asked): Query<view::wish::Wish>) -> Response {
    answered(move || {
        let map = app.library.must(|store| {
            let shown = Shown::must(store, asked.run.as_deref())?;
            let Some(cycle) = shown.cycle else { return Ok(Heat::default()) };
            Ok(heat_of(&store.heat(&shown.run.id, cycle)?, ROWS as usize))
        })?;
        let mut csv = Csv::new(&["module", "scenario", "roi", "calls", "bad"]);
        let cells = map.rows.iter().flat_map(|row| {
            let cells = map.scenarios.iter().zip(&row.cells);
            cells.filter_map(|(scenario, cell)| Some((&row.module, scenario, cell.as_ref()?)))
        });
        for (module, scenario, cell) in cells.take(ROWS as usize) {
            csv.row([
                module.clone(),
                scenario.clone(),
                number(Some(cell.roi)),
                cell.calls.to_string(),
                cell.bad.to_string(),
            ]);
        }
        Ok(file("heat", csv))
    })
    .await
}

pub(super) async fn forecasts(
    State(app): App,
    Query(asked): Query<view::forecasts::Asked>,
) -> Response {
    answered(move || {
        let history = app.library.history()?;
        let pairs = history.pairs(metric_of(asked.metric.as_deref()));
        let mut csv = Csv::new(&["forecast", "predicted", "actual"]);
        for (index, (predicted, actual)) in pairs.predicted.iter().zip(&pairs.actual).enumerate() {
            let which = pairs.first + index;
            csv.row([which.to_string(), number(Some(*predicted)), number(Some(*actual))]);
        }
        Ok(file("forecasts", csv))
    })
    .await
}

pub(super) async fn decisions(State(app): App, Query(asked): Query<view::wish::Wish>) -> Response {
    answered(move || {
        let shown = app.library.must(|store| Shown::must(store, asked.run.as_deref()))?;
        let mut csv = Csv::new(&[
            "question",
            "answer",
            "confidence",
            "samples",
            "needed",
            "check",
            "statistic",
            "threshold",
            "p_value",
            "speaks_for_it",
        ]);
        for decision in view::decisions::found(shown.decided(), &asked) {
            let head = [
                decision.what,
                word(&decision.verdict),
                decision.confidence.to_string(),
                decision.samples.to_string(),
                decision.needed.to_string(),
            ];
            for row in &decision.evidence {
                csv.row(head.clone().into_iter().chain([
                    word(&row.check),
                    number(Some(row.statistic)),
                    number(Some(row.threshold)),
                    number(row.p_value),
                    row.holds.to_string(),
                ]));
            }
            if decision.evidence.is_empty() {
                csv.row(head.into_iter().chain(std::iter::repeat_n(String::new(), 5)));
            }
        }
        Ok(file("decisions", csv))
    })
    .await
}

/// As JSON has it.
fn word(value: &impl serde::Serialize) -> String {
    let word = serde_json::to_value(value).ok();
    word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

pub(super) async fn outlook(State(app): App, Query(asked): Query<view::wish::Wish>) -> Response {
    answered(move || {
        let shown = app.library.must(|store| Shown::must(store, asked.run.as_deref()))?;
        let mut csv = Csv::new(&["of", "what", "value", "note"]);
        for row in view::decisions::expected(shown.decided(), &asked) {
            csv.row([row.of, row.what, number(row.value), row.note]);
        }
        Ok(file("outlook", csv))
    })
    .await
}

pub(super) async fn compare(
    State(app): App,
    Query(asked): Query<view::compare::Asked>,
) -> Response {
    answered(move || {
        let mut csv = Csv::new(&["of", "name", "first", "second", "change", "is"]);
        if let Comparison::Made(made) = view::compare::compare(&app.library, &asked)? {
            let tables = [
                ("sum", made.sums),
                ("module", made.modules),
                ("scenario", made.scenarios),
                ("metric", made.metrics),
                ("synergy", made.synergy),
            ];
            for (of, pairs) in tables {
                for pair in pairs.into_iter().take(ROWS as usize) {
                    let word = pair.word().to_owned();
                    let numbers = [pair.a, pair.b, pair.delta].map(number);
                    csv.row([of.to_owned(), pair.name].into_iter().chain(numbers).chain([word]));
                }
            }
            for one in made.settings {
                let [a, b] = [one.a, one.b].map(Option::unwrap_or_default);
                csv.row(["setting".into(), one.name, a, b, String::new(), String::new()]);
            }
        }
        Ok(file("compare", csv))
    })
    .await
}

/// How far forecasts of each number were off.
pub(super) async fn forecast_errors(
    State(app): App,
    Query(asked): Query<view::forecasts::Asked>,
) -> Response {
    answered(move || {
        let history = app.library.history()?;
        let (rows, _) = view::forecasts::rows(&history, &asked, &asked.here());
        let mut csv =
            Csv::new(&["name", "predicted", "actual", "mean_error", "forecasts", "latest"]);
        for row in rows {
            let numbers = [row.predicted, row.actual, row.error].map(number);
            let rest = [row.count.to_string(), number(row.latest)];
            csv.row(std::iter::once(row.name).chain(numbers).chain(rest));
        }
        Ok(file("forecast_errors", csv))
    })
    .await
}

/// The metrics of the page, in its order, each through all cycles.
pub(super) async fn synergy(
    State(app): App,
    Query(asked): Query<view::synergy::Asked>,
) -> Response {
    answered(move || {
        let shown = view::synergy::synergy(&app.library, &asked)?;
        let entries = app.library.synergy(ROWS)?;
        let mut csv = Csv::new(&["cycle", "metric", "value"]);
        for row in shown.rows {
            for (cycle, entry) in entries.iter().enumerate() {
                if let Some(value) = entry.get(&row.name) {
                    csv.row([(cycle + 1).to_string(), row.name.clone(), number(Some(*value))]);
                }
            }
        }
        Ok(file("synergy", csv))
    })
    .await
}

pub(super) async fn weights(
    State(app): App,
    Query(asked): Query<view::synergy::Asked>,
) -> Response {
    answered(move || {
        let mut csv = Csv::new(&["weight", "value"]);
        for (name, weight) in view::synergy::weights(&app.library, &asked)?.0 {
            csv.row([name, weight]);
        }
        Ok(file("weights", csv))
    })
    .await
}

pub(super) async fn settings(
    State(app): App,
    Query(asked): Query<view::settings::Asked>,
) -> Response {
    answered(move || {
        let mut csv = Csv::new(&["group", "setting", "value", "from"]);
        for group in view::settings::settings(&app.settings, &asked).groups {
            for line in group.entries {
                let value = line.value.unwrap_or_default();
                csv.row([group.name.to_owned(), line.name.to_owned(), value, line.origin]);
            }
        }
        Ok(file("settings", csv))
    })
    .await
}
