//! Questions to what shows runs, without a socket.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use tower::ServiceExt;

/// An answer, read to its end.
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: axum::http::HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
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
pub(crate) fn browse(routes: &Router, path: &str) -> Answer {
    ask(routes, get(path).header(header::ACCEPT, "text/html,*/*").body(Body::empty()).unwrap())
}

/// Asks as a program does.
pub(crate) fn fetch(routes: &Router, path: &str) -> Answer {
    ask(routes, get(path).body(Body::empty()).unwrap())
}

pub(crate) fn get(path: &str) -> axum::http::request::Builder {
    Request::get(path).header(header::HOST, "localhost:8002")
}

pub(crate) fn ask(routes: &Router, request: Request<Body>) -> Answer {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let response: Response<Body> = routes.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, bytes }
    })
}
