//! The synergy exporter: offers one history to Prometheus, read again every few seconds, with the
//! values that its trainer records in `metrics.db` beside it.
//!
//! Invariant: neither file is ever written, moved or created.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use menace_store::{SynergyEntry, SynergyReader};

use crate::data_source::log_notice;
use crate::error::{ServeError, ServeResult};
use crate::http::{AccessPolicy, add_guards, health};
use crate::metrics_db::MetricsDbReader;
use crate::prometheus::{CONTENT_TYPE, collect_synergy};

/// Reads `synergy_history.db` at most once in an interval.
#[derive(Debug)]
pub struct SynergyExporter {
    path: PathBuf,
    metrics_db: MetricsDbReader,
    interval: Duration,
    /// The time of the last read, and the text made from it.
    cached_text: Mutex<Option<(Instant, String)>>,
}

impl SynergyExporter {
    /// An error if the file does not exist or is no history, so that a mistyped name is noticed at
    /// once.
    pub fn open(path: &Path, interval: Duration) -> ServeResult<Self> {
        let measured = MetricsDbReader::new(path.with_file_name("metrics.db"));
        let exporter = Self {
            path: path.to_owned(),
            metrics_db: measured,
            interval,
            cached_text: Mutex::default(),
        };
        exporter.read_latest_entry()?;
        Ok(exporter)
    }

    pub fn routes(self, access: AccessPolicy) -> Router {
        let routes = Router::new()
            .route("/metrics", get(metrics_handler))
            .route("/health", get(health))
            .with_state(Arc::new(self));
        add_guards(routes, access)
    }

    fn cached_metrics(&self) -> ServeResult<String> {
        let mut kept = self.cached_text.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, text)) = &*kept
            && read.elapsed() < self.interval
        {
            return Ok(text.clone());
        }
        let text = collect_synergy(Some(&self.read_latest_entry()?), &self.metrics_db)?;
        *kept = Some((Instant::now(), text.clone()));
        Ok(text)
    }

    /// The latest values; none while the history is empty.
    fn read_latest_entry(&self) -> ServeResult<SynergyEntry> {
        let Some(history) = open_synergy_reader(&self.path)? else {
            return Ok(SynergyEntry::new());
        };
        Ok(history.last_entries(1)?.0.pop().unwrap_or_default())
    }
}

/// `None` while the history is empty.
fn open_synergy_reader(path: &Path) -> ServeResult<Option<SynergyReader>> {
    match SynergyReader::open(path)? {
        Some(found) => Ok(Some(log_notice(found))),
        None if fs::symlink_metadata(path).is_ok() => Ok(None),
        None => Err(ServeError::NoSynergyHistory { path: path.to_owned() }),
    }
}

/// An error if the file does not exist or is no synergy history.
pub fn check_synergy(path: &Path) -> ServeResult<()> {
    open_synergy_reader(path).map(drop)
}

async fn metrics_handler(State(exporter): State<Arc<SynergyExporter>>) -> Response {
    let made = tokio::task::spawn_blocking(move || exporter.cached_metrics()).await;
    match made {
        Ok(Ok(text)) => {
            ([(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE))], text).into_response()
        }
        Ok(Err(error)) => {
            tracing::warn!("{error}");
            // It may be readable again at the next scrape.
            (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
