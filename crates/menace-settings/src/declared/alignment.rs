//! The check that changes stay in people's interest.

use std::path::PathBuf;

use crate::Probability;
use crate::group::group;

group! {
    /// The check that changes stay in people's interest.
    pub struct AlignmentSettings = "Alignment" {
        /// Look at every change.
        enabled: bool = "ENABLE_ALIGNMENT_FLAGGER".at_least("1").default("1").planned();

        /// The score from which a change raises a warning.
        warning_threshold: Probability = "ALIGNMENT_WARNING_THRESHOLD"
            .user().default("0.5").planned();

        /// The score from which a change must be looked into at once.
        failure_threshold: Probability = "ALIGNMENT_FAILURE_THRESHOLD"
            .user().default("0.9").planned();

        /// Metrics of a known good state, to compare changes with.
        baseline_metrics_path: Option<PathBuf> = "ALIGNMENT_BASELINE_METRICS_PATH".user().planned();
    }
}
