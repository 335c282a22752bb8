//! Sends a prompt to a language model over the chat-completions protocol.
//!
//! The only client of a model service in the workspace. It is a crate of its own so that only the
//! binary links an HTTP client. Providers with other protocols belong here. Callers write prompts
//! and use the answers: see `menace_loop::inputs`.
//!
//! Invariant: an answer is untrusted text, bounded in size and time, and never acted upon here.

mod protocol;

use std::time::Duration;

use protocol::{ChatErrorBody, ChatRequest, ChatResponse};

/// The longest answer that is read.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Generating an answer may take this long.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(2);
/// Retries when the service is overloaded or unreachable.
const MAX_RETRIES: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("{url} cannot be reached: {reason}; check OPENAI_BASE_URL")]
    Unreachable { url: String, reason: String },
    #[error("{url} refuses the key ({status}); check OPENAI_API_KEY")]
    Key { url: String, status: u16 },
    #[error("{url} answered {status}: {reason}")]
    Status { url: String, status: u16, reason: String },
    #[error("{url} answered what is no chat completion: {reason}")]
    Answer { url: String, reason: String },
}

impl ChatError {
    /// Whether a retry may succeed.
    fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Key { .. } | Self::Answer { .. } => false,
        }
    }
}

/// A client for one model of a service.
#[derive(Debug)]
pub struct Chat {
    agent: ureq::Agent,
    url: String,
    key: Option<String>,
    model: String,
    first_pause: Duration,
}

impl Chat {
    /// `base` is the address including its version: `https://api.openai.com/v1`.
    pub fn new(base: &str, key: Option<&str>, model: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(REQUEST_TIMEOUT))
            // The body of an error response has the reason.
            .http_status_as_error(false)
            .build();
        Self {
            agent: config.new_agent(),
            url: format!("{}/chat/completions", base.trim_end_matches('/')),
            key: key.map(str::to_owned),
            model: model.to_owned(),
            first_pause: FIRST_PAUSE,
        }
    }

    /// The first pause before a retry; each one after it is twice as long.
    #[must_use]
    pub fn with_first_pause(self, first_pause: Duration) -> Self {
        Self { first_pause, ..self }
    }

    pub fn model(&self) -> &str {
        &self.model
    }

    /// The answer to one message.
    pub fn complete(&self, message: &str) -> Result<String, ChatError> {
        let mut pause = self.first_pause;
        for retry in 0.. {
            match self.send(message) {
                Err(error) if error.is_transient() && retry < MAX_RETRIES => {
                    tracing::debug!("retry {}: {error}", retry + 1);
                    std::thread::sleep(pause);
                    pause *= 2;
                }
                other => return other,
            }
        }
        unreachable!("the last retry returns")
    }

    fn send(&self, message: &str) -> Result<String, ChatError> {
        let unreachable = |error: ureq::Error| ChatError::Unreachable {
            url: self.url.clone(),
            reason: error.to_string(),
        };
        let mut request = self.agent.post(&self.url);
        if let Some(key) = &self.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let body = ChatRequest::new(&self.model, message);
        let mut response = request.send_json(&body).map_err(unreachable)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string();
        let body = body.map_err(unreachable)?;
        let url = self.url.clone();
        match status {
            200 => {
                let answer: Result<ChatResponse, _> = serde_json::from_str(&body);
                let answer = answer.map_err(|error| error.to_string());
                answer
                    .and_then(|answer| answer.text().ok_or_else(|| "no text in it".to_owned()))
                    .map_err(|reason| ChatError::Answer { url, reason })
            }
            401 | 403 => Err(ChatError::Key { url, status }),
            _ => {
                Err(ChatError::Status { url, status, reason: ChatErrorBody::describe_error(&body) })
            }
        }
    }
}
