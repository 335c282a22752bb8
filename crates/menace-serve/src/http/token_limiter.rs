//! Checks one token at a time, with a pause after a wrong one: however many connections try, they
//! test about two tokens a second, too few to find one.
//!
//! While a client guesses, requests with the right token wait in the same queue. Sessions do not,
//! so logged-in users notice nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;

use super::response::plain_error;

/// The pause after a wrong token.
const WRONG_TOKEN_PAUSE: Duration = Duration::from_millis(500);
/// The longest time that a request waits in the queue.
const MAX_QUEUE_WAIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenCheck {
    Right,
    Wrong,
    /// Not checked, because other requests fill the queue.
    TooManyAttempts,
}

#[derive(Debug, Clone)]
pub(super) struct TokenCheckLimiter {
    queue: Arc<Mutex<()>>,
    pub(super) pause: Duration,
}

impl Default for TokenCheckLimiter {
    fn default() -> Self {
        Self { queue: Arc::default(), pause: WRONG_TOKEN_PAUSE }
    }
}

impl TokenCheckLimiter {
    /// The turn comes before the answer: no request learns its result before.
    pub(super) async fn check(&self, is_right: impl FnOnce() -> bool) -> TokenCheck {
        let Ok(turn) =
            tokio::time::timeout(MAX_QUEUE_WAIT, Arc::clone(&self.queue).lock_owned()).await
        else {
            return TokenCheck::TooManyAttempts;
        };
        if is_right() {
            return TokenCheck::Right;
        }
        let pause = self.pause;
        // A client that hangs up does not shorten it.
        let paused = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            drop(turn);
        });
        let _ = paused.await;
        TokenCheck::Wrong
    }
}

pub(super) fn too_many_attempts() -> Response {
    let later = [(header::RETRY_AFTER, HeaderValue::from_static("10"))];
    let why = "too many wrong tokens are being tried; try again later";
    (later, plain_error(StatusCode::TOO_MANY_REQUESTS, why)).into_response()
}
