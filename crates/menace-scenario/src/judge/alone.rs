//! What a call in trouble is compared with: the same one in peace, as little of it as that takes.
//!
//! Outcomes are kept by the ten thousands until all trouble is over, and are large.

use menace_model::{Outcome, Verdict};

use super::is_refusal;

/// What came of a call that nothing troubled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alone {
    pub verdict: Verdict,
    /// Equal for equal results.
    pub hash: Option<String>,
    /// The section raised, on purpose.
    pub(super) is_refusal: bool,
    /// Equal results look equal: they hold no addresses and the like.
    pub(super) is_comparable: bool,
    /// Files that it left changed.
    pub(crate) has_touched: bool,
    /// Those of them that last, with the hash of what is in them: path and hash.
    pub(super) written: Box<[(String, String)]>,
}

impl From<&Outcome> for Alone {
    fn from(outcome: &Outcome) -> Self {
        let value = outcome.value.as_ref();
        let touched = &outcome.files.touched;
        let lasting = touched.iter().filter(|file| !file.path.starts_with("/tmp"));
        Self {
            verdict: outcome.verdict,
            hash: value.and_then(|value| value.hash.clone()),
            is_refusal: is_refusal(outcome),
            is_comparable: value.is_none_or(|value| value.value.is_some()),
            has_touched: !touched.is_empty(),
            written: lasting
                .filter_map(|file| Some((file.path.clone(), file.hash.clone()?)))
                .collect(),
        }
    }
}
