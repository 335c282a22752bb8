//! Flags of `menace run` that decide when a run has converged, and where decisions are logged.
//!
//! They are settings, too, declared in `menace-settings`.

use std::path::PathBuf;

use clap::Args;

use crate::context::FlagValues;

const HELP_HEADING: &str = "When to stop";

#[derive(Debug, Args)]
pub(super) struct ConvergenceArgs {
    /// Cycles in a row without gain before a module or the run has converged (`ROI_CYCLES`;
    /// default: 3).
    #[arg(long, help_heading = HELP_HEADING, value_name = "N")]
    roi_cycles: Option<String>,

    /// The same for synergy (`SYNERGY_CYCLES`; default: the length of its history, at least 3).
    #[arg(long, help_heading = HELP_HEADING, value_name = "N")]
    synergy_cycles: Option<String>,

    /// Distance that synergy has to stay within (`SYNERGY_THRESHOLD`; default: computed from the
    /// history).
    #[arg(long, help_heading = HELP_HEADING, value_name = "NUMBER")]
    synergy_threshold: Option<String>,

    /// Number of values that threshold is computed from (`SYNERGY_THRESHOLD_WINDOW`).
    #[arg(long, help_heading = HELP_HEADING, value_name = "N")]
    synergy_threshold_window: Option<String>,

    /// How much more the newest of them count (`SYNERGY_THRESHOLD_WEIGHT`).
    #[arg(long, help_heading = HELP_HEADING, value_name = "NUMBER")]
    synergy_threshold_weight: Option<String>,

    /// Gain per unit of entropy below which a module is complete (`ENTROPY_THRESHOLD`).
    #[arg(long, help_heading = HELP_HEADING, value_name = "NUMBER")]
    entropy_threshold: Option<String>,

    /// Entropy ratios in a row under `ENTROPY_PLATEAU_THRESHOLD` before a module is complete
    /// (`ENTROPY_PLATEAU_CONSECUTIVE`).
    #[arg(long, help_heading = HELP_HEADING, visible_alias = "consecutive", value_name = "N")]
    entropy_plateau_consecutive: Option<String>,

    /// Add a line of JSON to this file after each cycle: forecast, interval, thresholds.
    #[arg(long, help_heading = HELP_HEADING, value_name = "FILE")]
    pub(super) forecast_log: Option<PathBuf>,

    /// Run the micro-pilot of every module in the borderline bucket, also with
    /// `MICROPILOT_MODE=queue`.
    #[arg(long, help_heading = HELP_HEADING)]
    pub(super) process_borderline: bool,
}

impl ConvergenceArgs {
    /// The flags that are set, as the settings take them.
    pub(super) fn flags(&self) -> FlagValues {
        let Self {
            roi_cycles,
            synergy_cycles,
            synergy_threshold,
            synergy_threshold_window,
            synergy_threshold_weight,
            entropy_threshold,
            entropy_plateau_consecutive,
            forecast_log: _,
            process_borderline: _,
        } = self;
        [
            ("--roi-cycles", roi_cycles),
            ("--synergy-cycles", synergy_cycles),
            ("--synergy-threshold", synergy_threshold),
            ("--synergy-threshold-window", synergy_threshold_window),
            ("--synergy-threshold-weight", synergy_threshold_weight),
            ("--entropy-threshold", entropy_threshold),
            ("--entropy-plateau-consecutive", entropy_plateau_consecutive),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)))
        .collect()
    }
}
