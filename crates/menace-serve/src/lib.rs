//! Shows what runs have found: a report in one file, a dashboard, metrics for Prometheus.
//!
//! | module | what it does |
//! |---|---|
//! | `data_source` | the data: the store and the histories, page by page |
//! | `view` | the content of each page, from the data source |
//! | `chart` | lines, bars, strips and graphs as SVG or PNG |
//! | `report` | one run in one HTML file |
//! | `http` | the dashboard's routes, live events, authentication |
//! | `prometheus` | gauges and their text format |
//! | `server` | connections: limits, TLS, shutdown |
//!
//! `menace-loop` produces the data; nothing here decides or changes anything. Invariants: text from
//! a guest is shown as text, never as markup, and never names a file to read outside of the
//! repository; queries only read the store, and opening it writes no more than
//! [`menace_store::Store::open_existing`] says.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files they read"))]

pub mod chart;
mod data_source;
mod error;
mod exporter;
mod failure_detail;
mod history;
mod http;
mod metrics_db;
mod page;
pub mod prometheus;
mod reopen_on_replace;
mod report;
mod server;
mod text;
mod view;
mod write_timeout;

pub use axum::Router;
pub use data_source::{DataLocations, DataSource};
pub use error::{ServeError, ServeResult};
pub use exporter::{SynergyExporter, check_synergy};
pub use history::check_history;
pub use http::{AccessPolicy, AccessToken, DashboardServer, MetricsEndpoint, warm_up};
pub use report::{ImportGraph, ImportGraphNode, render_report};
pub use server::{ConnectionLimits, HttpServer, ListenAddress, TlsFiles};
