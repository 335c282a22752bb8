//! `menace synergy`: what modules are worth together beyond what they are worth alone.

mod dashboard;
mod exporter;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use menace_track::{SynergySummary, summarise_synergy};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
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
    action: SynergyAction,
}

#[derive(Debug, Subcommand)]
enum SynergyAction {
    /// The latest synergy values and their exponential moving averages.
    Metrics(SynergyMetricsArgs),
    /// Offer the latest values to Prometheus, at /metrics; /health says whether it answers.
    Exporter(exporter::SynergyExporterCommand),
    /// Show the history in a browser.
    Dashboard(dashboard::SynergyDashboardCommand),
}

#[derive(Debug, Args)]
struct SynergyMetricsArgs {
    /// The history [default: that of the data directory].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Length of the moving average, in cycles.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    window: u16,

    /// Draw a bar for each.
    #[arg(long)]
    plot: bool,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl SynergyCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let metrics_args = match self.action {
            SynergyAction::Metrics(asked) => asked,
            SynergyAction::Exporter(exporter) => return exporter.run(&context),
            SynergyAction::Dashboard(dashboard) => return dashboard.run(&context),
        };
        let history = match &metrics_args.file {
            Some(file) => data_dir::read_history(file)?,
            None => data_dir::read_history(data_dir::checked_data_dir(&context)?)?,
        };
        let rows = summarise_synergy(&history, usize::from(metrics_args.window));
        match metrics_args.format {
            OutputFormat::Json => output::print_json(&rows)?,
            OutputFormat::Table if rows.is_empty() => {
                output::print(
                    "No synergy was recorded yet: a run needs two sections that return.\n",
                )?;
            }
            OutputFormat::Table => {
                let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
                output::print(&lines)?;
                if metrics_args.plot {
                    let bars: Vec<(&str, f64)> = rows
                        .iter()
                        .map(|SynergySummary { metric, latest, .. }| (metric.as_str(), *latest))
                        .collect();
                    output::print(&format!("\n{}", bars::draw_bars(&bars)))?;
                }
            }
        }
        Ok(())
    }
}
