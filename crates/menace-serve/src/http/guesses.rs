//! Tokens are judged one at a time, and a wrong one holds the others up: however many connections
//! guess at once, they learn about two tokens a second, and that leads nowhere.
//!
//! The price: while somebody guesses, whoever shows the right token waits in the same line.
//! Sessions do not, so people who are logged in notice nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;

use super::answer::refused;

/// After a wrong token.
const PAUSE: Duration = Duration::from_millis(500);
/// Nobody stands in line for longer.
const LINE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    Right,
    Wrong,
    /// Not even looked at: others guess.
    TooMany,
}

#[derive(Debug, Clone)]
pub(super) struct Guesses {
    turn: Arc<Mutex<()>>,
    pub(super) pause: Duration,
}

impl Default for Guesses {
    fn default() -> Self {
        Self { turn: Arc::default(), pause: PAUSE }
    }
}

impl Guesses {
    /// The turn comes before the answer: what is judged meanwhile, nobody learns.
    pub(super) async fn judge(&self, is_right: impl FnOnce() -> bool) -> Guess {
        let Ok(turn) = tokio::time::timeout(LINE, Arc::clone(&self.turn).lock_owned()).await else {
            return Guess::TooMany;
        };
        if is_right() {
            return Guess::Right;
        }
        let pause = self.pause;
        // Whoever hangs up does not shorten it.
        let paused = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            drop(turn);
        });
        let _ = paused.await;
        Guess::Wrong
    }
}

pub(super) fn too_many() -> Response {
    let later = [(header::RETRY_AFTER, HeaderValue::from_static("10"))];
    let why = "too many wrong tokens are being tried; try again later";
    (later, refused(StatusCode::TOO_MANY_REQUESTS, why)).into_response()
}
