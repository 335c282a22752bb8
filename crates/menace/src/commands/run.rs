//! `menace run`: every section under every scenario, and what breaks.

mod convergence;
mod live_servers;
mod plugins;
mod presets;
mod progress;
mod report_file;
mod shrink_failures;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use menace_loop::SurveyedAnalysis;
use menace_loop::cycle::SectionFilter as _;
use menace_loop::inputs::PluginIsolation;
use menace_loop::run::{self, RunError, RunRequest, ScoringConfig};
use menace_model::{SectionKind, Seed, format_count};
use menace_sandbox::{CancelToken, SandboxBackend as _, SandboxSpec};
use menace_scenario::explore::ExploreBudget;
use menace_scenario::input::InputSettings;
use menace_settings::{Settings, parse_duration};
use menace_source::{Analysis, ScannerChoice};
use menace_store::{FailureReport, RunReport};

use crate::analysis;
use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::{CommandError, EXIT_FAILURES_FOUND};
use crate::external_inputs::{self, ExternalInputTarget};
use crate::finding_filter::FindingFilter;
use crate::interrupt;
use crate::isolation::{self, IsolationArgs};
use crate::preset_files::PresetLogArgs;
use crate::render::{output, run_table};
use crate::selection::{SectionSelection, SelectionArgs};

use convergence::ConvergenceArgs;
use live_servers::LiveServers;
use progress::RunProgressBar;
use shrink_failures::shrink_new_failures;

/// Call every function of a repository under every scenario and report what breaks, where, under
/// which condition, how bad it is, and how to reproduce it.
///
/// Each call sees a private copy of the repository and nothing of the host. Results go to the data
/// directory; the repository is not changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace run --repo .
  menace run --repo . --module 'shop/*.py' --budget 2m
  menace run --repo . --section 'shop.cart:Cart.*' --seed 7 --format json --out run.json
  menace run --repo . --preset-file mine.json --calls-per-cell 20
  menace run --repo . --runs 20 --roi-cycles 4 --forecast-log forecasts.jsonl
  menace run --repo . --dashboard-port 8002  # watch it in a browser
  menace run --repo . --fail-on new          # in CI: exit code 3 for new failures

docs/run.md explains the report, docs/metrics.md the numbers, docs/scenarios.md the scenarios.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunCommand {
    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// Cycles: the same plan again, with other inputs in the depth phase, until the numbers have
    /// converged [default: `SANDBOX_CYCLES`, else 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Presets from a JSON file; given more than once, cycles take the files in turns.
    #[arg(long, value_name = "FILE")]
    preset_file: Vec<PathBuf>,

    /// How many presets are generated when none are given [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    preset_count: Option<u32>,

    #[command(flatten)]
    log_args: PresetLogArgs,

    /// Inputs of a section under each scenario.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    calls_per_cell: u32,

    /// When to stop at the latest, such as `30s`, `5m` or `none`.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    budget: TimeBudgetArg,

    /// Leave out the depth phase: quicker, and finds less.
    #[arg(long)]
    no_depth: bool,

    /// Seed of everything random. The same seed, code, settings and data directory give the same
    /// calls.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    isolation: IsolationArgs,

    /// Call modules again that were left out because they had converged.
    #[arg(long)]
    reset_flags: bool,

    /// Continue from the last good copy of a history that cannot be read.
    #[arg(long)]
    recover: bool,

    #[command(flatten)]
    convergence: ConvergenceArgs,

    /// Serve the dashboard on this port during the run [default: `AUTO_DASHBOARD_PORT`, else none].
    #[arg(long, value_name = "PORT")]
    dashboard_port: Option<String>,

    /// Serve Prometheus metrics on this port during the run [default: `METRICS_PORT`, else none].
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<String>,

    /// Exit with code 3 for failures: for new ones, or for any.
    #[arg(long, value_enum, value_name = "WHICH")]
    fail_on: Option<FailOnArg>,

    /// Assess findings: prove each by its exported test in a plain interpreter, lift those of
    /// internal sections to public ones, and show only those that are likely to be bugs.
    #[arg(long)]
    assess: bool,

    #[command(flatten)]
    findings: FindingFilter,

    /// Show all findings, however unlikely, and also those that have the same root as another one.
    #[arg(long, requires = "assess")]
    all: bool,

    /// Write the report as JSON to this file, whatever is printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOnArg {
    New,
    Any,
}

/// `none`, or a span of time.
#[derive(Debug, Clone, Copy)]
struct TimeBudgetArg(Option<Duration>);

impl std::str::FromStr for TimeBudgetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "none" {
            return Ok(Self(None));
        }
        let time = parse_duration(text).ok().filter(|time| !time.is_zero());
        time.map(|time| Self(Some(time)))
            .ok_or_else(|| "expected a time such as `90s`, `5m` or `2h`, or `none`".to_owned())
    }
}

