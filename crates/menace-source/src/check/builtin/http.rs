//! B113: a request without a timeout can wait for ever.
//! B501: a request that does not check the certificate of the server.

use menace_model::{Confidence, Severity};

use super::call::Call;
use super::hit::Sink;
use super::literal::Literal;

const VERBS: [&str; 7] = ["get", "options", "head", "post", "put", "patch", "delete"];
const HTTPX_ONLY: [&str; 4] = ["request", "stream", "Client", "AsyncClient"];

/// Calls into `requests` and `httpx`; the latter has a timeout unless told otherwise.
pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    let requests = call.root() == "requests";
    let verb = VERBS.contains(&call.name);
    if !verb && (requests || !HTTPX_ONLY.contains(&call.name)) {
        return;
    }
    let message = match call.keyword_value("timeout") {
        Literal::Unknown if requests => Some("a request without a timeout can wait for ever"),
        Literal::Text("None") => Some("a request with `timeout=None` can wait for ever"),
        _ => None,
    };
    if let Some(message) = message {
        sink.report("B113", (Severity::Medium, Confidence::Low), call.range(), message);
    }
    if call.keyword_value("verify").is_text("False") {
        sink.report_at(
            call.keyword_start("verify"),
            "B501",
            (Severity::High, Confidence::High),
            call.range(),
            "`verify=False` accepts the certificate of any server",
        );
    }
}
