//! `menace roi`: rankings, forecasts and how far these can be trusted, from a history.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde::Serialize;

use menace_loop::run::calibrated;
use menace_model::{format_count, suggest_names_or};
use menace_track::comparison::keep_comparable;
use menace_track::stats::forecast::{
    ForecastMethod, ForecastOptions, MIN_LINE_SAMPLES, MetricForecast,
};
use menace_track::stats::forecast_calibrator::CalibratedPrediction;
use menace_track::{RoiHistory, SYNERGY_ROI, Tracker, rank_modules, synergy_metric_name};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;

/// Rank, forecast and check the ROI of a history.
///
/// FILE is a `roi_history.json` or the directory that it lies in.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace roi rank sandbox_data
  menace roi reliability sandbox_data/roi_history.json --metric security_score
  menace roi forecast sandbox_data
  menace roi predict-metric sandbox_data resilience")]
pub(crate) struct RoiCommand {
    #[command(subcommand)]
    action: RoiAction,
}

#[derive(Debug, Subcommand)]
enum RoiAction {
    /// Modules by risk-adjusted ROI, best first.
    Rank(RoiHistoryArgs),
    /// How close forecasts were to what came: 1 is perfect.
    Reliability(ReliabilityArgs),
    /// Where ROI leads in the next cycle, and the same calibrated by what came of earlier
    /// forecasts.
    Forecast(RoiForecastArgs),
    /// Where a metric leads in the next cycle.
    PredictMetric(PredictMetricArgs),
}

#[derive(Debug, Args)]
struct RoiHistoryArgs {
    /// The history, or the directory that it lies in.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
struct RoiForecastArgs {
    #[command(flatten)]
    history_args: RoiHistoryArgs,

    /// Of synergy (`synergy_roi`) instead of ROI.
    #[arg(long)]
    synergy: bool,
}

#[derive(Debug, Args)]
struct ReliabilityArgs {
    #[command(flatten)]
    history_args: RoiHistoryArgs,

    /// Of a metric instead of ROI.
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    /// Only the last forecasts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

#[derive(Debug, Args)]
struct PredictMetricArgs {
    #[command(flatten)]
    history_args: RoiHistoryArgs,

    /// `resilience`, `synergy_roi`, `hostile_input:reliability` …; synergy metrics also without
    /// `synergy_`, where no other metric has that name.
    #[arg(value_name = "METRIC")]
    metric: String,
}

#[derive(Debug, Serialize)]
struct RoiForecastJson<'a> {
    what: &'a str,
    predicted: f64,
    /// `None` when there are too few values for it, or for the confidence.
    interval: Option<(f64, f64)>,
    confidence: Option<f64>,
    method: ForecastMethod,
    /// Values that it rests on.
    samples: usize,
    /// Calibrated by the errors of earlier forecasts, if there is a model for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibrated: Option<CalibratedPrediction>,
}

impl RoiCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        CommandContext::new(global, FlagValues::new())?;
        match self.action {
            RoiAction::Rank(which) => {
                let rows = rank_modules(&which.read_history()?);
                match which.format {
                    OutputFormat::Json => output::print_json(&rows)?,
                    OutputFormat::Table => {
                        let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
                        output::print(&lines)?;
                    }
                }
                Ok(())
            }
            RoiAction::Reliability(asked) => asked.print(),
            RoiAction::Forecast(RoiForecastArgs { history_args: which, synergy }) => {
                let mut tracker = Tracker::new(keep_comparable(which.read_history()?));
                let outlook = ForecastOptions::default();
                if synergy {
                    which.print(SYNERGY_ROI, tracker.predict_synergy(outlook).as_ref(), None)
                } else {
                    let ahead = tracker.forecast_roi(outlook);
                    let model = data_dir::read_calibrator(&which.file);
                    let known =
                        model.and_then(|it| calibrated(&it, tracker.history(), ahead.as_ref()));
                    which.print("ROI", ahead.as_ref(), known)
                }
            }
            RoiAction::PredictMetric(asked) => asked.print(),
        }
    }
}

