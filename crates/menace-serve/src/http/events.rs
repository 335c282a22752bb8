//! What goes on, as server-sent events: whoever listens hears of changes, from whatever process.
//!
//! The store is looked at, and only while somebody listens: it says cheaply whether anything was
//! written, and only then calls are counted. Invariant: however many listen, the store is asked once
//! in a while.

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

use super::App;
use super::answer::refused;
use crate::error::Result;
use crate::library::Library;
use crate::server::Ending;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Looking takes at most this part of the time: a run may have millions of calls to count.
const SHARE: u32 = 10;

/// What goes on now.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Now {
    /// The run that goes on.
    run: Option<String>,
    /// The last of its cycles that came to its end, counted from 0.
    cycle: Option<u32>,
    calls: u64,
    /// Made beside those: to confirm, to compare, to measure time.
    beside: u64,
    failures: u64,
    verdicts: BTreeMap<String, u64>,
    at: Option<String>,
    /// Calls per second since the last look.
    speed: Option<f64>,
    /// The last run that has results.
    finished: Option<String>,
}

#[derive(Debug)]
pub(super) struct Live {
    library: Arc<Library>,
    seen: Mutex<Seen>,
    places: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Seen {
    now: Now,
    looked: Option<Instant>,
    took: Duration,
    /// With the version that was seen last.
    watched: Option<(Store, Option<i64>)>,
}

impl Live {
    pub(super) fn new(library: Arc<Library>, listeners: usize) -> Self {
        Self { library, seen: Mutex::default(), places: Arc::new(Semaphore::new(listeners)) }
    }

    /// What goes on, as somebody saw it a moment ago, or as it is; at the end, nothing but that will do.
    fn now(&self, is_last: bool) -> Result<Now> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = EVERY.max(seen.took * SHARE);
        if !is_last && seen.looked.is_some_and(|looked| looked.elapsed() < pause) {
            return Ok(seen.now.clone());
        }
        let started = Instant::now();
        let mut now = self.look(&mut seen)?;
        now.speed = None;
        if let Some(before) = seen.looked.filter(|_| now.run.is_some() && now.run == seen.now.run) {
            let calls = now.calls.saturating_sub(seen.now.calls) as f64;
            now.speed = Some((calls / before.elapsed().as_secs_f64()).round());
        }
        seen.took = started.elapsed();
        seen.looked = Some(started);
        seen.now = now.clone();
        Ok(now)
    }

    fn look(&self, seen: &mut Seen) -> Result<Now> {
        // Versions compare on one connection only: it is kept.
        let (store, known) = match seen.watched.take() {
            Some(watched) => watched,
            None => match self.library.connection()? {
                Some(store) => (store, None),
                None => return Ok(Now::default()),
            },
        };
        let version = store.version()?;
        // A process that dies writes nothing.
        let run = store.going_on()?.pop();
        let is_same =
            known == Some(version) && run.as_ref().map(|run| &run.0) == seen.now.run.as_ref();
        let now = if is_same { seen.now.clone() } else { found(&store, run)? };
        seen.watched = Some((store, Some(version)));
        Ok(now)
    }
}

fn found(store: &Store, run: Option<RunId>) -> Result<Now> {
    let finished = store.latest_measured_run()?.map(|run| run.id.0);
    let Some(run) = run else { return Ok(Now { finished, ..Now::default() }) };
    let live = store.live(&run)?;
    let cycle = store.last_measured_cycle(&run)?;
    let RunId(run) = run;
    Ok(Now {
        run: Some(run),
        cycle,
        calls: live.calls,
        beside: live.beside,
        failures: live.failures,
        verdicts: live.verdicts,
        at: live.at.map(|(section, scenario)| format!("{section} under {scenario}")),
        speed: None,
        finished,
    })
}

/// Events as they come out of a channel.
struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = std::result::Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Tells of changes until nobody listens any more, or the server ends; the last state is told, too.
pub(super) async fn events(State(app): App, ending: Option<Extension<Ending>>) -> Response {
    let live = Arc::clone(&app.live);
    let Ok(place) = Arc::clone(&live.places).try_acquire_owned() else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "too many listen already");
    };
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let _place = place;
        let mut told = None;
        let mut is_last = false;
        while !sender.is_closed() {
            let live = Arc::clone(&live);
            let look = move || live.now(is_last);
            let Ok(looked) = tokio::task::spawn_blocking(look).await else { return };
            match looked {
                Ok(now) if told.as_ref() != Some(&now) => {
                    let Ok(data) = serde_json::to_string(&now) else { return };
                    let event = Event::default().event("state").data(data);
                    if sender.send(event).await.is_err() {
                        return;
                    }
                    told = Some(now);
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "cannot tell what goes on"),
            }
            if is_last {
                return;
            }
            if let Some(Extension(mut ending)) = ending.clone() {
                is_last = tokio::time::timeout(EVERY, ending.come()).await.is_ok();
            } else {
                tokio::time::sleep(EVERY).await;
            }
        }
    });
    Sse::new(Events(receiver)).keep_alive(KeepAlive::default()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Place;
    use menace_model::{Intent, Outcome, SectionId, Stage, Verdict};
    use menace_store::{CallRecord, CellKey, NewRun};

    const URL: &str = "sqlite:///menace.db";

    #[test]
    fn calls_are_counted_again_only_when_something_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(directory.path(), URL).unwrap();
        let writer = store
            .start_run(&NewRun {
                id: RunId("r-1".into()),
                seed: 1,
                repository: "/repo".into(),
                started_ms: 1,
                settings: serde_json::json!({}),
            })
            .unwrap();
        let library = Arc::new(Library::new(Place::below(directory.path(), URL)));
        let live = Live::new(library, 1);
        let mut seen = Seen::default();
        seen.now = live.look(&mut seen).unwrap();
        assert_eq!((seen.now.run.as_deref(), seen.now.calls), (Some("r-1"), 0));
        // A number that no count would give.
        seen.now.calls = 99;
        assert_eq!(live.look(&mut seen).unwrap().calls, 99);
        let section = SectionId::new("shop/cart.py", "total");
        let cell = CellKey { cycle: 0, section, scenario: "normal".into() };
        let outcome = Outcome::of(Verdict::Returned, Stage::Call);
        writer.call(CallRecord::of(cell, 0, Intent::Valid, &outcome)).unwrap();
        writer.flush().unwrap();
        assert_eq!(live.look(&mut seen).unwrap().calls, 1);
        drop(writer);
        assert_eq!(live.look(&mut seen).unwrap().run, None, "its process has let it go");
    }
}
