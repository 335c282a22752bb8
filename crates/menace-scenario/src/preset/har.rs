//! Upstream answers recorded by a browser or a proxy: HTTP archives, version 1.2.
//!
//! Answers are replayed without their delays. Repeated requests get their answers in the recorded
//! order, and the last one from then on.

use serde_json::Value as Json;

use menace_model::{MockResponse, decode_base64};

use super::mocks::{is_header, is_method};
use crate::config::{ConfigError, ConfigProblem};

const ENTRIES_KEY: &str = "log.entries";
/// The content of an archive is already decoded.
const TRANSPORT_HEADERS: [&str; 4] =
    ["content-encoding", "content-length", "transfer-encoding", "connection"];

/// The entries, if the JSON is an HTTP archive.
pub(super) fn archive_entries(json: &Json) -> Option<&Vec<Json>> {
    json.get("log")?.get("entries")?.as_array()
}

/// One mock per entry with an answer; `at` is the position of the archive.
pub(super) fn read_archive_mocks(
    entries: &[Json],
    at: &str,
) -> Result<Vec<MockResponse>, ConfigError> {
    let mut problems = ConfigError::default();
    let mut mocks: Vec<MockResponse> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        match read_entry(entry) {
            Ok(Some(mock)) => mocks.push(mock),
            // The request had no answer.
            Ok(None) => {}
            Err((field, expected)) => {
                let key = format!("{ENTRIES_KEY}[{index}].{field}");
                problems.add(ConfigProblem::for_key(at, &key, format!("expected {expected}")));
            }
        }
    }
    for index in 0..mocks.len() {
        let (mock, later) = (&mocks[index], &mocks[index + 1..]);
        let again = later.iter().any(|one| (&one.method, &one.url) == (&mock.method, &mock.url));
        mocks[index].times = again.then_some(1);
    }
    problems.into_result(mocks)
}

type HarEntryError = (&'static str, &'static str);

fn read_entry(entry: &Json) -> Result<Option<MockResponse>, HarEntryError> {
    let (request, response) = (&entry["request"], &entry["response"]);
    let method = request["method"].as_str().filter(|method| is_method(method));
    let method = method.ok_or(("request.method", "a method such as `GET`"))?;
    let url = request["url"].as_str().filter(|url| url.contains("://"));
    let url = url.ok_or(("request.url", "a URL"))?;
    let status = response["status"].as_u64().ok_or(("response.status", "a number"))?;
    let Some(status) = u16::try_from(status).ok().filter(|status| (100..=599).contains(status))
    else {
        return Ok(None);
    };
    let content = &response["content"];
    let text = content["text"].as_str().unwrap_or_default();
    let body = match content["encoding"].as_str() {
        Some("base64") => {
            decode_base64(text).ok_or(("response.content.text", "bytes in base64, with padding"))?
        }
        _ => text.as_bytes().to_vec(),
    };
    Ok(Some(MockResponse {
        method: Some(method.to_ascii_uppercase()),
        // The fragment is never sent.
        url: url.split('#').next().unwrap_or(url).to_owned(),
        status,
        headers: replayable_headers(&response["headers"]),
        body,
        delay_ms: 0,
        times: None,
    }))
}

/// Headers that can be sent again; an archive has others such as `:status`.
fn replayable_headers(json: &Json) -> Vec<(String, String)> {
    let pair = |header: &Json| {
        let (name, value) = (header["name"].as_str()?, header["value"].as_str()?);
        let is_ours = TRANSPORT_HEADERS.iter().any(|ours| name.eq_ignore_ascii_case(ours));
        (is_header(name, value) && !is_ours).then(|| (name.to_owned(), value.to_owned()))
    };
    json.as_array().into_iter().flatten().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::mocks::read_mocks;

    #[test]
    fn an_archive_is_replayed_in_its_order() {
        let entry = |url: &str, status: u16, text: &str| {
            json!({
                "startedDateTime": "2026-01-01T00:00:00Z",
                "time": 31.5,
                "request": {"method": "get", "url": url, "headers": []},
                "response": {
                    "status": status,
                    "headers": [
                        {"name": ":status", "value": "200"},
                        {"name": "Content-Encoding", "value": "gzip"},
                        {"name": "X-Rate", "value": "7"},
                    ],
                    "content": {"mimeType": "text/plain", "text": text},
                },
            })
        };
        let archive = json!({"log": {"version": "1.2", "entries": [
            entry("https://a.example/x#part", 503, "busy"),
            entry("https://a.example/y", 0, ""),
            entry("https://a.example/x", 200, "fine"),
            {
                "request": {"method": "POST", "url": "https://a.example/x"},
                "response": {"status": 200, "content": {"text": "/w==", "encoding": "base64"}},
            },
        ]}});
        let found = read_mocks(&archive, "x.har").unwrap();
        let short = |mock: &menace_model::MockResponse| {
            (mock.url.clone(), mock.status, mock.body.clone(), mock.times)
        };
        let url = || "https://a.example/x".to_owned();
        assert_eq!(
            found.iter().map(short).collect::<Vec<_>>(),
            [
                (url(), 503, b"busy".to_vec(), Some(1)),
                (url(), 200, b"fine".to_vec(), None),
                (url(), 200, vec![255], None),
            ]
        );
        assert_eq!(found[0].method.as_deref(), Some("GET"));
        assert_eq!(found[0].headers, [("X-Rate".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn every_error_in_an_archive_is_reported_with_its_place() {
        let archive = json!({"log": {"entries": [
            {"request": {"method": "GET", "url": "nowhere"}, "response": {"status": 200}},
            {"request": {"method": "GET", "url": "http://a/"}, "response": {}},
            {"request": {"url": "http://a/"}},
            {
                "request": {"method": "GET", "url": "http://a/"},
                "response": {"status": 200, "content": {"text": "?", "encoding": "base64"}},
            },
        ]}});
        insta::assert_snapshot!(read_mocks(&archive, "x.har").unwrap_err(), @r"
        x.har: log.entries[0].request.url: expected a URL
        x.har: log.entries[1].response.status: expected a number
        x.har: log.entries[2].request.method: expected a method such as `GET`
        x.har: log.entries[3].response.content.text: expected bytes in base64, with padding
        ");
    }
}