impl RunCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let started = Instant::now();
        let context = CommandContext::new(global, self.flags())?;
        let settings = &context.settings;
        if self.repo.as_deref() == Some("") {
            return Err(CommandError::Request(anyhow!("--repo is empty: give it a directory")));
        }
        if self.findings.is_set() && !self.assess {
            return Err(CommandError::Request(anyhow!(
                "--min-confidence has no effect without --assess: add it, or leave both out"
            )));
        }
        let sections = self.selection.read()?;
        // Mistakes in arguments and files are reported before the first call.
        let sources = presets::PresetSources::read(settings, &self.preset_file)?;
        let presets = sources.select(settings, self.preset_count, Seed(self.seed));
        presets::check_presets(&presets)?;
        data_dir::checked_data_dir(&context)?;
        for file in self.out.iter().chain(&self.convergence.forecast_log) {
            report_file::check_writable(file)?;
        }
        let scoring = ScoringConfig::read(settings).map_err(CommandError::request)?;
        let live_servers = LiveServers::start(settings)?;
        let cancel = CancelToken::default();
        interrupt::install_handler(&cancel)?;
        let analysis = analyze_repository(&context)?;
        self.check_selection(settings, &analysis, &sections)?;
        let interpreter = self.isolation.interpreter(&context)?;
        let backend = self.isolation.backend(&context, &interpreter, &cancel)?;
        // A spare sandbox for the first import.
        backend.prewarm(&SandboxSpec::new(None));
        let (major, minor, patch) = interpreter.version;
        let python = format!("{} {major}.{minor}.{patch}", interpreter.implementation);
        let isolation = self.isolation.plugin_isolation(interpreter, &cancel);
        let inputs = self.read_inputs(&context, &analysis, &sections, &isolation)?;
        let plugins = plugins::find_metric_plugins(&context, &isolation)?;
        let request = RunRequest {
            id: run::new_id(Seed(self.seed)),
            analysis: &analysis,
            backend: &backend,
            repository: &settings.general.repo_path,
            data_dir: &settings.general.data_dir,
            settings,
            presets: &presets,
            keywords: &settings.presets.profiles_by_keyword(),
            input_settings: &inputs,
            scoring: &scoring,
            sections: &sections,
            sections_text: self.selection.describe(),
            python,
            plugins: plugins.as_ref(),
            seed: Seed(self.seed),
            cycles: self.cycles(settings),
            calls_per_cell: self.calls_per_cell as usize,
            depth: (!self.no_depth).then(ExploreBudget::default),
            workers: self.isolation.workers(),
            cancel,
            deadline: self.budget.0.map(|time| started + time),
            reset_flags: self.reset_flags,
            recover: self.recover,
            forecast_log: self.convergence.forecast_log.as_deref(),
            assess_findings: self.assess,
            process_borderline: self.convergence.process_borderline,
        };
        let report = run_with_progress(&request, &live_servers)?;
        if let Ok(Some(store)) = data_dir::open_store(settings) {
            shrink_new_failures(&request, &store, &report, started.elapsed());
        }
        let page =
            live_servers::write_report_page(&live_servers.data_source, &request.id, &analysis);
        self.print(&report, page.as_deref(), global.sandbox_data_dir.as_deref())?;
        self.check_fail_on(&report)
    }

    /// Fails when there is no section to call.
    fn check_selection(
        &self,
        settings: &Settings,
        analysis: &Analysis,
        sections: &SectionSelection,
    ) -> Result<(), CommandError> {
        if analysis.modules.is_empty() {
            let repo = settings.general.repo_path.display();
            return Err(CommandError::Request(anyhow!(
                "there are no Python files below `{repo}` that .gitignore does not exclude; \
                 point --repo at a repository with some"
            )));
        }
        let mut modules = analysis.modules.iter();
        let is_any_selected = modules
            .any(|module| module.sections.iter().any(|section| sections.has(module, section)));
        if is_any_selected { Ok(()) } else { Err(self.selection.nothing_selected()) }
    }

    /// Inputs from files, and from plugins and a model where the settings name them.
    fn read_inputs(
        &self,
        context: &CommandContext,
        analysis: &Analysis,
        sections: &SectionSelection,
        isolation: &PluginIsolation,
    ) -> Result<InputSettings, CommandError> {
        let stubs = &context.settings.stubs;
        let mut inputs = presets::read_input_settings(&context.settings)?;
        if stubs.plugins.value.is_some() || stubs.model.value.is_some() {
            self.add_external_inputs(context, analysis, sections, isolation, &mut inputs)?;
        }
        Ok(inputs)
    }

    /// Adds the inputs of plugins and of a model for all selected sections.
    fn add_external_inputs(
        &self,
        context: &CommandContext,
        analysis: &Analysis,
        sections: &SectionSelection,
        isolation: &PluginIsolation,
        inputs: &mut InputSettings,
    ) -> Result<(), CommandError> {
        let surveyed = SurveyedAnalysis::new(analysis).map_err(CommandError::request)?;
        let facts = surveyed.facts();
        let sections = surveyed.sections().filter(|(module, section, _)| {
            section.kind != SectionKind::Module && sections.has(module, section)
        });
        let targets: Vec<ExternalInputTarget<'_>> = sections
            .map(|(module, section, hints)| ExternalInputTarget {
                target: format!("{}:{}", module.name, section.id.qualname()),
                section,
                hints,
            })
            .collect();
        external_inputs::ask_model(context, &targets, inputs)?;
        let isolation = || Ok(isolation.clone());
        external_inputs::apply_input_plugins(
            context, isolation, &facts, &targets, self.seed, inputs,
        )
    }

    fn flags(&self) -> FlagValues {
        let mut flags = self.convergence.flags();
        flags.extend(self.log_args.flags());
        let own_flags = [
            ("--repo", &self.repo),
            ("--dashboard-port", &self.dashboard_port),
            ("--metrics-port", &self.metrics_port),
        ];
        let own_flags =
            own_flags.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        flags.extend(own_flags.map(|(name, value)| (name.to_owned(), value)));
        flags
    }

    fn cycles(&self, settings: &Settings) -> u32 {
        let cycles = settings.general.cycles.get();
        self.runs.unwrap_or_else(|| u32::try_from(cycles).unwrap_or(u32::MAX))
    }

    fn print(
        &self,
        report: &RunReport,
        page: Option<&Path>,
        data: Option<&str>,
    ) -> Result<(), CommandError> {
        // Printed even when the file cannot be written.
        let written =
            self.out.as_ref().map_or(Ok(()), |file| report_file::write_report_json(file, report));
        match self.format {
            OutputFormat::Json => output::print_json(report)?,
            OutputFormat::Table => {
                let shown = |failure: &FailureReport| self.shows(failure);
                output::print(&run_table::render(report, &shown, data))?;
                if let Some(page) = page {
                    output::print(&format!("  {} shows all of it\n", page.display()))?;
                }
            }
        }
        written
    }

    fn shows(&self, failure: &FailureReport) -> bool {
        self.all || self.findings.shows_report(failure)
    }

    fn check_fail_on(&self, report: &RunReport) -> Result<(), CommandError> {
        let shown = report.failures.iter().filter(|failure| self.shows(failure));
        let wanted = shown.filter(|failure| match self.fail_on {
            None => false,
            Some(FailOnArg::New) => failure.new,
            Some(FailOnArg::Any) => true,
        });
        let (count, policy) = match (wanted.count(), self.fail_on) {
            (0, _) | (_, None) => return Ok(()),
            (count, Some(FailOnArg::New)) => (format_count(count, "new failure"), "new"),
            (count, Some(FailOnArg::Any)) => (format_count(count, "failure"), "any"),
        };
        // A CI log shows only the exit code otherwise.
        tracing::warn!("{count}: --fail-on {policy} ends with exit code {EXIT_FAILURES_FOUND}");
        Err(CommandError::FailuresFound)
    }
}

