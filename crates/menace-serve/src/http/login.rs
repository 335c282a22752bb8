//! The form that turns a token into a cookie.

use axum::Form;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::App;
use super::answer::html;
use super::guesses::{Guess, too_many};
use super::token::{COOKIE, LASTS_S};
use crate::clock::now_ms;
use crate::page::render;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wish {
    next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Given {
    token: String,
    next: Option<String>,
}

pub(super) async fn form(State(app): App, Query(wish): Query<Wish>) -> Response {
    if app.access.token.is_none() {
        return Redirect::to("/").into_response();
    }
    page(StatusCode::OK, &own(wish.next), None)
}

pub(super) async fn submit(State(app): App, Form(given): Form<Given>) -> Response {
    let next = own(given.next);
    let Some(token) = &app.access.token else { return Redirect::to("/").into_response() };
    match app.access.is_token(token, &given.token).await {
        Guess::Right => {}
        Guess::Wrong => {
            return page(StatusCode::UNAUTHORIZED, &next, Some("That is not the token."));
        }
        Guess::TooMany => return too_many(),
    }
    let secure = if app.access.is_secure { "; Secure" } else { "" };
    let session = token.session(now_ms() / 1000);
    let cookie =
        format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={LASTS_S}{secure}");
    with_cookie(&cookie, &next)
}

pub(super) async fn logout() -> Response {
    with_cookie(&format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"), "/login")
}

fn with_cookie(cookie: &str, next: &str) -> Response {
    let mut response = Redirect::to(next).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn page(status: StatusCode, next: &str, wrong: Option<&str>) -> Response {
    match render("login.html", minijinja::context! { next, wrong }) {
        Ok(body) => (status, html(body)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Only addresses of our own: nobody is sent elsewhere after giving a token.
fn own(next: Option<String>) -> String {
    let is_own = |next: &String| {
        next.starts_with('/')
            && !next.starts_with("//")
            && !next.contains('\\')
            && next.chars().all(|char| char.is_ascii_graphic())
    };
    next.filter(is_own).unwrap_or_else(|| "/".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for bad in
            ["//evil.example", "https://evil.example", "/\\evil", "javascript:x", "", "/a\r\nb"]
        {
            assert_eq!(own(Some(bad.to_owned())), "/", "{bad}");
        }
        assert_eq!(own(Some("/failures?q=x".to_owned())), "/failures?q=x");
    }
}
