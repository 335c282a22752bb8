//! The reply of a local service with which a failure shows again.

use menace_model::Failure;
use menace_scenario::judge::CORRUPTED_ANSWER_MARKER;

/// Bytes that the length of a truncated reply promises and that are never sent.
const MISSING_BYTES: usize = 512;

/// The bytes of the last reply that the section received.
pub(super) fn reply_of(failure: &Failure) -> Result<Vec<u8>, String> {
    let asked = failure.outcome.upstream.iter().flat_map(|asked| &asked.requests).next_back();
    let asked = asked.ok_or("the call made no request")?;
    let chosen = failure.call.conditions.upstream.as_ref().and_then(|upstream| upstream.failure);
    let is_injected = failure.outcome.fault_stats.iter().any(|stats| stats.injected > 0);
    let answer =
        chosen.filter(|_| is_injected).map_or(asked.answer.as_str(), |chosen| chosen.as_str());
    let garbage = [b"\x00\xff\xfe{]", CORRUPTED_ANSWER_MARKER.as_bytes(), b"\x80\x00"].concat();
    if asked.request.starts_with("tcp ") {
        return match answer {
            "garbage" => Ok(garbage),
            _ => Err(format!("its service does not speak HTTP, and answered `{answer}`")),
        };
    }
    let plain = |body: String| format_http_reply(200, "application/json", body.as_bytes(), 0);
    Ok(match answer {
        "200" => plain("{}".to_owned()),
        "garbage" => format_http_reply(200, "application/json", &garbage, 0),
        "html" => {
            let page = format!("<html><body><h1>{CORRUPTED_ANSWER_MARKER}</h1></body></html>");
            format_http_reply(200, "text/html", page.as_bytes(), 0)
        }
        "truncated" => format_http_reply(
            200,
            "application/json",
            format!("{{\"data\": \"{CORRUPTED_ANSWER_MARKER}").as_bytes(),
            MISSING_BYTES,
        ),
        "wrong shape" => plain(format!("[\"{CORRUPTED_ANSWER_MARKER}\"]")),
        other => match other.parse() {
            Ok(status) => {
                let body = format!("{{\"error\": \"{CORRUPTED_ANSWER_MARKER}\"}}");
                format_http_reply(status, "application/json", body.as_bytes(), 0)
            }
            Err(_) => return Err(format!("its service answered with `{other}`")),
        },
    })
}

fn format_http_reply(status: u16, kind: &str, body: &[u8], missing: usize) -> Vec<u8> {
    let length = body.len() + missing;
    let head = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}
