//! Shows what runs have found: a report in one file, a dashboard, metrics for Prometheus.
//!
//! | room | what is in it |
//! |---|---|
//! | `library` | what there is to read: the store, the histories, page by page |
//! | `view` | what a page says, from the library |
//! | `chart` | lines, bars, strips and graphs as SVG or PNG |
//! | `report` | one run in one HTML file |
//! | `http` | the dashboard's routes, live events, who may ask |
//! | `prometheus` | gauges and how they are written |
//! | `server` | connections: limits, TLS, the end |
//!
//! Finding things out belongs to `menace-loop`; nothing here is ever decided or changed.
//! Invariants: whatever came out of a guest is text, never markup, and never names a file to read
//! outside of the repository; the store is only read.

pub mod chart;
mod clock;
mod error;
mod exporter;
mod history;
mod http;
mod library;
mod measured;
mod opened;
mod page;
pub mod prometheus;
mod reading;
mod report;
mod server;
mod source;
mod story;
mod text;
mod view;

pub use axum::Router;
pub use error::{Error, Result};
pub use exporter::{SynergyExporter, check_synergy};
pub use history::check_history;
pub use http::{Access, Dashboard, MetricsRoutes, Token, warm};
pub use library::{Library, Place};
pub use report::{Graph, Node, report};
pub use server::{Address, Limits, Server, Tls};
