//! The synergy exporter: one history, read anew every few seconds, offered to Prometheus, with what
//! its trainer records in `metrics.db` beside it.
//!
//! Invariant: neither is ever written, moved or made.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use menace_store::{Entry, SynergyReader};

use crate::error::{Error, Result};
use crate::http::{Access, guarded, health};
use crate::library::told;
use crate::measured::Measured;
use crate::prometheus::{CONTENT_TYPE, synergy};

/// Reads `synergy_history.db` at most once in an interval.
#[derive(Debug)]
pub struct SynergyExporter {
    path: PathBuf,
    measured: Measured,
    interval: Duration,
    /// When it was read, and what was made of it.
    kept: Mutex<Option<(Instant, String)>>,
}

impl SynergyExporter {
    /// Refuses what is not there, or is no history: a name that was mistyped shows at once.
    pub fn open(path: &Path, interval: Duration) -> Result<Self> {
        let measured = Measured::new(path.with_file_name("metrics.db"));
        let exporter = Self { path: path.to_owned(), measured, interval, kept: Mutex::default() };
        exporter.read()?;
        Ok(exporter)
    }

    pub fn routes(self, access: Access) -> Router {
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/health", get(health))
            .with_state(Arc::new(self));
        guarded(routes, access)
    }

    fn text(&self) -> Result<String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, text)) = &*kept
            && read.elapsed() < self.interval
        {
            return Ok(text.clone());
        }
        let text = synergy(Some(&self.read()?), &self.measured)?;
        *kept = Some((Instant::now(), text.clone()));
        Ok(text)
    }

    /// The latest values; none while the history is empty.
    fn read(&self) -> Result<Entry> {
        let Some(history) = opened(&self.path)? else { return Ok(Entry::new()) };
        Ok(history.last(1)?.0.pop().unwrap_or_default())
    }
}

/// Nothing while it is empty.
fn opened(path: &Path) -> Result<Option<SynergyReader>> {
    match SynergyReader::open(path)? {
        Some(found) => Ok(Some(told(found))),
        None if path.try_exists().unwrap_or_default() => Ok(None),
        None => Err(Error::NoSynergy { path: path.to_owned() }),
    }
}

/// Refuses what is not there, or is no synergy history.
pub fn check_synergy(path: &Path) -> Result<()> {
    opened(path).map(drop)
}

async fn metrics(State(exporter): State<Arc<SynergyExporter>>) -> Response {
    let made = tokio::task::spawn_blocking(move || exporter.text()).await;
    match made {
        Ok(Ok(text)) => {
            ([(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE))], text).into_response()
        }
        Ok(Err(error)) => {
            tracing::warn!("{error}");
            // It may be there again when somebody asks next.
            (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
