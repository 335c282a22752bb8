//! Which findings are shown: those that are likely enough to be bugs, each root once.

use clap::Args;
use menace_model::FindingAssessment;
use menace_store::{FailureRecord, FailureReport};

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FindingFilter {
    /// Show findings from this confidence on, from 0 to 1 [default: 0.4].
    #[arg(long, value_name = "N", value_parser = parse_confidence)]
    min_confidence: Option<f64>,
}

fn parse_confidence(text: &str) -> Result<f64, String> {
    let confidence = text.parse().ok().filter(|confidence| (0.0..=1.0).contains(confidence));
    confidence.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

impl FindingFilter {
    fn min_confidence(&self) -> f64 {
        self.min_confidence.unwrap_or(FindingAssessment::DEFAULT_MIN_CONFIDENCE)
    }

    /// Whether the user set a threshold.
    pub(crate) fn is_set(&self) -> bool {
        self.min_confidence.is_some()
    }

    pub(crate) fn shows_record(&self, failure: &FailureRecord) -> bool {
        failure.is_shown(self.min_confidence())
    }

    pub(crate) fn shows_report(&self, failure: &FailureReport) -> bool {
        failure.is_shown(self.min_confidence())
    }
}

/// The line about findings that are not shown.
pub(crate) fn describe_hidden(count: usize) -> Option<String> {
    let are = match count {
        0 => return None,
        1 => "1 finding is",
        _ => &format!("{count} findings are"),
    };
    Some(format!("{are} not shown (unlikely, or the same root): --all shows them"))
}
