//! Who is let in, what browsers are told, and how long an answer may take.
//!
//! Without a token only this machine is answered, and only under its own name: a page elsewhere that
//! points a name of its own at us gets nothing.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::answer::{for_programs, refused, wants_html};
use super::guesses::{Guess, Guesses, too_many};
use super::token::{COOKIE, Token};
use crate::clock::now_ms;
use crate::error::{Error, Result};
use crate::text::percent;

/// Longer answers are given up; the thread that asks comes to its end by itself.
const ANSWER: Duration = Duration::from_secs(30);
const LISTENERS: usize = 48;
/// Scripts and styles of our own only, and no frames, forms or connections to others.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Whom to let in.
#[derive(Debug, Clone)]
pub struct Access {
    pub(super) token: Option<Token>,
    pub(super) is_secure: bool,
    /// Those who listen to events at a time; each holds a connection.
    pub(super) listeners: usize,
    guesses: Guesses,
    answer: Duration,
}

impl Access {
    /// Beyond this machine there must be a token.
    pub fn new(host: IpAddr, token: Option<Token>, is_secure: bool) -> Result<Self> {
        if token.is_none() && !host.is_loopback() {
            return Err(Error::NoToken { host: host.to_string() });
        }
        let guesses = Guesses::default();
        Ok(Self { token, is_secure, listeners: LISTENERS, guesses, answer: ANSWER })
    }

    /// With another pause after a wrong token than half a second.
    #[must_use]
    pub fn pausing(mut self, pause: Duration) -> Self {
        self.guesses.pause = pause;
        self
    }

    /// With another time for an answer, its request included, than half a minute.
    #[must_use]
    pub fn answering(mut self, answer: Duration) -> Self {
        self.answer = answer;
        self
    }

    /// With room for so many who listen to events.
    #[must_use]
    pub fn listened_to_by(mut self, listeners: usize) -> Self {
        self.listeners = listeners;
        self
    }

    /// Whether that is the token; whoever is wrong waits, and so does whoever comes after them.
    pub(super) async fn is_token(&self, token: &Token, given: &str) -> Guess {
        self.guesses.judge(|| token.is(given.trim())).await
    }

    async fn admits(&self, headers: &HeaderMap) -> Guess {
        let Some(token) = &self.token else { return Guess::Right };
        let now_s = now_ms() / 1000;
        // Guessing these leads nowhere at any speed: they are as long as a hash.
        if cookies(headers).any(|(name, value)| name == COOKIE && token.is_session(value, now_s)) {
            return Guess::Right;
        }
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        match bearer {
            Some(given) => self.is_token(token, given).await,
            None => Guess::Wrong,
        }
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// Addresses that say nothing about anybody's code.
fn is_open(path: &str) -> bool {
    path == "/health" || path == "/login" || path.starts_with("/assets/")
}

pub(super) async fn admitted(
    State(access): State<Access>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if access.token.is_none() && !is_own_name(headers) {
        let why = "This dashboard answers to localhost only; ask for it by that name.";
        return refused(StatusCode::MISDIRECTED_REQUEST, why);
    }
    if is_open(request.uri().path()) {
        return next.run(request).await;
    }
    match access.admits(headers).await {
        Guess::Right => return next.run(request).await,
        Guess::TooMany => return too_many(),
        Guess::Wrong => {}
    }
    if wants_html(headers) {
        let asked = request.uri().path_and_query().map_or("/", |asked| asked.as_str());
        return Redirect::to(&format!("/login?next={}", percent(asked))).into_response();
    }
    let challenge = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
    (challenge, refused(StatusCode::UNAUTHORIZED, "a token is needed")).into_response()
}

/// `localhost`, or an address of this machine.
fn is_own_name(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

pub(super) async fn in_time(
    State(access): State<Access>,
    request: Request,
    next: Next,
) -> Response {
    match tokio::time::timeout(access.answer, next.run(request)).await {
        Ok(response) => response,
        Err(_) => refused(StatusCode::SERVICE_UNAVAILABLE, "this took too long"),
    }
}

pub(super) async fn marked(request: Request, next: Next) -> Response {
    let is_page = wants_html(request.headers());
    let response = next.run(request).await;
    let mut response = if is_page { response } else { for_programs(response) };
    let headers = response.headers_mut();
    let mut put = |name: header::HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "same-origin");
    put(header::CACHE_CONTROL, "no-store");
    put(header::VARY, "accept");
    put(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    response
}