/// A metric that was never measured has most likely been mistyped.
fn check_metric(history: &RoiHistory, metric: &str) -> Result<(), CommandError> {
    let known = &history.metrics_history;
    if known.contains_key(metric) {
        return Ok(());
    }
    let hint = suggest_names_or(metric, known.keys().map(String::as_str), "");
    Err(CommandError::Request(anyhow!("the history has no metric `{metric}`{hint}")))
}

impl PredictMetricArgs {
    fn print(&self) -> Result<(), CommandError> {
        let Self { history_args: which, metric } = self;
        let mut tracker = Tracker::new(keep_comparable(which.read_history()?));
        let synergy = synergy_metric_name(metric);
        let known = &tracker.history().metrics_history;
        if !known.contains_key(metric) && known.contains_key(&synergy) {
            let found = tracker.predict_synergy_metric(metric, ForecastOptions::default());
            return which.print(&synergy, found.as_ref(), None);
        }
        check_metric(tracker.history(), metric)?;
        which.print(
            metric,
            tracker.predict_metric(metric, ForecastOptions::default()).as_ref(),
            None,
        )
    }
}

impl RoiHistoryArgs {
    fn read_history(&self) -> Result<RoiHistory, CommandError> {
        data_dir::read_history(&self.file)
    }

    fn print(
        &self,
        what: &str,
        found: Option<&MetricForecast>,
        calibrated: Option<CalibratedPrediction>,
    ) -> Result<(), CommandError> {
        let Some((found, next)) = found.and_then(|one| Some((one, one.points.first()?))) else {
            let nothing = anyhow!("the history has no {what} yet: `menace run` makes one");
            return Err(CommandError::Request(nothing));
        };
        let json = RoiForecastJson {
            what,
            predicted: next.mean,
            interval: next.interval,
            confidence: next.interval.map(|_| found.confidence),
            method: found.method,
            samples: found.samples,
            calibrated,
        };
        match self.format {
            OutputFormat::Json => output::print_json(&json)?,
            OutputFormat::Table => {
                let (predicted, samples) = (json.predicted, format_count(json.samples, "cycle"));
                let line = match json.interval {
                    Some((low, high)) => format!(
                        "{what} forecast: {predicted:.3} ({low:.3} to {high:.3}), from {samples}\n"
                    ),
                    None => format!(
                        "{what}: too little to tell where it leads; the mean of {samples} is \
                         {predicted:.3}, and {MIN_LINE_SAMPLES} are needed\n"
                    ),
                };
                output::print(&(line + &calibrated.map(format_calibrated).unwrap_or_default()))?;
            }
        }
        Ok(())
    }
}

fn format_calibrated(
    CalibratedPrediction { value, low_confidence }: CalibratedPrediction,
) -> String {
    let doubt = if low_confidence { "; of low confidence" } else { "" };
    format!("  calibrated by what came of earlier forecasts: {value:.3}{doubt}\n")
}

impl ReliabilityArgs {
    fn print(&self) -> Result<(), CommandError> {
        let tracker = Tracker::new(self.history_args.read_history()?);
        let metric = self.metric.as_deref();
        let window = self.window.map(|window| window as usize);
        let what = metric.unwrap_or("ROI");
        let Some(reliability) = tracker.reliability(metric, window) else {
            metric.map_or(Ok(()), |metric| check_metric(tracker.history(), metric))?;
            // The first forecast that can be compared is for the cycle after those that a line
            // needs.
            let cycles = MIN_LINE_SAMPLES + 1;
            return Err(CommandError::Request(anyhow!(
                "the history has no forecasts of {what} yet; it takes {cycles} cycles: \
                 `menace run --runs {cycles}`"
            )));
        };
        let history = tracker.history();
        let compared = match metric {
            Some(metric) => history.actual_metrics.get(metric).map_or(0, Vec::len),
            None => history.actual_roi.len(),
        };
        let mae = match metric {
            Some(metric) => tracker.rolling_mae_metric(metric, window),
            None => tracker.rolling_mae(window),
        };
        match self.history_args.format {
            OutputFormat::Json => output::print_json(&serde_json::json!({
                "what": what,
                "reliability": reliability,
                "mae": mae,
                "samples": compared.min(window.unwrap_or(compared)),
            }))?,
            OutputFormat::Table => {
                output::print(&format!("{what} reliability: {reliability:.3}\n"))?;
            }
        }
        Ok(())
    }
}
