//! Mocked upstream answers: `NETWORK_MOCKS`, and files of recorded ones.
//!
//! HTTP archives are read by `har`.

use serde_json::Value as Json;

use menace_model::{MockResponse, decode_base64, suggest_names_or};

use super::har;
use crate::config::{ConfigError, ConfigProblem, quote_shortened};

const MOCKS_KEY: &str = "NETWORK_MOCKS";
const MOCK_FIELDS: [&str; 9] =
    ["method", "url", "status", "headers", "json", "body", "body_base64", "delay_ms", "times"];
/// An hour: longer than any call.
const MAX_DELAY_MS: u64 = 3_600_000;

/// Reads a list of answers, a single one, or an HTTP archive; `at` is its place.
pub fn read_mocks(json: &Json, at: &str) -> Result<Vec<MockResponse>, ConfigError> {
    if let Some(entries) = har::archive_entries(json) {
        return har::read_archive_mocks(entries, at);
    }
    let items = match json {
        Json::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut problems = ConfigError::default();
    let mut mocks = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let mut reader =
            MockReader { key: format!("{MOCKS_KEY}[{index}]"), at, problems: &mut problems };
        mocks.extend(reader.read_mock(item));
    }
    problems.into_result(mocks)
}

struct MockReader<'a> {
    key: String,
    at: &'a str,
    problems: &'a mut ConfigError,
}

impl MockReader<'_> {
    fn refuse<T>(&mut self, field: &str, reason: impl Into<String>) -> Option<T> {
        let key = if field.is_empty() { self.key.clone() } else { format!("{}.{field}", self.key) };
        self.problems.add(ConfigProblem::for_key(self.at, &key, reason));
        None
    }

    fn refuse_type<T>(&mut self, field: &str, what: &str, found: &Json) -> Option<T> {
        self.refuse(
            field,
            format!("expected {what}, found {}", quote_shortened(&found.to_string())),
        )
    }

    /// One mock; `None` after a problem was added.
    fn read_mock(&mut self, json: &Json) -> Option<MockResponse> {
        let Json::Object(map) = json else {
            return self.refuse_type("", "an object such as `{\"url\": \"*\"}`", json);
        };
        let known_before = self.problems.0.len();
        for name in map.keys().filter(|name| !MOCK_FIELDS.contains(&name.as_str())) {
            let other = format!("known are {}", MOCK_FIELDS.join(", "));
            self.refuse::<()>(
                name,
                format!("unknown key{}", suggest_names_or(name, MOCK_FIELDS, &other)),
            );
        }
        let given = |name: &str| map.get(name).filter(|value| !value.is_null());
        let url = match given("url") {
            Some(Json::String(url)) if !url.trim().is_empty() => Some(url.trim().to_owned()),
            Some(other) => self.refuse_type("url", "a URL, with `*` for any text", other),
            None => self.refuse("url", "it is missing: write the URL that it answers, `*` for all"),
        };
        let method = match given("method") {
            Some(Json::String(method)) if is_method(method) => Some(method.to_ascii_uppercase()),
            Some(other) => self.refuse_type("method", "a method such as `GET`", other),
            None => None,
        };
        let status = match given("status") {
            Some(number) => number
                .as_u64()
                .and_then(|status| u16::try_from(status).ok())
                .filter(|status| (100..=599).contains(status))
                .or_else(|| self.refuse_type("status", "a number from 100 to 599", number)),
            None => Some(200),
        };
        let mut headers = self.read_headers(given("headers"));
        let body = self.read_body(given("json"), given("body"), given("body_base64"));
        let has_type = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if given("json").is_some() && !has_type {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let delay_ms = self.read_count("delay_ms", given("delay_ms"), MAX_DELAY_MS).unwrap_or(0);
        let times =
            self.read_count("times", given("times"), u32::MAX.into()).map(|times| times as u32);
        if self.problems.0.len() > known_before {
            return None;
        }
        Some(MockResponse {
            method,
            url: url?,
            status: status?,
            headers,
            body: body?,
            delay_ms,
            times,
        })
    }

    fn read_headers(&mut self, json: Option<&Json>) -> Vec<(String, String)> {
        let Some(json) = json else { return Vec::new() };
        let Json::Object(map) = json else {
            self.refuse_type::<()>("headers", "an object of names and values", json);
            return Vec::new();
        };
        let mut headers = Vec::new();
        for (name, value) in map {
            let field = format!("headers.{name}");
            let text = match value {
                Json::String(text) => Some(text.clone()),
                Json::Number(number) => Some(number.to_string()),
                other => self.refuse_type(&field, "text", other),
            };
            match text {
                Some(text) if is_header(name, &text) => {
                    headers.push((name.clone(), text));
                }
                Some(_) => {
                    self.refuse::<()>(&field, "this is no header that can be sent");
                }
                None => {}
            }
        }
        headers
    }

    fn read_body(
        &mut self,
        json: Option<&Json>,
        text: Option<&Json>,
        base64: Option<&Json>,
    ) -> Option<Vec<u8>> {
        match (json, text, base64) {
            (None, None, None) => Some(Vec::new()),
            (Some(json), None, None) => Some(json.to_string().into_bytes()),
            (None, Some(Json::String(text)), None) => Some(text.clone().into_bytes()),
            (None, Some(other), None) => self.refuse_type("body", "text", other),
            (None, None, Some(Json::String(text))) if decode_base64(text).is_some() => {
                decode_base64(text)
            }
            (None, None, Some(other)) => {
                self.refuse_type("body_base64", "bytes in base64, with padding", other)
            }
            _ => self.refuse("", "give only one of `json`, `body` and `body_base64`"),
        }
    }

    fn read_count(&mut self, field: &str, json: Option<&Json>, most: u64) -> Option<u64> {
        let json = json?;
        match json.as_u64().filter(|count| *count <= most) {
            Some(count) => Some(count),
            None => self.refuse_type(field, &format!("a whole number of at most {most}"), json),
        }
    }
}

