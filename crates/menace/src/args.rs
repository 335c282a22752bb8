//! The command line: global options and subcommands. The arguments of a subcommand are in its file.

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::{
    analyze, dashboard, doctor, env, exec, explain, export_tests, failures, inputs, presets, rank,
    report, repro, roi, run, settings, show, synergy, trust,
};
use crate::exit;

/// Exercises every function of a Python repository and says what breaks, where, and how to see
/// it again.
#[derive(Debug, Parser)]
#[command(version, after_help = exit::EXIT_CODES_HELP, disable_help_subcommand = true)]
pub(crate) struct CommandLineArgs {
    #[command(flatten)]
    pub global: GlobalArgs,

    #[command(subcommand)]
    pub command: MenaceCommand,
}

/// Understood by every command.
#[derive(Debug, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Least important messages to show: error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL", help_heading = "Global options")]
    pub log_level: Option<String>,

    /// Show debug messages, whatever the level is.
    #[arg(long, global = true, help_heading = "Global options")]
    pub verbose: bool,

    /// Write messages to this file too; it is rotated at 1 MB, three older ones are kept.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub log_file: Option<String>,

    /// Read settings from this YAML file instead of `sandbox_settings.yaml`.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub settings_yaml: Option<String>,

    /// Directory for everything that a run keeps: histories, reports.
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub sandbox_data_dir: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MenaceCommand {
    Run(Box<run::RunCommand>),
    Report(report::ReportCommand),
    Dashboard(dashboard::DashboardCommand),
    Failures(failures::FailuresCommand),
    Show(show::ShowCommand),
    Repro(repro::ReproCommand),
    Shrink(repro::ShrinkCommand),
    ExportTests(export_tests::ExportTestsCommand),
    Explain(explain::ExplainCommand),
    Rank(rank::RankCommand),
    Roi(roi::RoiCommand),
    Synergy(synergy::SynergyCommand),
    Analyze(analyze::AnalyzeCommand),
    Exec(Box<exec::ExecCommand>),
    Inputs(inputs::InputsCommand),
    Presets(presets::PresetsCommand),
    Doctor(doctor::DoctorCommand),
    Settings(settings::SettingsCommand),
    Env(env::EnvCommand),
    Trust(trust::TrustCommand),
}

/// For people or for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Table,
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        CommandLineArgs::command().debug_assert();
    }
}