/// Runs all cycles with a progress bar.
fn run_with_progress(
    request: &RunRequest<'_>,
    live_servers: &LiveServers,
) -> Result<RunReport, CommandError> {
    let mut progress = RunProgressBar::new(request.deadline);
    let report = run::run(request, &mut progress);
    let failures = progress.failures();
    drop(progress);
    if request.cancel.is_cancelled() {
        report_interruption(request, live_servers, failures)?;
    }
    let report = report.map_err(command_error)?;
    if request.cancel.is_cancelled() { Err(CommandError::Interrupted) } else { Ok(report) }
}

/// Warns that the run was interrupted, and names what was stored.
fn report_interruption(
    request: &RunRequest<'_>,
    live_servers: &LiveServers,
    failures: usize,
) -> Result<(), CommandError> {
    // Opening the store marks the run as interrupted.
    drop(data_dir::open_store(request.settings)?);
    let page =
        live_servers::write_report_page(&live_servers.data_source, &request.id, request.analysis);
    let page = page.map_or(String::new(), |page| format!(", `{}` shows it", page.display()));
    tracing::warn!(
        "interrupted; all calls until now are kept, and {}: `menace failures` lists them{page}",
        format_count(failures, "failure")
    );
    Ok(())
}

/// Analyses with the best scanner that is installed: `security_score` depends on it.
fn analyze_repository(context: &CommandContext) -> Result<Analysis, CommandError> {
    analysis::analyze(context, ScannerChoice::Auto)
}

/// Distinguishes errors that the user can fix from errors of Menace.
fn command_error(error: RunError) -> CommandError {
    match error {
        RunError::Sandbox(error) => isolation::command_error(error),
        RunError::Survey(_) => CommandError::from(error),
        RunError::Presets(_)
        | RunError::Store(_)
        | RunError::Files(_)
        | RunError::Missing(_)
        | RunError::ColdStart(_)
        | RunError::Calibration(_)
        | RunError::OtherRepository { .. } => CommandError::request(error),
    }
}
