//! The messages of the protocol, as far as they are used.

use serde::{Deserialize, Serialize};

/// How much of an answer that cannot be parsed is shown in the error.
const MAX_ERROR_BODY_CHARS: usize = 200;

#[derive(Debug, Serialize)]
pub(crate) struct ChatRequest<'a> {
    model: &'a str,
    messages: [ChatMessage<'a>; 1],
    /// 0, so that equal prompts get the most likely answer.
    temperature: f64,
}

#[derive(Debug, Serialize)]
struct ChatMessage<'a> {
    role: &'a str,
    content: &'a str,
}

impl<'a> ChatRequest<'a> {
    pub(crate) fn new(model: &'a str, content: &'a str) -> Self {
        Self { model, messages: [ChatMessage { role: "user", content }], temperature: 0.0 }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChatResponse {
    choices: Vec<ChatChoice>,
}

#[derive(Debug, Deserialize)]
struct ChatChoice {
    message: ReplyMessage,
}

#[derive(Debug, Deserialize)]
struct ReplyMessage {
    content: Option<String>,
}

impl ChatResponse {
    pub(crate) fn text(self) -> Option<String> {
        self.choices.into_iter().next()?.message.content
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChatErrorBody {
    error: ChatErrorDetail,
}

#[derive(Debug, Deserialize)]
struct ChatErrorDetail {
    message: String,
}

impl ChatErrorBody {
    /// The message of an error response, or the beginning of the response.
    pub(crate) fn describe_error(body: &str) -> String {
        let parsed: Result<Self, _> = serde_json::from_str(body);
        let text = parsed.map_or_else(|_| body.to_owned(), |body| body.error.message);
        text.trim().chars().take(MAX_ERROR_BODY_CHARS).collect()
    }
}
