//! How modules work together: convergence, weights, exporter.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::group::group;
use crate::{PortNumber, Probability};

group! {
    /// How modules work together: convergence, weights, exporter.
    pub struct SynergySettings = "Synergy" {
        /// Cycles in a row before synergy counts as converged. Unset, the length of the history but
        /// at least three.
        cycles: Option<NonZeroU64> = "SYNERGY_CYCLES".repository().flags(&["--synergy-cycles"]);

        /// A fixed threshold for convergence: how far from zero synergy may be. Unset, how far it
        /// may be from its own mean follows from how far predictions of it were off, or from its
        /// last values where there are no predictions.
        threshold: Option<f64> = "SYNERGY_THRESHOLD".repository().flags(&["--synergy-threshold"]);

        /// How many recent samples the adaptive threshold looks at.
        threshold_window: Option<NonZeroU64> = "SYNERGY_THRESHOLD_WINDOW".repository()
            .flags(&["--synergy-threshold-window"]);

        /// How much more the newest of them count.
        threshold_weight: Option<f64> = "SYNERGY_THRESHOLD_WEIGHT".repository()
            .flags(&["--synergy-threshold-weight"]);

        /// How sure the checks for convergence must be.
        confidence: Probability = "SYNERGY_CONFIDENCE".repository().default("0.95");

        /// The window of the moving average, of the rolling correlation and of the test for
        /// stationarity, which looks at twelve values at least. Unset, all cycles that are looked
        /// at.
        ma_window: Option<NonZeroU64> = "SYNERGY_MA_WINDOW".repository();

        /// How sure the test for stationarity (Dickey and Fuller) must be.
        stationarity_confidence: Probability = "SYNERGY_STATIONARITY_CONFIDENCE"
            .repository().default("0.95");

        /// How sure the test for equal variance (Levene) must be.
        variance_confidence: Probability = "SYNERGY_VARIANCE_CONFIDENCE"
            .repository().default("0.95");

        /// Train the synergy weights in the background.
        auto_train: bool = "AUTO_TRAIN_SYNERGY".user().default("0").recommended("1").planned();

        /// Time between two trainings.
        auto_train_interval: Duration = "AUTO_TRAIN_INTERVAL"
            .user().default("600").recommended("600")
            .planned();

        /// Offer the synergy values to Prometheus.
        export_metrics: bool = "EXPORT_SYNERGY_METRICS".user().default("0").recommended("1");

        /// The port of that exporter.
        metrics_port: PortNumber = "SYNERGY_METRICS_PORT"
            .user().default("8003").recommended("8003");

        /// Time between two checks that an exporter of its own process still answers. The exporter
        /// of today is part of the run, and ends with it.
        exporter_check_interval: Duration = "SYNERGY_EXPORTER_CHECK_INTERVAL".user().default("10")
            .planned();
    }
}
