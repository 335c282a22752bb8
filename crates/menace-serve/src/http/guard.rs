//! Decides which requests are answered, with which headers, and how long an answer may take.
//!
//! Without a token only requests from this machine are answered, and only under its own name: a
//! page of another site whose host name resolves to this machine gets nothing.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use menace_model::now_ms;

use super::response::{as_json_error, plain_error, wants_html};
use super::token::{AccessToken, SESSION_COOKIE};
use super::token_limiter::{TokenCheck, TokenCheckLimiter, too_many_attempts};
use crate::error::{ServeError, ServeResult};
use crate::text::percent_encode;

/// Longer requests are answered with an error; the thread that works on one ends by itself.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_EVENT_LISTENERS: usize = 48;
/// Scripts and styles of this server only; no frames, forms or connections to others.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// Which requests are let in.
#[derive(Debug, Clone)]
pub struct AccessPolicy {
    pub(super) token: Option<AccessToken>,
    pub(super) is_secure: bool,
    /// Clients that listen to events at a time; each holds a connection.
    pub(super) max_listeners: usize,
    token_limiter: TokenCheckLimiter,
    answer_timeout: Duration,
}

impl AccessPolicy {
    /// Beyond this machine there must be a token.
    pub fn new(host: IpAddr, token: Option<AccessToken>, is_secure: bool) -> ServeResult<Self> {
        if token.is_none() && !host.is_loopback() {
            return Err(ServeError::NoToken { host: host.to_string() });
        }
        let guesses = TokenCheckLimiter::default();
        Ok(Self {
            token,
            is_secure,
            max_listeners: MAX_EVENT_LISTENERS,
            token_limiter: guesses,
            answer_timeout: ANSWER_TIMEOUT,
        })
    }

    /// Replaces the pause of half a second after a wrong token.
    #[must_use]
    pub fn with_wrong_token_pause(mut self, pause: Duration) -> Self {
        self.token_limiter.pause = pause;
        self
    }

    /// Replaces the time of half a minute for a request and its answer.
    #[must_use]
    pub fn with_answer_timeout(mut self, answer: Duration) -> Self {
        self.answer_timeout = answer;
        self
    }

    /// Replaces the limit on clients that listen to events.
    #[must_use]
    pub fn with_max_listeners(mut self, listeners: usize) -> Self {
        self.max_listeners = listeners;
        self
    }

    /// Compares a token. After a wrong one, the answer is delayed, and other checks wait for it.
    pub(super) async fn check_token(&self, token: &AccessToken, candidate: &str) -> TokenCheck {
        self.token_limiter.check(|| token.matches(candidate.trim())).await
    }

    async fn check_headers(&self, headers: &HeaderMap) -> TokenCheck {
        let Some(token) = &self.token else { return TokenCheck::Right };
        let now_s = now_ms() / 1000;
        // Guessing these leads nowhere at any speed: they are as long as a hash.
        if cookies(headers)
            .any(|(name, value)| name == SESSION_COOKIE && token.is_valid_session(value, now_s))
        {
            return TokenCheck::Right;
        }
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        match bearer {
            Some(given) => self.check_token(token, given).await,
            None => TokenCheck::Wrong,
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

/// Whether the path reveals nothing about the repository.
fn is_public_path(path: &str) -> bool {
    path == "/health" || path == "/login" || path.starts_with("/assets/")
}

pub(super) async fn require_access(
    State(access): State<AccessPolicy>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let Some(host) = requested_host(&request) else {
        return plain_error(StatusCode::BAD_REQUEST, "a request names one host");
    };
    if access.token.is_none() && !is_local_host(&host) {
        let why = "This dashboard answers to localhost only; ask for it by that name.";
        return plain_error(StatusCode::MISDIRECTED_REQUEST, why);
    }
    if is_public_path(request.uri().path()) {
        return next.run(request).await;
    }
    match access.check_headers(headers).await {
        TokenCheck::Right => return next.run(request).await,
        TokenCheck::TooManyAttempts => return too_many_attempts(),
        TokenCheck::Wrong => {}
    }
    if wants_html(headers) {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        return Redirect::to(&format!("/login?next={}", percent_encode(target))).into_response();
    }
    let challenge = [(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))];
    (challenge, plain_error(StatusCode::UNAUTHORIZED, "a token is needed")).into_response()
}

/// The one host that a request names, in its address too where that is a whole one.
fn requested_host(request: &Request) -> Option<Authority> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (host, None) = (hosts.next()?, hosts.next()) else { return None };
    let host: Authority = host.to_str().ok()?.parse().ok()?;
    let port = host.as_str().strip_prefix(host.host())?;
    let is_port = port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let is_plain = !host.host().is_empty() && (port.is_empty() || is_port);
    let is_same = request.uri().authority().is_none_or(|other| *other == host);
    (is_plain && is_same).then_some(host)
}

/// `localhost`, or an address of this machine.
fn is_local_host(host: &Authority) -> bool {
    let name = host.host();
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

pub(super) async fn enforce_answer_timeout(
    State(access): State<AccessPolicy>,
    request: Request,
    next: Next,
) -> Response {
    match tokio::time::timeout(access.answer_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => plain_error(StatusCode::SERVICE_UNAVAILABLE, "this took too long"),
    }
}

pub(super) async fn add_security_headers(request: Request, next: Next) -> Response {
    let is_page = wants_html(request.headers());
    let response = next.run(request).await;
    let mut response = if is_page { response } else { as_json_error(response) };
    let headers = response.headers_mut();
    let mut put = |name: header::HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    put(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    put(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    put(header::X_FRAME_OPTIONS, "DENY");
    put(header::REFERRER_POLICY, "same-origin");
    put(header::CACHE_CONTROL, "no-store");
    put(header::VARY, "accept");
    put(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    response
}
