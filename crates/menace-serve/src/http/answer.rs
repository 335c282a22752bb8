//! Answers, and what becomes of errors.

use axum::Extension;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::page;

pub(super) fn text(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body.into()).into_response()
}

pub(super) fn html(body: String) -> Response {
    text("text/html; charset=utf-8", body)
}

pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(body) => text("application/json", body),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Part of the program: it may be kept until that is started anew.
pub(super) fn fixed(kind: &'static str, body: &'static str) -> Response {
    let mut response = text(kind, body);
    let keep = HeaderValue::from_static("public, max-age=300");
    response.headers_mut().insert(header::CACHE_CONTROL, keep);
    response
}

/// Asks on a thread that may wait: databases and files do.
pub(super) async fn answered(ask: impl FnOnce() -> Result<Response> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(ask).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => failed(&error),
        Err(error) => {
            tracing::error!(%error, "an answer could not be made");
            refused(StatusCode::INTERNAL_SERVER_ERROR, "an answer could not be made")
        }
    }
}

fn failed(error: &Error) -> Response {
    let (status, title) = match error {
        Error::Nothing(_)
        | Error::Store(
            menace_store::Error::NoSuch { .. } | menace_store::Error::Ambiguous { .. },
        ) => (StatusCode::NOT_FOUND, "There is nothing here"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "This cannot be shown"),
    };
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!("a page cannot be made: {}", chain(error));
    }
    told(status, title, &error.to_string())
}

/// With what led to it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        told = format!("{told}: {next}");
        cause = next.source();
    }
    told
}

/// What a response says went wrong, for whoever hands it to a program.
#[derive(Debug, Clone)]
struct Why(String);

/// An error as a page; programs get it as [`for_programs`] has it.
pub(super) fn told(status: StatusCode, title: &str, why: &str) -> Response {
    let view = minijinja::context! { title, why, nav => super::pages::nav("") };
    let response = match page::render("error.html", view) {
        Ok(body) => html(body),
        Err(_) => why.to_owned().into_response(),
    };
    (status, Extension(Why(why.to_owned())), response).into_response()
}

/// The same in few words, where there is no page.
pub(super) fn refused(status: StatusCode, why: &str) -> Response {
    (status, Extension(Why(why.to_owned())), format!("{why}\n")).into_response()
}

/// The error of a response as `{"error": …}`; whatever else it says stays.
pub(super) fn for_programs(response: Response) -> Response {
    let Some(Why(why)) = response.extensions().get().cloned() else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(serde_json::json!({"error": why}).to_string()))
}

/// A browser asks, not a program.
pub(super) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}
