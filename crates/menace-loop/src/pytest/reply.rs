//! What a local service answers so that a failure shows again.

use menace_model::Failure;
use menace_scenario::judge::SPOILT;

/// More than ever comes.
const MISSING: usize = 512;

/// The bytes that the section was given.
pub(super) fn of(failure: &Failure) -> Result<Vec<u8>, String> {
    let asked = failure.outcome.upstream.iter().flat_map(|asked| &asked.requests).next_back();
    let asked = asked.ok_or("nobody was asked for anything")?;
    let chosen = failure.call.conditions.upstream.as_ref().and_then(|upstream| upstream.failure);
    let struck = failure.outcome.felt.iter().any(|felt| felt.struck > 0);
    let answer = chosen.filter(|_| struck).map_or(asked.answer.as_str(), |chosen| chosen.as_str());
    let garbage = [b"\x00\xff\xfe{]", SPOILT.as_bytes(), b"\x80\x00"].concat();
    if asked.what.starts_with("tcp ") {
        return match answer {
            "garbage" => Ok(garbage),
            _ => Err(format!("its service does not speak HTTP, and answered `{answer}`")),
        };
    }
    let plain = |body: String| written(200, "application/json", body.as_bytes(), 0);
    Ok(match answer {
        "200" => plain("{}".to_owned()),
        "garbage" => written(200, "application/json", &garbage, 0),
        "html" => {
            let page = format!("<html><body><h1>{SPOILT}</h1></body></html>");
            written(200, "text/html", page.as_bytes(), 0)
        }
        "truncated" => {
            written(200, "application/json", format!("{{\"data\": \"{SPOILT}").as_bytes(), MISSING)
        }
        "wrong shape" => plain(format!("[\"{SPOILT}\"]")),
        other => match other.parse() {
            Ok(status) => {
                let body = format!("{{\"error\": \"{SPOILT}\"}}");
                written(status, "application/json", body.as_bytes(), 0)
            }
            Err(_) => return Err(format!("its service answered with `{other}`")),
        },
    })
}

fn written(status: u16, kind: &str, body: &[u8], missing: usize) -> Vec<u8> {
    let length = body.len() + missing;
    let head = format!(
        "HTTP/1.1 {status} Answer\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}
