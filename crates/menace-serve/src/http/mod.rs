//! The dashboard's routes: pages, files, numbers for programs, live events.
//!
//! The contents of pages belong to `view`, authentication to `guard`.

mod csv;
mod csv_downloads;
mod events;
mod guard;
mod json_api;
mod login;
mod pages;
mod plots;
mod response;
mod token;
mod token_limiter;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Router, middleware};
use menace_settings::SettingEntry;

use crate::data_source::DataSource;
use crate::{page, prometheus};

use events::LiveFeed;
use response::{json_response, respond_blocking, static_response, text_response};

pub use guard::AccessPolicy;
pub use token::AccessToken;

/// The largest body of a request: the form of the login.
const MAX_BODY_BYTES: usize = 4 << 10;

/// The data that the dashboard shows, and its access rules.
#[derive(Debug)]
pub struct DashboardServer {
    pub data_source: Arc<DataSource>,
    /// The settings in effect, with secrets masked.
    pub settings: Vec<SettingEntry>,
    pub access: AccessPolicy,
}

/// The state that handlers share.
#[derive(Debug)]
struct DashboardState {
    data_source: Arc<DataSource>,
    settings: Vec<SettingEntry>,
    access: AccessPolicy,
    live: Arc<LiveFeed>,
}

type AppState = State<Arc<DashboardState>>;

impl DashboardServer {
    pub fn routes(self) -> Router {
        let Self { data_source: source, settings, access } = self;
        let live = Arc::new(LiveFeed::new(Arc::clone(&source), access.max_listeners));
        let shared = Arc::new(DashboardState {
            data_source: source,
            settings,
            access: access.clone(),
            live,
        });
        let routes = Router::new()
            .merge(pages::routes())
            .merge(csv_downloads::routes())
            .route("/", get(pages::overview))
            .route("/runs/{id}", get(pages::run))
            .route("/failures/{id}", get(pages::failure))
            .route("/scenarios", get(pages::scenarios))
            .route("/settings", get(pages::settings))
            .route("/roi", get(json_api::roi))
            .route("/roi_data", get(json_api::roi_data))
            .route("/weights", get(json_api::weights))
            .route("/metrics/{name}", get(json_api::metric))
            .route("/metrics", get(json_api::prometheus))
            .route("/plots/{name}", get(plots::plot))
            .route("/events", get(events::events))
            .route("/login", get(login::login_page).post(login::submit_login))
            .route("/logout", get(login::logout))
            .route(
                "/assets/style.css",
                get(async || static_response("text/css; charset=utf-8", page::STYLE_SHEET)),
            )
            .route(
                "/assets/dashboard.js",
                get(async || {
                    static_response("text/javascript; charset=utf-8", page::DASHBOARD_SCRIPT)
                }),
            )
            .route(
                "/assets/icon.svg",
                get(async || static_response("image/svg+xml", page::ICON_SVG)),
            )
            .route("/health", get(health))
            .fallback(pages::not_found)
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(shared);
        add_guards(routes, access)
    }
}

/// Prepares the first request: opens databases, reads histories, compiles templates.
pub fn warm_up(source: &DataSource) {
    let warmed = pages::render_first_page(source).and_then(|_| prometheus::collect_all(source));
    if let Err(error) = warmed {
        // The first response will show the error.
        tracing::debug!("{error}");
    }
}

/// Which gauges a port of its own offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsEndpoint {
    Everything,
    SelfTests,
    Synergy,
}

impl MetricsEndpoint {
    /// Routes for `/metrics` and `/health` only.
    pub fn routes(self, source: Arc<DataSource>, access: AccessPolicy) -> Router {
        let metrics = move |State(source): State<Arc<DataSource>>| async move {
            respond_blocking(move || {
                let made = match self {
                    Self::Everything => prometheus::collect_all(&source),
                    Self::SelfTests => prometheus::collect_self_tests(&source),
                    Self::Synergy => source.synergy(1).and_then(|latest| {
                        prometheus::collect_synergy(latest.last(), source.metrics_db())
                    }),
                };
                made.map(|made| text_response(prometheus::CONTENT_TYPE, made))
            })
            .await
        };
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/health", get(health))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(source);
        add_guards(routes, access)
    }
}

pub(crate) fn add_guards(routes: Router, access: AccessPolicy) -> Router {
    routes
        .layer(middleware::from_fn_with_state(access.clone(), guard::enforce_answer_timeout))
        .layer(middleware::from_fn_with_state(access, guard::require_access))
        .layer(middleware::from_fn(guard::add_security_headers))
}

pub(crate) async fn health() -> Response {
    json_response(&serde_json::json!({"status": "ok"}))
}
