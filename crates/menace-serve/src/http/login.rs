//! The form that turns a token into a cookie.

use axum::Form;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use menace_model::now_ms;
use serde::Deserialize;

use super::AppState;
use super::response::html_response;
use super::token::{SESSION_COOKIE, SESSION_LIFETIME_S};
use super::token_limiter::{TokenCheck, too_many_attempts};
use crate::page::render;

#[derive(Debug, Default, Deserialize)]
pub(super) struct LoginQuery {
    next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct LoginForm {
    token: String,
    next: Option<String>,
}

pub(super) async fn login_page(State(app): AppState, Query(query): Query<LoginQuery>) -> Response {
    if app.access.token.is_none() {
        return Redirect::to("/").into_response();
    }
    render_login_page(StatusCode::OK, &local_path(query.next), None)
}

pub(super) async fn submit_login(State(app): AppState, Form(form): Form<LoginForm>) -> Response {
    let next = local_path(form.next);
    let Some(token) = &app.access.token else { return Redirect::to("/").into_response() };
    match app.access.check_token(token, &form.token).await {
        TokenCheck::Right => {}
        TokenCheck::Wrong => {
            return render_login_page(
                StatusCode::UNAUTHORIZED,
                &next,
                Some("That is not the token."),
            );
        }
        TokenCheck::TooManyAttempts => return too_many_attempts(),
    }
    let secure = if app.access.is_secure { "; Secure" } else { "" };
    let session = token.create_session(now_ms() / 1000);
    let cookie = format!(
        "{SESSION_COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; \
         Max-Age={SESSION_LIFETIME_S}{secure}"
    );
    redirect_with_cookie(&cookie, &next)
}

pub(super) async fn logout() -> Response {
    redirect_with_cookie(
        &format!("{SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"),
        "/login",
    )
}

fn redirect_with_cookie(cookie: &str, next: &str) -> Response {
    let mut response = Redirect::to(next).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn render_login_page(status: StatusCode, next: &str, wrong: Option<&str>) -> Response {
    match render("login.html", minijinja::context! { next, wrong }) {
        Ok(body) => (status, html_response(body)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The target of the redirect after login: only addresses of this dashboard are allowed.
fn local_path(next: Option<String>) -> String {
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
    fn a_login_redirects_to_this_site_only() {
        for bad in
            ["//evil.example", "https://evil.example", "/\\evil", "javascript:x", "", "/a\r\nb"]
        {
            assert_eq!(local_path(Some(bad.to_owned())), "/", "{bad}");
        }
        assert_eq!(local_path(Some("/failures?q=x".to_owned())), "/failures?q=x");
    }
}
