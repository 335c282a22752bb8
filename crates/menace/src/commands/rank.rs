//! `menace rank`: scenarios of several runs, best first.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde::Serialize;

use menace_model::suggest_names_or;
use menace_track::{
    NamedHistory, RoiHistory, SynergyRankRow, rank_scenario_synergy, rank_scenarios, rank_synergy,
};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;

/// Compare scenarios over several runs.
///
/// A run is given as its history (`roi_history.json`) or as the directory that it lies in.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace rank scenarios run1 run2/roi_history.json
  menace rank synergy run1 run2 --metric security_score
  menace rank scenario-synergy run1 run2 --metric revenue --format json")]
pub(crate) struct RankCommand {
    #[command(subcommand)]
    action: RankAction,
}

#[derive(Debug, Subcommand)]
enum RankAction {
    /// By cumulative ROI, with the last `security_score`.
    Scenarios(RankHistoriesArgs),
    /// By what modules were worth together beyond what they were worth alone.
    Synergy(RankSynergyArgs),
    /// The same, by scenario.
    ScenarioSynergy(RankSynergyArgs),
}

#[derive(Debug, Args)]
struct RankHistoriesArgs {
    /// Histories, or directories that hold one.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

#[derive(Debug, Args)]
struct RankSynergyArgs {
    #[command(flatten)]
    histories: RankHistoriesArgs,

    /// Rank by `synergy_<metric>`.
    #[arg(long, value_name = "METRIC", default_value = "roi")]
    metric: String,
}

impl RankHistoriesArgs {
    fn read(&self) -> Result<Vec<(String, RoiHistory)>, CommandError> {
        data_dir::read_histories(&self.runs)
    }

    fn print<T: Serialize + ToString>(
        &self,
        rows: &[T],
        nothing: &str,
    ) -> Result<(), CommandError> {
        match self.format {
            OutputFormat::Json => output::print_json(&rows)?,
            OutputFormat::Table if rows.is_empty() => output::print(&format!("{nothing}\n"))?,
            OutputFormat::Table => {
                let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
                output::print(&lines)?;
            }
        }
        Ok(())
    }
}

fn ranked_runs(histories: &[(String, RoiHistory)]) -> Vec<NamedHistory<'_>> {
    histories.iter().map(|(name, history)| NamedHistory { name, history }).collect()
}

/// If a run has other synergy metrics but not this one, the name was probably mistyped.
fn check_metric<'a>(
    rows: &[SynergyRankRow],
    metric: &str,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), CommandError> {
    let known: BTreeSet<&str> = known.filter_map(|name| name.strip_prefix("synergy_")).collect();
    if !rows.is_empty() || known.is_empty() {
        return Ok(());
    }
    let typed = metric.strip_prefix("synergy_").unwrap_or(metric);
    let hint = suggest_names_or(typed, known, "");
    Err(CommandError::Request(anyhow!("nothing has recorded `synergy_{typed}`{hint}")))
}

impl RankCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        CommandContext::new(global, FlagValues::new())?;
        match self.action {
            RankAction::Scenarios(asked) => {
                let histories = asked.read()?;
                asked.print(&rank_scenarios(&ranked_runs(&histories)), "No scenario was recorded.")
            }
            RankAction::Synergy(RankSynergyArgs { histories: asked, metric }) => {
                let histories = asked.read()?;
                let rows = rank_synergy(&ranked_runs(&histories), &metric);
                let known =
                    histories.iter().flat_map(|(_, history)| history.metrics_history.keys());
                check_metric(&rows, &metric, known.map(String::as_str))?;
                asked.print(&rows, "No run has recorded synergy.")
            }
            RankAction::ScenarioSynergy(RankSynergyArgs { histories: asked, metric }) => {
                let histories = asked.read()?;
                let rows = rank_scenario_synergy(&ranked_runs(&histories), &metric);
                let entries = histories.iter().flat_map(|(_, history)| &history.scenario_synergy);
                let metrics = entries.flat_map(|(_, entries)| entries);
                check_metric(
                    &rows,
                    &metric,
                    metrics.flat_map(|one| one.iter().map(|(name, _)| name)),
                )?;
                asked.print(&rows, "No scenario has recorded synergy.")
            }
        }
    }
}
