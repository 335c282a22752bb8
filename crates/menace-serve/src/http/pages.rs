//! The handlers of HTML pages.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use minijinja::context;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::response::{error_page, html_response, json_response, respond_blocking, wants_html};
use super::{AppState, DashboardState};
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::page::render;
use crate::view;

#[derive(Debug, Serialize)]
pub(super) struct NavigationEntry {
    name: &'static str,
    href: &'static str,
    here: bool,
}

pub(super) fn navigation(here: &str) -> Vec<NavigationEntry> {
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
    .map(|(name, href)| NavigationEntry { name, href, here: href == here })
    .collect()
}

/// The page that people see first.
pub(super) fn render_first_page(source: &DataSource) -> ServeResult<String> {
    let query = view::table_query::TableQuery::default();
    render_with_layout(
        "overview.html",
        "/",
        &view::run::overview_page(source, None, &query)?,
        false,
    )
}

/// A page shows the link to log out where a token is needed.
fn render_with_layout(
    template: &str,
    here: &str,
    view: &impl Serialize,
    guarded: bool,
) -> ServeResult<String> {
    let view = minijinja::Value::from_serialize(view);
    render(template, context! { view, nav => navigation(here), guarded })
}

/// Renders a page with the result of `make`.
async fn respond_with_page<V: Serialize>(
    app: Arc<DashboardState>,
    template: &'static str,
    here: &'static str,
    make: impl FnOnce(&DashboardState) -> ServeResult<V> + Send + 'static,
) -> Response {
    let guarded = app.access.token.is_some();
    respond_blocking(move || {
        render_with_layout(template, here, &make(&app)?, guarded).map(html_response)
    })
    .await
}

/// The routes of pages with a query.
pub(super) fn routes() -> Router<Arc<DashboardState>> {
    Router::new()
        .route("/runs", page("runs.html", "/runs", view::runs::runs_page))
        .route("/compare", page("compare.html", "/compare", view::compare::comparison_page))
        .route("/modules", page("modules.html", "/modules", view::modules::modules_page))
        .route("/module", page("module.html", "/modules", view::modules::module_page))
        .route("/section", page("section.html", "/modules", view::section::section_page))
        .route("/failures", page("failures.html", "/failures", view::failures::failures_page))
        .route("/forecasts", page("forecasts.html", "/forecasts", view::forecasts::forecasts_page))
        .route("/synergy", page("synergy.html", "/synergy", view::synergy::synergy_page))
}

/// Answers with the page that `make` finds.
fn page<Q: DeserializeOwned + Send + 'static, V: Serialize + 'static>(
    template: &'static str,
    here: &'static str,
    make: fn(&DataSource, &Q) -> ServeResult<V>,
) -> MethodRouter<Arc<DashboardState>> {
    get(move |State(app): AppState, Query(query): Query<Q>| {
        respond_with_page(app, template, here, move |app| make(&app.data_source, &query))
    })
}

pub(super) async fn settings(
    State(app): AppState,
    Query(query): Query<view::settings::SettingsQuery>,
) -> Response {
    respond_with_page(app, "settings.html", "/settings", move |app| {
        Ok(view::settings::settings_page(&app.settings, &query))
    })
    .await
}

pub(super) async fn overview(
    State(app): AppState,
    Query(query): Query<view::table_query::TableQuery>,
) -> Response {
    let make = move |app: &DashboardState| view::run::overview_page(&app.data_source, None, &query);
    respond_with_page(app, "overview.html", "/", make).await
}

pub(super) async fn run(
    State(app): AppState,
    Path(id): Path<String>,
    Query(query): Query<view::table_query::TableQuery>,
) -> Response {
    let make =
        move |app: &DashboardState| view::run::overview_page(&app.data_source, Some(&id), &query);
    respond_with_page(app, "overview.html", "/runs", make).await
}

pub(super) async fn failure(State(app): AppState, Path(id): Path<String>) -> Response {
    respond_with_page(app, "failure.html", "/failures", move |app| {
        view::failures::failure_page(&app.data_source, &id)
    })
    .await
}

/// A page for browsers, numbers for programs: the address is the same in both worlds.
pub(super) async fn scenarios(
    State(app): AppState,
    headers: HeaderMap,
    Query(query): Query<view::table_query::TableQuery>,
) -> Response {
    if wants_html(&headers) {
        return respond_with_page(app, "scenarios.html", "/scenarios", move |app| {
            view::scenarios::scenarios_page(&app.data_source, &query)
        })
        .await;
    }
    respond_blocking(move || {
        let view = view::scenarios::scenarios_page(&app.data_source, &query)?;
        let rows: Vec<serde_json::Value> = view
            .rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "name": row.name, "roi": row.roi, "roi_delta": row.roi_delta,
                    "metrics": row.metrics, "synergy": row.synergy,
                })
            })
            .collect();
        let run = view.head.map(|head| head.id);
        Ok(json_response(&serde_json::json!({"run": run, "worst": view.worst, "scenarios": rows})))
    })
    .await
}

pub(super) async fn not_found() -> Response {
    error_page(StatusCode::NOT_FOUND, "There is nothing here", "No page has this address.")
}
