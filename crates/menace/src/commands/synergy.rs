//! `menace synergy`: what modules are worth together beyond what they are worth alone.

mod dashboard;
mod exporter;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use menace_track::{SynergySummary, synergy_summaries};

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::{bars, output};

/// Look at synergy: the combined phase of runs against their sections alone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace synergy metrics
  menace synergy metrics --file sandbox_data/roi_history.json --window 4 --plot
  menace synergy exporter --history-file sandbox_data/synergy_history.db --port 8003
  menace synergy dashboard --file sandbox_data/synergy_history.db")]
pub(crate) struct SynergyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The latest synergy values and their exponential moving averages.
    Metrics(SynergyMetrics),
    /// Offer the latest values to Prometheus, at /metrics; /health says whether it answers.
    Exporter(exporter::Exporter),
    /// Show the history in a browser.
    Dashboard(dashboard::Dashboard),
}

#[derive(Debug, Args)]
struct SynergyMetrics {
    /// The history [default: that of the data directory].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Length of the moving average, in cycles.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    window: u16,

    /// Draw a bar for each.
    #[arg(long)]
    plot: bool,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl SynergyCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, Flags::new())?;
        let asked = match self.action {
            Action::Metrics(asked) => asked,
            Action::Exporter(exporter) => return exporter.run(&context),
            Action::Dashboard(dashboard) => return dashboard.run(&context),
        };
        let history = match &asked.file {
            Some(file) => data::history(file)?,
            None => data::history(data::directory(&context)?)?,
        };
        let rows = synergy_summaries(&history, usize::from(asked.window));
        match asked.format {
            Format::Json => output::print_json(&rows)?,
            Format::Table if rows.is_empty() => {
                output::print(
                    "No synergy was recorded yet: a run needs two sections that return.\n",
                )?;
            }
            Format::Table => {
                let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
                output::print(&lines)?;
                if asked.plot {
                    let bars: Vec<(&str, f64)> = rows
                        .iter()
                        .map(|SynergySummary { metric, latest, .. }| (metric.as_str(), *latest))
                        .collect();
                    output::print(&format!("\n{}", bars::draw(&bars)))?;
                }
            }
        }
        Ok(())
    }
}
