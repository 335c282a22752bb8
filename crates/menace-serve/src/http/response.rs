//! Builds responses, also from errors.

use axum::Extension;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::error::{ServeError, ServeResult};
use crate::page;

pub(super) fn text_response(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body.into()).into_response()
}

pub(super) fn html_response(body: String) -> Response {
    text_response("text/html; charset=utf-8", body)
}

pub(super) fn json_response(value: &impl Serialize) -> Response {
    match menace_model::to_json(value) {
        Ok(body) => text_response("application/json", body),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Part of the program: it may be kept until that is started anew.
pub(super) fn static_response(kind: &'static str, body: &'static str) -> Response {
    let mut response = text_response(kind, body);
    let keep = HeaderValue::from_static("public, max-age=300");
    response.headers_mut().insert(header::CACHE_CONTROL, keep);
    response
}

/// Makes the response on a thread that may block on databases and files.
pub(super) async fn respond_blocking(
    ask: impl FnOnce() -> ServeResult<Response> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(ask).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => error_response(&error),
        Err(error) => {
            tracing::error!(%error, "an answer could not be made");
            plain_error(StatusCode::INTERNAL_SERVER_ERROR, "an answer could not be made")
        }
    }
}

fn error_response(error: &ServeError) -> Response {
    let (status, title) = match error {
        ServeError::NotFound(_)
        | ServeError::Store(
            menace_store::StoreError::NotFound { .. } | menace_store::StoreError::Ambiguous { .. },
        ) => (StatusCode::NOT_FOUND, "There is nothing here"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "This cannot be shown"),
    };
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!("a page cannot be made: {}", menace_model::format_error_chain(error));
    }
    error_page(status, title, &error.to_string())
}

/// The error of a response, for the layer that answers programs in JSON.
#[derive(Debug, Clone)]
struct ResponseError(String);

/// An error as a page; programs get it as [`as_json_error`] has it.
pub(super) fn error_page(status: StatusCode, title: &str, why: &str) -> Response {
    let view = minijinja::context! {
        title, why, guarded => false, nav => super::pages::navigation("")
    };
    let response = match page::render("error.html", view) {
        Ok(body) => html_response(body),
        Err(_) => why.to_owned().into_response(),
    };
    (status, Extension(ResponseError(why.to_owned())), response).into_response()
}

/// A short text, where there is no page.
pub(super) fn plain_error(status: StatusCode, why: &str) -> Response {
    (status, Extension(ResponseError(why.to_owned())), format!("{why}\n")).into_response()
}

/// The error of a response as `{"error": …}`; status and headers are kept.
pub(super) fn as_json_error(response: Response) -> Response {
    let Some(ResponseError(why)) = response.extensions().get().cloned() else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, Body::from(serde_json::json!({"error": why}).to_string()))
}

/// Whether the client is a browser.
pub(super) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}
