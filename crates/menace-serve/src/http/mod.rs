//! The dashboard's routes: pages, files, numbers for programs, live events.
//!
//! What is said belongs to `view`; who is let in to `guard`.

mod answer;
mod csv;
mod downloads;
mod events;
mod guard;
mod guesses;
mod login;
mod numbers;
mod pages;
mod plots;
mod token;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Router, middleware};
use menace_settings::Entry;

use crate::library::Library;
use crate::{page, prometheus};

use answer::{answered, fixed, json, text};
use events::Live;

pub use guard::Access;
pub use token::Token;

/// The largest body of a request: the form of the login.
const BODY_BYTES: usize = 4 << 10;

/// What there is to show, to whom.
#[derive(Debug)]
pub struct Dashboard {
    pub library: Arc<Library>,
    /// In effect, with secrets masked.
    pub settings: Vec<Entry>,
    pub access: Access,
}

/// What handlers share.
#[derive(Debug)]
struct Shared {
    library: Arc<Library>,
    settings: Vec<Entry>,
    access: Access,
    live: Arc<Live>,
}

type App = State<Arc<Shared>>;

impl Dashboard {
    pub fn routes(self) -> Router {
        let Self { library, settings, access } = self;
        let live = Arc::new(Live::new(Arc::clone(&library), access.listeners));
        let shared = Arc::new(Shared { library, settings, access: access.clone(), live });
        let routes = Router::new()
            .route("/", get(pages::overview))
            .route("/runs", get(pages::runs))
            .route("/runs/{id}", get(pages::run))
            .route("/compare", get(pages::compare))
            .route("/modules", get(pages::modules))
            .route("/module", get(pages::module))
            .route("/section", get(pages::section))
            .route("/failures", get(pages::failures))
            .route("/failures/{id}", get(pages::failure))
            .route("/scenarios", get(pages::scenarios))
            .route("/forecasts", get(pages::forecasts))
            .route("/synergy", get(pages::synergy))
            .route("/settings", get(pages::settings))
            .route("/roi", get(numbers::roi))
            .route("/roi_data", get(numbers::roi_data))
            .route("/weights", get(numbers::weights))
            .route("/metrics/{name}", get(numbers::metric))
            .route("/metrics", get(numbers::prometheus))
            .route("/modules.csv", get(downloads::modules))
            .route("/failures.csv", get(downloads::failures))
            .route("/runs.csv", get(downloads::runs))
            .route("/calls.csv", get(downloads::calls))
            .route("/scenarios.csv", get(downloads::scenarios))
            .route("/heat.csv", get(downloads::heat))
            .route("/forecasts.csv", get(downloads::forecasts))
            .route("/sections.csv", get(downloads::sections))
            .route("/module_metrics.csv", get(downloads::module_metrics))
            .route("/section_scenarios.csv", get(downloads::section_scenarios))
            .route("/forecast_errors.csv", get(downloads::forecast_errors))
            .route("/decisions.csv", get(downloads::decisions))
            .route("/outlook.csv", get(downloads::outlook))
            .route("/compare.csv", get(downloads::compare))
            .route("/synergy.csv", get(downloads::synergy))
            .route("/weights.csv", get(downloads::weights))
            .route("/settings.csv", get(downloads::settings))
            .route("/plots/{name}", get(plots::plot))
            .route("/events", get(events::events))
            .route("/login", get(login::form).post(login::submit))
            .route("/logout", get(login::logout))
            .route("/assets/style.css", get(async || fixed("text/css; charset=utf-8", page::STYLE)))
            .route(
                "/assets/dashboard.js",
                get(async || fixed("text/javascript; charset=utf-8", page::SCRIPT)),
            )
            .route("/assets/icon.svg", get(async || fixed("image/svg+xml", page::ICON)))
            .route("/health", get(health))
            .fallback(pages::nothing)
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .with_state(shared);
        guarded(routes, access)
    }
}

/// Does what the first who asks would wait for: opens what is there, reads the histories, gets
/// templates ready.
pub fn warm(library: &Library) {
    let warmed = pages::first(library).and_then(|_| prometheus::everything(library));
    if let Err(error) = warmed {
        // Whoever asks will be told.
        tracing::debug!("{error}");
    }
}

/// Which gauges a port of its own offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsRoutes {
    Everything,
    SelfTests,
    Synergy,
}

impl MetricsRoutes {
    /// `/metrics` and `/health`, and nothing else.
    pub fn routes(self, library: Arc<Library>, access: Access) -> Router {
        let metrics = async move |State(library): State<Arc<Library>>| {
            answered(move || {
                let made = match self {
                    Self::Everything => prometheus::everything(&library),
                    Self::SelfTests => prometheus::self_tests(&library),
                    Self::Synergy => library
                        .synergy(1)
                        .and_then(|latest| prometheus::synergy(latest.last(), library.measured())),
                };
                made.map(|made| text(prometheus::CONTENT_TYPE, made))
            })
            .await
        };
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/health", get(health))
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .with_state(library);
        guarded(routes, access)
    }
}

pub(crate) fn guarded(routes: Router, access: Access) -> Router {
    routes
        .layer(middleware::from_fn_with_state(access.clone(), guard::in_time))
        .layer(middleware::from_fn_with_state(access, guard::admitted))
        .layer(middleware::from_fn(guard::marked))
}

pub(crate) async fn health() -> Response {
    json(&serde_json::json!({"status": "ok"}))
}
