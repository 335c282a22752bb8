//! Pages for people.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use minijinja::context;
use serde::Serialize;

use super::answer::{answered, html, json, told, wants_html};
use super::{App, Shared};
use crate::error::Result;
use crate::library::Library;
use crate::page::render;
use crate::view;

#[derive(Debug, Serialize)]
pub(super) struct NavEntry {
    name: &'static str,
    href: &'static str,
    here: bool,
}

pub(super) fn nav(here: &str) -> Vec<NavEntry> {
    [
        ("Overview", "/"),
        ("Modules", "/modules"),
        ("Failures", "/failures"),
        ("Scenarios", "/scenarios"),
        ("Forecasts", "/forecasts"),
        ("Synergy", "/synergy"),
        ("Runs", "/runs"),
        ("Compare", "/compare"),
        ("Settings", "/settings"),
    ]
    .into_iter()
    .map(|(name, href)| NavEntry { name, href, here: href == here })
    .collect()
}

/// The page that people see first.
pub(super) fn first(library: &Library) -> Result<String> {
    let asked = view::wish::Wish::default();
    laid_out("overview.html", "/", &view::run::overview(library, None, &asked)?, false)
}

/// Whoever had to log in can log out.
fn laid_out(template: &str, here: &str, view: &impl Serialize, guarded: bool) -> Result<String> {
    let view = minijinja::Value::from_serialize(view);
    render(template, context! { view, nav => nav(here), guarded })
}

/// Makes a page of what `make` finds.
async fn page<V: Serialize>(
    app: Arc<Shared>,
    template: &'static str,
    here: &'static str,
    make: impl FnOnce(&Shared) -> Result<V> + Send + 'static,
) -> Response {
    let guarded = app.access.token.is_some();
    answered(move || laid_out(template, here, &make(&app)?, guarded).map(html)).await
}

pub(super) async fn overview(State(app): App, Query(asked): Query<view::wish::Wish>) -> Response {
    let make = move |app: &Shared| view::run::overview(&app.library, None, &asked);
    page(app, "overview.html", "/", make).await
}

pub(super) async fn run(
    State(app): App,
    Path(id): Path<String>,
    Query(asked): Query<view::wish::Wish>,
) -> Response {
    let make = move |app: &Shared| view::run::overview(&app.library, Some(&id), &asked);
    page(app, "overview.html", "/runs", make).await
}

pub(super) async fn runs(State(app): App, Query(asked): Query<view::runs::Asked>) -> Response {
    page(app, "runs.html", "/runs", move |app| view::runs::runs(&app.library, &asked)).await
}

pub(super) async fn compare(
    State(app): App,
    Query(asked): Query<view::compare::Asked>,
) -> Response {
    page(app, "compare.html", "/compare", move |app| view::compare::compare(&app.library, &asked))
        .await
}

pub(super) async fn modules(
    State(app): App,
    Query(asked): Query<view::modules::Asked>,
) -> Response {
    page(app, "modules.html", "/modules", move |app| view::modules::modules(&app.library, &asked))
        .await
}

pub(super) async fn module(State(app): App, Query(asked): Query<view::modules::Asked>) -> Response {
    page(app, "module.html", "/modules", move |app| view::modules::module(&app.library, &asked))
        .await
}

pub(super) async fn section(
    State(app): App,
    Query(asked): Query<view::section::Asked>,
) -> Response {
    page(app, "section.html", "/modules", move |app| view::section::section(&app.library, &asked))
        .await
}

pub(super) async fn failures(
    State(app): App,
    Query(asked): Query<view::failures::Asked>,
) -> Response {
    page(app, "failures.html", "/failures", move |app| {
        view::failures::failures(&app.library, &asked)
    })
    .await
}

pub(super) async fn failure(State(app): App, Path(id): Path<String>) -> Response {
    page(app, "failure.html", "/failures", move |app| view::failures::failure(&app.library, &id))
        .await
}

/// A page for browsers, numbers for programs: the address is the same in both worlds.
pub(super) async fn scenarios(
    State(app): App,
    headers: HeaderMap,
    Query(asked): Query<view::wish::Wish>,
) -> Response {
    if wants_html(&headers) {
        return page(app, "scenarios.html", "/scenarios", move |app| {
            view::scenarios::scenarios(&app.library, &asked)
        })
        .await;
    }
    answered(move || {
        let view = view::scenarios::scenarios(&app.library, &asked)?;
        let rows: Vec<serde_json::Value> = view
            .rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "name": row.name, "roi": row.roi, "roi_delta": row.roi_delta, "metrics": row.metrics,
                    "synergy": row.synergy,
                })
            })
            .collect();
        let run = view.head.map(|head| head.id);
        Ok(json(&serde_json::json!({"run": run, "worst": view.worst, "scenarios": rows})))
    })
    .await
}

pub(super) async fn forecasts(
    State(app): App,
    Query(asked): Query<view::forecasts::Asked>,
) -> Response {
    page(app, "forecasts.html", "/forecasts", move |app| {
        view::forecasts::forecasts(&app.library, &asked)
    })
    .await
}

pub(super) async fn synergy(
    State(app): App,
    Query(asked): Query<view::synergy::Asked>,
) -> Response {
    page(app, "synergy.html", "/synergy", move |app| view::synergy::synergy(&app.library, &asked))
        .await
}

pub(super) async fn settings(
    State(app): App,
    Query(asked): Query<view::settings::Asked>,
) -> Response {
    page(app, "settings.html", "/settings", move |app| {
        Ok(view::settings::settings(&app.settings, &asked))
    })
    .await
}

pub(super) async fn nothing() -> Response {
    told(StatusCode::NOT_FOUND, "There is nothing here", "No page has this address.")
}
