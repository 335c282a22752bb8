//! `menace roi`: rankings, forecasts and how far these can be trusted, from a history.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde::Serialize;

use menace_loop::run::{calibrated, of_last_selection};
use menace_track::stats::forecast::{Forecast, LINE_FROM, Method, Outlook};
use menace_track::stats::truth::Calibrated;
use menace_track::{History, SYNERGY_ROI, Tracker, rank_modules, synergy_metric};

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::output;
use crate::render::units::counted;
use crate::suggest::{did_you_mean, nearest};

/// Look at a history: who gained, where it leads, and how far that can be trusted.
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
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Modules by risk-adjusted ROI, best first.
    Rank(Which),
    /// How close forecasts were to what came: 1 is perfect.
    Reliability(Reliability),
    /// Where ROI leads in the next cycle, and the same calibrated by what came of earlier forecasts.
    Forecast(Ahead),
    /// Where a metric leads in the next cycle.
    PredictMetric(PredictMetric),
}

#[derive(Debug, Args)]
struct Which {
    /// The history, or the directory that it lies in.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Args)]
struct Ahead {
    #[command(flatten)]
    which: Which,

    /// Of synergy (`synergy_roi`) instead of ROI.
    #[arg(long)]
    synergy: bool,
}

#[derive(Debug, Args)]
struct Reliability {
    #[command(flatten)]
    which: Which,

    /// Of a metric instead of ROI.
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,

    /// Only the last forecasts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    window: Option<u32>,
}

#[derive(Debug, Args)]
struct PredictMetric {
    #[command(flatten)]
    which: Which,

    /// `resilience`, `synergy_roi`, `hostile_input:reliability` …; synergy metrics also without `synergy_`,
    /// where no other metric has that name.
    #[arg(value_name = "METRIC")]
    metric: String,
}

#[derive(Debug, Serialize)]
struct Told<'a> {
    what: &'a str,
    predicted: f64,
    /// None where there is too little to tell, as is the confidence.
    interval: Option<(f64, f64)>,
    confidence: Option<f64>,
    method: Method,
    /// Values that it rests on.
    samples: usize,
    /// Brought closer to what came of earlier forecasts, where there is a model for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibrated: Option<Calibrated>,
}

impl RoiCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        Context::new(global, Flags::new())?;
        match self.action {
            Action::Rank(which) => {
                let rows = rank_modules(&which.history()?);
                match which.format {
                    Format::Json => output::print_json(&rows)?,
                    Format::Table => {
                        let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
                        output::print(&lines)?;
                    }
                }
                Ok(())
            }
            Action::Reliability(asked) => asked.print(),
            Action::Forecast(Ahead { which, synergy }) => {
                let mut tracker = Tracker::new(of_last_selection(which.history()?));
                let outlook = Outlook::default();
                if synergy {
                    which.print(SYNERGY_ROI, tracker.predict_synergy(outlook).as_ref(), None)
                } else {
                    let ahead = tracker.forecast(outlook);
                    let model = data::calibration(&which.file);
                    let known =
                        model.and_then(|it| calibrated(&it, tracker.history(), ahead.as_ref()));
                    which.print("ROI", ahead.as_ref(), known)
                }
            }
            Action::PredictMetric(asked) => asked.print(),
        }
    }
}

/// A metric that was never measured has most likely been mistyped.
fn check(history: &History, metric: &str) -> Result<(), Failure> {
    let known = &history.metrics_history;
    if known.contains_key(metric) {
        return Ok(());
    }
    let hint = did_you_mean(&nearest(metric, known.keys().map(String::as_str), 3));
    Err(Failure::Request(anyhow!("the history has no metric `{metric}`{hint}")))
}

impl PredictMetric {
    fn print(&self) -> Result<(), Failure> {
        let Self { which, metric } = self;
        let mut tracker = Tracker::new(of_last_selection(which.history()?));
        let synergy = synergy_metric(metric);
        let known = &tracker.history().metrics_history;
        if !known.contains_key(metric) && known.contains_key(&synergy) {
            let found = tracker.predict_synergy_metric(metric, Outlook::default());
            return which.print(&synergy, found.as_ref(), None);
        }
        check(tracker.history(), metric)?;
        which.print(metric, tracker.predict_metric(metric, Outlook::default()).as_ref(), None)
    }
}

impl Which {
    fn history(&self) -> Result<History, Failure> {
        data::history(&self.file)
    }

    fn print(
        &self,
        what: &str,
        found: Option<&Forecast>,
        calibrated: Option<Calibrated>,
    ) -> Result<(), Failure> {
        let Some((found, next)) = found.and_then(|one| Some((one, one.points.first()?))) else {
            let nothing = anyhow!("the history has no {what} yet: `menace run` makes one");
            return Err(Failure::Request(nothing));
        };
        let told = Told {
            what,
            predicted: next.mean,
            interval: next.interval,
            confidence: next.interval.map(|_| found.confidence),
            method: found.method,
            samples: found.samples,
            calibrated,
        };
        match self.format {
            Format::Json => output::print_json(&told)?,
            Format::Table => {
                let (predicted, samples) = (told.predicted, counted(told.samples, "cycle"));
                let line = match told.interval {
                    Some((low, high)) => format!(
                        "{what} forecast: {predicted:.3} ({low:.3} to {high:.3}), from {samples}\n"
                    ),
                    None => format!(
                        "{what}: too little to tell where it leads; the mean of {samples} is \
                         {predicted:.3}, and {LINE_FROM} are needed\n"
                    ),
                };
                output::print(&(line + &calibrated.map(in_words).unwrap_or_default()))?;
            }
        }
        Ok(())
    }
}

fn in_words(Calibrated { value, low_confidence }: Calibrated) -> String {
    let doubt = if low_confidence { "; of low confidence" } else { "" };
    format!("  calibrated by what came of earlier forecasts: {value:.3}{doubt}\n")
}

impl Reliability {
    fn print(&self) -> Result<(), Failure> {
        let tracker = Tracker::new(self.which.history()?);
        let metric = self.metric.as_deref();
        let window = self.window.map(|window| window as usize);
        let what = metric.unwrap_or("ROI");
        let Some(reliability) = tracker.reliability(metric, window) else {
            metric.map_or(Ok(()), |metric| check(tracker.history(), metric))?;
            // The first that could be compared is of the cycle after those that a line needs.
            let cycles = LINE_FROM + 1;
            return Err(Failure::Request(anyhow!(
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
        match self.which.format {
            Format::Json => output::print_json(&serde_json::json!({
                "what": what,
                "reliability": reliability,
                "mae": mae,
                "samples": compared.min(window.unwrap_or(compared)),
            }))?,
            Format::Table => output::print(&format!("{what} reliability: {reliability:.3}\n"))?,
        }
        Ok(())
    }
}
