//! Questions to what shows runs, without a socket.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use tower::ServiceExt;

/// An answer, read to its end.
pub(crate) struct TestResponse {
    pub status: StatusCode,
    pub headers: axum::http::HeaderMap,
    pub bytes: Vec<u8>,
}

impl TestResponse {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        serde_json::from_slice(&self.bytes).unwrap()
    }

    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Asks as a browser does.
pub(crate) fn fetch_as_browser(routes: &Router, path: &str) -> TestResponse {
    send_request(
        routes,
        get_request(path).header(header::ACCEPT, "text/html,*/*").body(Body::empty()).unwrap(),
    )
}

/// Asks as a program does.
pub(crate) fn fetch_as_program(routes: &Router, path: &str) -> TestResponse {
    send_request(routes, get_request(path).body(Body::empty()).unwrap())
}

pub(crate) fn get_request(path: &str) -> axum::http::request::Builder {
    Request::get(path).header(header::HOST, "localhost:8002")
}

pub(crate) fn send_request(routes: &Router, request: Request<Body>) -> TestResponse {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let response: Response<Body> = routes.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap().to_vec();
        TestResponse { status: parts.status, headers: parts.headers, bytes }
    })
}
