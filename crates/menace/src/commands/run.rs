//! `menace run`: every section under every scenario, and what breaks.

mod convergence;
mod out;
mod plugins;
mod presets;
mod progress;
mod seen;
mod smallest;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use menace_loop::Surveyed;
use menace_loop::cycle::Wanted as _;
use menace_loop::inputs::Isolation;
use menace_loop::report::RunReport;
use menace_loop::run::{self, Run, RunError, Yardstick};
use menace_model::{SectionKind, Seed};
use menace_sandbox::{Backend as _, Cancel, WarmSpec};
use menace_scenario::explore::Budget;
use menace_scenario::input::InputSettings;
use menace_settings::{Settings, parse_duration};
use menace_source::{Analysis, ScannerChoice};

use crate::args::{Format, Global};
use crate::cache;
use crate::commands::exec;
use crate::commands::presets::LogArgs;
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::{FOUND, Failure};
use crate::isolation::{self, IsolationArgs};
use crate::render::units::counted;
use crate::render::{output, run_table};
use crate::selection::{Selection, SelectionArgs};
use crate::stubs::{self, About};

use convergence::ConvergenceArgs;
use progress::View;
use smallest::Means;

/// Call every function of a repository under every scenario and tell what breaks, where, under which
/// condition, how bad it is, and how to see it again.
///
/// Each call sees a private copy of the repository and nothing of the host. What is kept goes to the
/// data directory; the repository is not changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace run --repo .
  menace run --repo . --module 'shop/*.py' --budget 2m
  menace run --repo . --section 'shop.cart:Cart.*' --seed 7 --format json --out run.json
  menace run --repo . --preset-file mine.json --calls-per-cell 20
  menace run --repo . --runs 20 --roi-cycles 4 --forecast-log forecasts.jsonl
  menace run --repo . --dashboard-port 8002  # look at it while it goes on
  menace run --repo . --fail-on new          # in CI: exit code 3 for failures that no run saw before

docs/run.md explains the report, docs/metrics.md the numbers, docs/scenarios.md the scenarios.")]
pub(crate) struct RunCommand {
    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// Cycles: the same again, in depth with other inputs, until gains fade [default: `SANDBOX_CYCLES`,
    /// else 1].
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
    logged: LogArgs,

    /// Inputs of a section under each scenario.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    calls_per_cell: u32,

    /// When to stop at the latest, such as `30s`, `5m` or `none`.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    budget: TimeBudget,

    /// Leave out the exploring of single sections: quicker, and finds less.
    #[arg(long)]
    no_depth: bool,

    /// Seed of everything random. The same seed, code, settings and data directory give the same calls.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    isolation: IsolationArgs,

    /// Begin again with modules that were left out because their gains had faded.
    #[arg(long)]
    reset_flags: bool,

    /// Go on from the last good copy of a history that cannot be read.
    #[arg(long)]
    recover: bool,

    #[command(flatten)]
    convergence: ConvergenceArgs,

    /// Serve the dashboard on this port while the run goes on [default: `AUTO_DASHBOARD_PORT`, else none].
    #[arg(long, value_name = "PORT")]
    dashboard_port: Option<String>,

    /// Offer metrics to Prometheus on this port meanwhile [default: `METRICS_PORT`, else none].
    #[arg(long, value_name = "PORT")]
    metrics_port: Option<String>,

    /// End with exit code 3 for failures: those that no earlier run saw, or any.
    #[arg(long, value_enum, value_name = "WHICH")]
    fail_on: Option<FailOn>,

    /// Write the report as JSON to this file, whatever is printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    New,
    Any,
}

/// `none`, or a span of time.
#[derive(Debug, Clone, Copy)]
struct TimeBudget(Option<Duration>);

