//! When ROI counts as converged.

use std::num::NonZeroU64;

use crate::Probability;
use crate::group::group;

group! {
    /// When ROI counts as converged.
    pub struct ConvergenceSettings = "Convergence" {
        /// The change in ROI below which a run may end early; scaled by how reliable forecasts are.
        roi_tolerance: f64 = "SANDBOX_ROI_TOLERANCE"
            .repository().default("0.01").recommended("0.01");

        /// Cycles in a row below the threshold before ROI counts as converged.
        roi_cycles: Option<NonZeroU64> = "ROI_CYCLES".repository().flags(&["--roi-cycles"]);

        /// A fixed threshold for diminishing ROI. Unset, it follows from the history, between the
        /// tolerance and twice of it.
        roi_threshold: Option<f64> = "ROI_THRESHOLD".repository();

        /// How sure the test must be before a module is flagged.
        roi_confidence: Probability = "ROI_CONFIDENCE".repository().default("0.95");

        /// The gain in ROI per unit of entropy under which more entropy is not worth it. Unset, the
        /// threshold for diminishing ROI serves.
        entropy_threshold: Option<f64> = "ENTROPY_THRESHOLD"
            .repository().flags(&["--entropy-threshold"]);

        /// The entropy ratio under which a module counts as level. Unset, plateaus end nothing.
        entropy_plateau_threshold: Option<f64> = "ENTROPY_PLATEAU_THRESHOLD".repository();

        /// Samples in a row under that ratio before a module is done.
        entropy_plateau_consecutive: NonZeroU64 = "ENTROPY_PLATEAU_CONSECUTIVE"
            .repository().default("3")
            .flags(&["--entropy-plateau-consecutive", "--consecutive"]);
    }
}
