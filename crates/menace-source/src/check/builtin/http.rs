//! B113: a request without a timeout can wait for ever.
//! B501: a request that does not check the certificate of the server.

use super::call::CheckedCall;
use super::literal::ArgumentLiteral;
use super::rule_match::FindingSink;

const HTTP_VERBS: [&str; 7] = ["get", "options", "head", "post", "put", "patch", "delete"];
const HTTPX_ONLY_NAMES: [&str; 4] = ["request", "stream", "Client", "AsyncClient"];

/// Calls into `requests` and `httpx`; the latter has a timeout by default.
pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let requests = call.root_name() == "requests";
    let verb = HTTP_VERBS.contains(&call.name);
    if !verb && (requests || !HTTPX_ONLY_NAMES.contains(&call.name)) {
        return;
    }
    let message = match call.keyword_value("timeout") {
        ArgumentLiteral::Unknown if requests => {
            Some("a request without a timeout can wait for ever")
        }
        ArgumentLiteral::Text("None") => Some("a request with `timeout=None` can wait for ever"),
        _ => None,
    };
    if let Some(message) = message {
        sink.report("B113", call, message);
    }
    if call.keyword_value("verify").is_text("False") {
        let message = "`verify=False` accepts the certificate of any server";
        sink.report_at(call.keyword_start("verify"), "B501", call, message);
    }
}
