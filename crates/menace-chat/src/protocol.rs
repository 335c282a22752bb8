//! The messages of the protocol, as far as they are used.

use serde::{Deserialize, Serialize};

/// Enough of an answer that nobody understands.
const SHOWN: usize = 200;

#[derive(Debug, Serialize)]
pub(crate) struct Question<'a> {
    model: &'a str,
    messages: [Message<'a>; 1],
    /// The likeliest answer each time.
    temperature: f64,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

impl<'a> Question<'a> {
    pub(crate) fn new(model: &'a str, content: &'a str) -> Self {
        Self { model, messages: [Message { role: "user", content }], temperature: 0.0 }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Said,
}

#[derive(Debug, Deserialize)]
struct Said {
    content: Option<String>,
}

impl Answer {
    pub(crate) fn text(self) -> Option<String> {
        self.choices.into_iter().next()?.message.content
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    error: Reason,
}

#[derive(Debug, Deserialize)]
struct Reason {
    message: String,
}

impl Refusal {
    /// What a service says when it refuses, or the beginning of whatever it said.
    pub(crate) fn of(body: &str) -> String {
        let refusal: Result<Self, _> = serde_json::from_str(body);
        let text = refusal.map_or_else(|_| body.to_owned(), |refusal| refusal.error.message);
        text.trim().chars().take(SHOWN).collect()
    }
}