pub(super) fn is_method(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic())
}

/// A line break would begin another header.
pub(super) fn is_header(name: &str, value: &str) -> bool {
    is_name(name) && !value.contains(['\r', '\n', '\0'])
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_needs_no_more_than_a_url() {
        let found = read_mocks(&json!({"url": "https://api.example.com/*"}), "x").unwrap();
        let plain = MockResponse {
            method: None,
            url: "https://api.example.com/*".to_owned(),
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
            delay_ms: 0,
            times: None,
        };
        assert_eq!(found, [plain]);
        assert_eq!(read_mocks(&json!([]), "x"), Ok(Vec::new()));
    }

    #[test]
    fn all_fields_of_an_answer_are_read() {
        let found = read_mocks(
            &json!([
                {"method": "get", "url": "*", "status": 503, "json": {"a": [1]}, "delay_ms": 20,
                 "headers": {"Retry-After": 3}, "times": 2},
                {"url": "*", "body_base64": "/w=="},
            ]),
            "x",
        )
        .unwrap();
        let first = &found[0];
        assert_eq!((first.method.as_deref(), first.status), (Some("GET"), 503));
        assert_eq!((first.delay_ms, first.times), (20, Some(2)));
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            first.headers,
            [header("Retry-After", "3"), header("Content-Type", "application/json")]
        );
        assert_eq!(first.body, br#"{"a":[1]}"#);
        assert_eq!(found[1].body, [255]);
    }

    #[test]
    fn every_error_is_reported_with_its_place() {
        let wrong = json!([
            {"method": "GET"},
            {"url": "*", "status": 99, "times": -1, "colour": 1, "headers": {"A": "b\r\nC: d"}},
            {"url": "*", "body": "a", "json": 1},
            {"url": "*", "body_base64": "?"},
            7,
        ]);
        insta::assert_snapshot!(read_mocks(&wrong, "p.json[0]").unwrap_err(), @"
        p.json[0]: NETWORK_MOCKS[0].url: it is missing: write the URL that it answers, `*` for all
        p.json[0]: NETWORK_MOCKS[1].colour: unknown key; known are method, url, status, \
            headers, json, body, body_base64, delay_ms, times
        p.json[0]: NETWORK_MOCKS[1].status: expected a number from 100 to 599, found `99`
        p.json[0]: NETWORK_MOCKS[1].headers.A: this is no header that can be sent
        p.json[0]: NETWORK_MOCKS[1].times: expected a whole number of at most 4294967295, found `-1`
        p.json[0]: NETWORK_MOCKS[2]: give only one of `json`, `body` and `body_base64`
        p.json[0]: NETWORK_MOCKS[3].body_base64: expected bytes in base64, with padding, \
            found `\"?\"`
        p.json[0]: NETWORK_MOCKS[4]: expected an object such as `{\"url\": \"*\"}`, found `7`
        ");
    }
}
