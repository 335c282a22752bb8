//! The state of active runs as server-sent events, whichever process makes the run.
//!
//! The store is polled, and only while a client listens: first whether anything was written, which
//! is cheap, and only then for counts. Invariant: how often the store is queried does not depend on
//! the number of clients.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use menace_store::{RunId, Store};
use serde::Serialize;
use tokio::sync::{Semaphore, mpsc};

use super::AppState;
use super::response::plain_error;
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::server::ShutdownSignal;

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The pause after a poll, as a multiple of the poll's duration: a run may have millions of calls
/// to count.
const MIN_PAUSE_PER_POLL_TIME: u32 = 10;

/// The state of the active run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct LiveState {
    /// The run that goes on.
    run: Option<String>,
    /// The last of its cycles that came to its end, counted from 0.
    cycle: Option<u32>,
    calls: u64,
    /// Calls in no plan: they confirm, compare or measure time.
    auxiliary_calls: u64,
    failures: u64,
    verdicts: BTreeMap<String, u64>,
    current_call: Option<String>,
    /// Calls per second since the last look.
    calls_per_second: Option<f64>,
    /// The last run that has results.
    last_finished_run: Option<String>,
}

#[derive(Debug)]
pub(super) struct LiveFeed {
    source: Arc<DataSource>,
    cache: Mutex<LiveCache>,
    listener_slots: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct LiveCache {
    state: LiveState,
    polled_at: Option<Instant>,
    poll_duration: Duration,
    /// The store, with the version seen last.
    watched_store: Option<(Store, Option<i64>)>,
}

impl LiveFeed {
    pub(super) fn new(source: Arc<DataSource>, listeners: usize) -> Self {
        Self {
            source,
            cache: Mutex::default(),
            listener_slots: Arc::new(Semaphore::new(listeners)),
        }
    }

    /// The state of the active run, at most a moment old; read again when the server ends.
    fn current_state(&self, is_last: bool) -> ServeResult<LiveState> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = POLL_INTERVAL.max(cache.poll_duration * MIN_PAUSE_PER_POLL_TIME);
        if !is_last && cache.polled_at.is_some_and(|looked| looked.elapsed() < pause) {
            return Ok(cache.state.clone());
        }
        let started = Instant::now();
        let mut now = self.poll_store(&mut cache)?;
        now.calls_per_second = None;
        if let Some(before) =
            cache.polled_at.filter(|_| now.run.is_some() && now.run == cache.state.run)
        {
            let calls = now.calls.saturating_sub(cache.state.calls) as f64;
            now.calls_per_second = Some((calls / before.elapsed().as_secs_f64()).round());
        }
        cache.poll_duration = started.elapsed();
        cache.polled_at = Some(started);
        cache.state = now.clone();
        Ok(now)
    }

    fn poll_store(&self, cache: &mut LiveCache) -> ServeResult<LiveState> {
        // Versions compare on one connection only: it is kept.
        let (store, known) = match cache.watched_store.take() {
            Some(watched) => watched,
            None => match self.source.connection()? {
                Some(store) => (store, None),
                None => return Ok(LiveState::default()),
            },
        };
        let version = store.data_version()?;
        // A process that dies writes nothing, so this is queried each time.
        let run = store.active_runs()?.pop();
        let is_same =
            known == Some(version) && run.as_ref().map(|run| &run.0) == cache.state.run.as_ref();
        let now = if is_same { cache.state.clone() } else { read_live_state(&store, run)? };
        cache.watched_store = Some((store, Some(version)));
        Ok(now)
    }
}

fn read_live_state(store: &Store, run: Option<RunId>) -> ServeResult<LiveState> {
    let finished = store.latest_measured_run()?.map(|run| run.id.0);
    let Some(run) = run else {
        return Ok(LiveState { last_finished_run: finished, ..LiveState::default() });
    };
    let live = store.live_stats(&run)?;
    let cycle = store.last_measured_cycle(&run)?;
    let RunId(run) = run;
    Ok(LiveState {
        run: Some(run),
        cycle,
        calls: live.calls,
        auxiliary_calls: live.auxiliary_calls,
        failures: live.failures,
        verdicts: live.verdicts,
        current_call: live
            .current_cell
            .map(|(section, scenario)| format!("{section} under {scenario}")),
        calls_per_second: None,
        last_finished_run: finished,
    })
}

/// Events as they come out of a channel.
struct EventStream(mpsc::Receiver<Event>);

impl Stream for EventStream {
    type Item = std::result::Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Sends changes until the client is gone or the server ends; the last state is sent, too.
pub(super) async fn events(
    State(app): AppState,
    ending: Option<Extension<ShutdownSignal>>,
) -> Response {
    let live = Arc::clone(&app.live);
    let Ok(place) = Arc::clone(&live.listener_slots).try_acquire_owned() else {
        return plain_error(StatusCode::SERVICE_UNAVAILABLE, "too many listen already");
    };
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let _place = place;
        let mut last_sent = None;
        let mut is_last = false;
        while !sender.is_closed() {
            let live = Arc::clone(&live);
            let look = move || live.current_state(is_last);
            let Ok(looked) = tokio::task::spawn_blocking(look).await else { return };
            match looked {
                Ok(now) if last_sent.as_ref() != Some(&now) => {
                    let Ok(data) = menace_model::to_json(&now) else { return };
                    let event = Event::default().event("state").data(data);
                    if sender.send(event).await.is_err() {
                        return;
                    }
                    last_sent = Some(now);
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "cannot tell what goes on"),
            }
            if is_last {
                return;
            }
            if let Some(Extension(mut ending)) = ending.clone() {
                is_last = tokio::time::timeout(POLL_INTERVAL, ending.wait()).await.is_ok();
            } else {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    });
    Sse::new(EventStream(receiver)).keep_alive(KeepAlive::default()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_source::DataLocations;
    use menace_model::{CallStage, InputIntent, Outcome, SectionId, Verdict};
    use menace_store::{CallRecord, CellKey, RunStartRecord};

    const URL: &str = "sqlite:///menace.db";

    #[test]
    fn calls_are_counted_again_only_when_something_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(directory.path(), URL).unwrap();
        let writer = store
            .start_run(&RunStartRecord {
                id: RunId("r-1".into()),
                seed: 1,
                repository: "/repo".into(),
                started_ms: 1,
                settings: serde_json::json!({}),
            })
            .unwrap();
        let source = Arc::new(DataSource::new(DataLocations::from_data_dir(directory.path(), URL)));
        let live = LiveFeed::new(source, 1);
        let mut seen = LiveCache::default();
        seen.state = live.poll_store(&mut seen).unwrap();
        assert_eq!((seen.state.run.as_deref(), seen.state.calls), (Some("r-1"), 0));
        // A number that no count would give.
        seen.state.calls = 99;
        assert_eq!(live.poll_store(&mut seen).unwrap().calls, 99);
        let section = SectionId::new("shop/cart.py", "total");
        let cell = CellKey { cycle: 0, section, scenario: "normal".into() };
        let outcome = Outcome::new(Verdict::Returned, CallStage::Call);
        writer
            .record_call(CallRecord::from_outcome(cell, 0, InputIntent::Valid, &outcome))
            .unwrap();
        writer.flush().unwrap();
        assert_eq!(live.poll_store(&mut seen).unwrap().calls, 1);
        drop(writer);
        assert_eq!(live.poll_store(&mut seen).unwrap().run, None, "its process has let it go");
    }
}
