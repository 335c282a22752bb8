//! `menace rank`: scenarios of several runs, best first.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde::Serialize;

use menace_track::{History, Run, SynergyRow, rank_scenario_synergy, rank_scenarios, rank_synergy};

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::output;
use crate::suggest::{did_you_mean, nearest};

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
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// By cumulative ROI, with the last `security_score`.
    Scenarios(Histories),
    /// By what modules were worth together beyond what they were worth alone.
    Synergy(Synergy),
    /// The same, by scenario.
    ScenarioSynergy(Synergy),
}

#[derive(Debug, Args)]
struct Histories {
    /// Histories, or directories that hold one.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Args)]
struct Synergy {
    #[command(flatten)]
    histories: Histories,

    /// Rank by `synergy_<metric>`.
    #[arg(long, value_name = "METRIC", default_value = "roi")]
    metric: String,
}

impl Histories {
    fn read(&self) -> Result<Vec<(String, History)>, Failure> {
        data::histories(&self.runs)
    }

    fn print<T: Serialize + ToString>(&self, rows: &[T], nothing: &str) -> Result<(), Failure> {
        match self.format {
            Format::Json => output::print_json(&rows)?,
            Format::Table if rows.is_empty() => output::print(&format!("{nothing}\n"))?,
            Format::Table => {
                let lines: String = rows.iter().map(|row| row.to_string() + "\n").collect();
                output::print(&lines)?;
            }
        }
        Ok(())
    }
}

fn runs(histories: &[(String, History)]) -> Vec<Run<'_>> {
    histories.iter().map(|(name, history)| Run { name, history }).collect()
}

/// Where others were recorded and this one was not, it has most likely been mistyped.
fn check<'a>(
    rows: &[SynergyRow],
    metric: &str,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), Failure> {
    let known: BTreeSet<&str> = known.filter_map(|name| name.strip_prefix("synergy_")).collect();
    if !rows.is_empty() || known.is_empty() {
        return Ok(());
    }
    let typed = metric.strip_prefix("synergy_").unwrap_or(metric);
    let hint = did_you_mean(&nearest(typed, known, 3));
    Err(Failure::Request(anyhow!("nothing has recorded `synergy_{typed}`{hint}")))
}

impl RankCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        Context::new(global, Flags::new())?;
        match self.action {
            Action::Scenarios(asked) => {
                let histories = asked.read()?;
                asked.print(&rank_scenarios(&runs(&histories)), "No scenario was recorded.")
            }
            Action::Synergy(Synergy { histories: asked, metric }) => {
                let histories = asked.read()?;
                let rows = rank_synergy(&runs(&histories), &metric);
                let known =
                    histories.iter().flat_map(|(_, history)| history.metrics_history.keys());
                check(&rows, &metric, known.map(String::as_str))?;
                asked.print(&rows, "No run has recorded synergy.")
            }
            Action::ScenarioSynergy(Synergy { histories: asked, metric }) => {
                let histories = asked.read()?;
                let rows = rank_scenario_synergy(&runs(&histories), &metric);
                let entries = histories.iter().flat_map(|(_, history)| &history.scenario_synergy);
                let metrics = entries.flat_map(|(_, entries)| entries);
                check(&rows, &metric, metrics.flat_map(|one| one.iter().map(|(name, _)| name)))?;
                asked.print(&rows, "No scenario has recorded synergy.")
            }
        }
    }
}