impl std::str::FromStr for TimeBudget {
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
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let started = Instant::now();
        let context = Context::new(global, self.flags())?;
        let settings = &context.settings;
        if self.repo.as_deref() == Some("") {
            return Err(Failure::Request(anyhow!("--repo is empty: give it a directory")));
        }
        let selection = self.selection.read()?;
        let presets = presets::Given::read(settings, &self.preset_file)?;
        let choice = presets.choice(settings, self.preset_count, Seed(self.seed));
        // Mistakes are told before anything is called.
        presets::check(&choice)?;
        data::directory(&context)?;
        for file in self.out.iter().chain(&self.convergence.forecast_log) {
            out::check(file)?;
        }
        let yardstick = Yardstick::read(settings).map_err(Failure::request)?;
        let seen = seen::Seen::start(settings)?;
        let cancel = Cancel::default();
        exec::interrupt::ends(&cancel)?;

        let analysis = analysis(&context)?;
        let sections = analysis
            .modules
            .iter()
            .flat_map(|module| module.sections.iter().map(move |section| (module, section)));
        let is_any_wanted = sections.into_iter().any(|(module, one)| selection.has(module, one));
        if analysis.modules.is_empty() {
            let repo = settings.general.repo_path.display();
            return Err(Failure::Request(anyhow!(
                "there are no Python files below `{repo}` that .gitignore does not exclude; \
                 point --repo at a repository with some"
            )));
        }
        if !is_any_wanted {
            return Err(self.selection.nothing());
        }
        let interpreter = self.isolation.interpreter(&context)?;
        let backend = self.isolation.backend(&context, &interpreter, &cancel)?;
        // What the first import wants, unless settings ask for another level.
        backend.anticipate(&WarmSpec::new(None));
        let (major, minor, patch) = interpreter.version;
        let python = format!("{} {major}.{minor}.{patch}", interpreter.implementation);
        let mut inputs = presets::inputs(settings)?;
        let wants_stubs =
            settings.stubs.plugins.value.is_some() || settings.stubs.model.value.is_some();
        let of_plugins = self.isolation.of_plugins(interpreter, &cancel);
        if wants_stubs {
            self.add_stubs(&context, &analysis, &selection, &of_plugins, &mut inputs)?;
        }
        let plugins = plugins::find(&context, &of_plugins)?;
        let deadline = self.budget.0.map(|time| started + time);
        let mut view = View::new(deadline);
        let id = run::new_id(Seed(self.seed));
        let run = Run {
            id: id.clone(),
            analysis: &analysis,
            backend: &backend,
            repository: &settings.general.repo_path,
            data_dir: &settings.general.data_dir,
            settings,
            choice: &choice,
            keywords: &settings.presets.profiles_by_keyword(),
            inputs: &inputs,
            yardstick: &yardstick,
            wanted: &selection,
            selection: self.selection.words(),
            python,
            plugins: plugins.as_ref(),
            seed: Seed(self.seed),
            cycles: self.cycles(settings),
            calls_per_cell: self.calls_per_cell as usize,
            depth: (!self.no_depth).then(Budget::default),
            workers: self.isolation.workers(),
            cancel: cancel.clone(),
            deadline,
            reset_flags: self.reset_flags,
            recover: self.recover,
            forecast_log: self.convergence.forecast_log.as_deref(),
            process_borderline: self.convergence.process_borderline,
        };
        let report = run::run(&run, &mut view);
        let failures = view.failures();
        drop(view);
        if cancel.is_cancelled() {
            // Opening the store marks the run as interrupted.
            drop(data::store_of(settings)?);
            let page = seen.report(&id, &analysis);
            let shown =
                page.map_or(String::new(), |page| format!(", `{}` shows it", page.display()));
            tracing::warn!(
                "interrupted; all calls until now are kept, and {}: `menace failures` lists \
                 them{shown}",
                counted(failures, "failure")
            );
        }
        let report = report.map_err(failure)?;
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        let means = Means {
            backend: &backend,
            analysis: &analysis,
            workers: self.isolation.workers(),
            cancel: &cancel,
            deadline,
        };
        if let Ok(Some(store)) = data::store_of(settings) {
            smallest::keep(&means, &store, &report, started.elapsed());
        }
        let page = seen.report(&id, &analysis);
        self.print(&report, page.as_deref(), global.sandbox_data_dir.as_deref())?;
        self.judge(&report)
    }

    /// What plugins and a model give for all sections that are wanted.
    fn add_stubs(
        &self,
        context: &Context,
        analysis: &Analysis,
        selection: &Selection,
        isolation: &Isolation,
        inputs: &mut InputSettings,
    ) -> Result<(), Failure> {
        let surveyed = Surveyed::new(analysis).map_err(Failure::request)?;
        let facts = surveyed.facts();
        let sections = surveyed.sections().filter(|(module, section, _)| {
            section.kind != SectionKind::Module && selection.has(module, section)
        });
        let about: Vec<About<'_>> = sections
            .map(|(module, section, hints)| About {
                target: format!("{}:{}", module.name, section.id.qualname()),
                section,
                hints,
            })
            .collect();
        stubs::ask_model(context, &about, inputs)?;
        let isolation = || Ok(isolation.clone());
        stubs::plug(context, isolation, &facts, &about, self.seed, inputs)
    }

    fn flags(&self) -> Flags {
        let mut flags = self.convergence.flags();
        flags.extend(self.logged.flags());
        let given = [
            ("--repo", &self.repo),
            ("--dashboard-port", &self.dashboard_port),
            ("--metrics-port", &self.metrics_port),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        flags.extend(given.map(|(name, value)| (name.to_owned(), value)));
        flags
    }

    /// The default of the setting is for those who improve; a first look takes one.
    fn cycles(&self, settings: &Settings) -> u32 {
        let cycles = &settings.general.cycles;
        let said = cycles.is_explicit().then_some(cycles.value);
        let said = said.map(|cycles| u32::try_from(cycles.get()).unwrap_or(u32::MAX));
        self.runs.or(said).unwrap_or(1)
    }

    fn print(
        &self,
        report: &RunReport,
        page: Option<&Path>,
        data: Option<&str>,
    ) -> Result<(), Failure> {
        // One that cannot be written must not take the other along.
        let written = self.out.as_ref().map_or(Ok(()), |file| out::write(file, report));
        match self.format {
            Format::Json => output::print_json(report)?,
            Format::Table => {
                output::print(&run_table::render(report, data))?;
                if let Some(page) = page {
                    output::print(&format!("  {} shows all of it\n", page.display()))?;
                }
            }
        }
        written
    }

    fn judge(&self, report: &RunReport) -> Result<(), Failure> {
        let wanted = report.failures.iter().filter(|failure| match self.fail_on {
            None => false,
            Some(FailOn::New) => failure.new,
            Some(FailOn::Any) => true,
        });
        let (count, policy) = match (wanted.count(), self.fail_on) {
            (0, _) | (_, None) => return Ok(()),
            (count, Some(FailOn::New)) => (counted(count, "new failure"), "new"),
            (count, Some(FailOn::Any)) => (counted(count, "failure"), "any"),
        };
        // Whoever reads the log of a machine sees a code alone otherwise.
        tracing::warn!("{count}: --fail-on {policy} ends with exit code {FOUND}");
        Err(Failure::Found)
    }
}

/// The analysis, with the best scanner that is installed: `security_score` rests on it.
fn analysis(context: &Context) -> Result<Analysis, Failure> {
    exec::analyze_with(context, cache::directory(context), ScannerChoice::Auto)
}

/// What the user can mend, and what not.
fn failure(error: RunError) -> Failure {
    match error {
        RunError::Sandbox(error) => isolation::failure(error),
        RunError::Survey(_) => Failure::from(error),
        RunError::Presets(_)
        | RunError::Store(_)
        | RunError::Files(_)
        | RunError::Missing(_)
        | RunError::Templates(_)
        | RunError::Calibration(_)
        | RunError::OtherRepository { .. } => Failure::request(error),
    }
}
