//! `menace exec`: one call of one section, in isolation, and what came of it.

mod drift;
pub(crate) mod interrupt;
pub(crate) mod preset;
mod receiver;
pub(crate) mod repeat;
pub(crate) mod target;

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::anyhow;
use clap::Args;

use menace_model::{
    Call, Conditions, Fixtures, How, Outcome, Seed, Stage, Value, ValueError, Verdict,
};
use menace_sandbox::interpreter::Interpreter;
use menace_sandbox::{Backend, Cancel, LocalBackend, Tier, WarmSpec};
use menace_scenario::fixtures;
use menace_scenario::preset::Preset;
use menace_source::{Analysis, AnalyzeError, ScannerChoice};

use crate::args::{Format, Global};
use crate::cache;
use crate::commands::presets;
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::isolation::{IsolationArgs, failure};
use crate::render::outcome_json::{DriftedJson, Header, OutcomeJson};
use crate::render::progress::Progress;
use crate::render::{outcome_table, output, repeat_table};

use target::{Found, Way};

/// Call one function of a repository in a sandbox and tell what came of it.
///
/// TARGET is `package.module:function`, `package.module:Class.method`, or `package.module` alone for
/// what importing it does. The call sees a private copy of the repository and nothing of the host.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace exec --repo . shop.pricing:parse_price --args '[\"EUR 12.50\"]'
  menace exec --repo . shop.models:Order.total --receiver '{\"$call\": \"shop.models:Order\"}'
  menace exec --repo . shop.main --preset '{\"CPU_LIMIT\": \"1\", \"MEMORY_LIMIT\": \"64Mi\"}'
  menace exec --repo . shop.rates:fetch --preset flaky_upstream:low --network-mocks answers.json
  menace exec --repo . shop.pricing:with_tax --args '[1]' --repeat 1000 --jobs 2

How values are written is in docs/values.md, presets in docs/scenarios.md, what the outcome means in
docs/exec.md. The exit code is 0 whatever the call did: that is what the verdict is for.")]
pub(crate) struct Exec {
    /// What to call: `package.module:function`, `package.module:Class.method` or `package.module`.
    #[arg(value_name = "TARGET")]
    target: String,

    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// Positional arguments, a JSON list.
    #[arg(long, value_name = "JSON", default_value = "[]", hide_default_value = true)]
    args: String,

    /// Keyword arguments, a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}", hide_default_value = true)]
    kwargs: String,

    /// The instance that a method or property is called on [default: one made without arguments].
    #[arg(long, value_name = "JSON")]
    receiver: Option<String>,

    /// Limits and conditions: a JSON object with `CPU_LIMIT`, `FAILURE_MODES` …, or a profile such as
    /// `flaky_upstream`, `hostile_input:low`, `high_latency+resource_strain`.
    #[arg(long, value_name = "JSON|NAME", default_value = "{}", hide_default_value = true)]
    preset: String,

    /// Who answers when the code calls out: a JSON file as for `NETWORK_MOCKS`.
    #[arg(long, value_name = "FILE")]
    network_mocks: Option<PathBuf>,

    /// Files and variables that are there before the call: a JSON file with `files` and `env`.
    #[arg(long, value_name = "FILE")]
    fixtures: Option<PathBuf>,

    /// Seed of everything random in the call, the order of sets included.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// No network at all, not even inside of the sandbox.
    #[arg(long)]
    safe_mode: bool,

    /// Tell which lines the call reached, which slows it down.
    #[arg(long)]
    coverage: bool,

    /// Let the clock stand still at this time, in seconds since 1970; `seed`: at one that the seed
    /// gives.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    freeze_time: Option<Frozen>,

    /// Make the same call so many times and sum up.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    #[command(flatten)]
    isolation: IsolationArgs,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// When the clock stands still.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Frozen {
    At(f64),
    BySeed,
}

impl FromStr for Frozen {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "seed" {
            return Ok(Self::BySeed);
        }
        let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
        seconds.map(Self::At).ok_or("expected seconds since 1970, such as `1700000000`, or `seed`")
    }
}

/// What the user wrote, understood.
#[derive(Debug)]
struct Request {
    args: Vec<Value>,
    kwargs: Vec<(String, Value)>,
    receiver: Option<Value>,
    preset: Preset,
    /// The text of `--fixtures` and its file.
    fixtures: Option<(String, String)>,
}

/// Everything that it takes to make the call.
#[derive(Debug)]
struct Ready<'a> {
    backend: &'a LocalBackend,
    spec: WarmSpec,
    call: Call,
    header: Header<'a>,
}

impl Exec {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, self.flags())?;
        let mut request = self.read(&context)?;
        let cancel = Cancel::default();
        interrupt::ends(&cancel)?;

        let spec = self.spec(&request.preset);
        let (analysis, made) = self.isolation.backend_beside(&context, &cancel, &spec, || {
            analyze(&context, cache::directory(&context))
        });
        let analysis = analysis?;
        let found = target::find(&analysis, &self.target).map_err(Failure::Request)?;
        if let Way::Closed(why) = &found.way {
            return self.print(self.header(&found, None), &unreachable(why));
        }
        self.refuse_arguments(&found, &request)?;
        let receiver = match (request.receiver, &found.way) {
            (Some(given), Way::On(_)) => Some(given),
            (Some(_), _) => {
                return Err(Failure::Request(anyhow!(
                    "`{}` is called without an instance: leave --receiver out",
                    self.target
                )));
            }
            (None, Way::On(section)) => {
                Some(receiver::made(&analysis, &found, section).map_err(Failure::Request)?)
            }
            (None, _) => None,
        };
        let fixtures = match &request.fixtures {
            Some((text, file)) => {
                let module = &found.target.module.name;
                let fixtures = fixtures::read(text, file, module).map_err(Failure::request)?;
                if fixtures.is_empty() {
                    tracing::warn!("{file} has neither files nor variables for `{module}`");
                }
                fixtures
            }
            None => Fixtures::default(),
        };
        let (interpreter, backend) = made?;
        let (limits, conditions) = request.preset.conditions(self.seed);
        let (args, kwargs) = (&mut request.args, &mut request.kwargs);
        let has_drifted =
            !found.is_module() && drift::arguments(&request.preset, Seed(self.seed), args, kwargs);
        let mut header = self.header(&found, Some((backend.tier(), &interpreter)));
        header.drifted = has_drifted.then(|| DriftedJson::new(args, kwargs));
        let ready = Ready {
            spec: WarmSpec {
                // The import happens in the call itself when that is what is called.
                module: (!found.is_module()).then(|| found.target.module.clone()),
                import_roots: found.import_roots.clone(),
                ..spec
            },
            call: Call {
                receiver,
                args: request.args,
                kwargs: request.kwargs,
                seed: self.seed,
                limits,
                conditions,
                fixtures,
                coverage: self.coverage,
                ..Call::new(found.target.clone())
            },
            header,
            backend: &backend,
        };
        let done = if self.repeat == 1 { self.once(ready) } else { self.many(ready) };
        if cancel.is_cancelled() { Err(Failure::Interrupted) } else { done }
    }

    /// What nobody would hand on to anybody.
    fn refuse_arguments(&self, found: &Found<'_>, request: &Request) -> Result<(), Failure> {
        let what = match found.target.how {
            How::Property => "a property",
            How::Module => "a module, which is imported,",
            _ => return Ok(()),
        };
        if request.args.is_empty() && request.kwargs.is_empty() {
            return Ok(());
        }
        Err(Failure::Request(anyhow!(
            "`{}` is {what} and takes no arguments: leave --args and --kwargs out",
            self.target
        )))
    }

    fn flags(&self) -> Flags {
        let repo = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let safe_mode = self.safe_mode.then(|| ("--safe-mode".to_owned(), "1".to_owned()));
        repo.chain(safe_mode).collect()
    }

    /// Everything that can be refused without looking at the repository.
    fn read(&self, context: &Context) -> Result<Request, Failure> {
        if self.repo.as_deref() == Some("") {
            return Err(Failure::Request(anyhow!("--repo is empty: give it a directory")));
        }
        // Messages about arguments begin with `args` or `kwargs`.
        let args = Value::args_from_json(&self.args).map_err(Failure::request)?;
        let kwargs = Value::kwargs_from_json(&self.kwargs).map_err(Failure::request)?;
        let receiver = match &self.receiver {
            Some(text) => Some(
                Value::from_json(text)
                    .map_err(|error: ValueError| Failure::Request(anyhow!("receiver: {error}")))?,
            ),
            None => None,
        };
        let values = receiver.iter().chain(&args).chain(kwargs.iter().map(|(_, value)| value));
        Value::check_labels(values).map_err(Failure::request)?;
        let preset = preset::read(&self.preset, self.network_mocks.as_deref(), &context.settings)?;
        preset::warn(&preset);
        let fixtures = match &self.fixtures {
            Some(file) => Some((presets::read(file)?, file.display().to_string())),
            None => None,
        };
        Ok(Request { args, kwargs, receiver, preset, fixtures })
    }

    /// The interpreter that the call wants, before it is known which module that has to import.
    fn spec(&self, preset: &Preset) -> WarmSpec {
        let isolation = preset.isolation();
        WarmSpec {
            security_level: isolation.security_level,
            safe_mode: isolation.safe_mode,
            seed: self.seed,
            hash_seed: (self.seed & u64::from(u32::MAX)) as u32,
            freeze_time: self.freeze_time.map(|at| match at {
                Frozen::At(seconds) => seconds,
                Frozen::BySeed => Seed(self.seed).moment(),
            }),
            limits: preset.own_import_limits(),
            interpose: preset::interpose(preset),
            ..WarmSpec::new(None)
        }
    }

    fn header<'a>(&self, found: &'a Found<'_>, ran: Option<(Tier, &'a Interpreter)>) -> Header<'a> {
        Header::new(&found.target, found.line, self.seed, ran)
    }

    fn once(&self, ready: Ready<'_>) -> Result<(), Failure> {
        let Ready { backend, spec, call, header } = ready;
        let outcome = backend.warm(&spec).and_then(|mut warm| warm.run(&call)).map_err(failure)?;
        self.warn(&call.conditions, &outcome);
        self.print(header, &outcome)
    }

    fn warn(&self, conditions: &Conditions, outcome: &Outcome) {
        preset::warn_of_unheld(conditions, outcome);
        if self.coverage && outcome.coverage.is_none() {
            tracing::warn!("no lines were measured: the call told nothing of them");
        }
    }

    fn print(&self, header: Header<'_>, outcome: &Outcome) -> Result<(), Failure> {
        match self.format {
            Format::Json => output::print_json(&OutcomeJson { header, outcome })?,
            Format::Table => output::print(&outcome_table::render(&header, outcome))?,
        }
        Ok(())
    }

    fn many(&self, ready: Ready<'_>) -> Result<(), Failure> {
        let Ready { backend, spec, call, header } = ready;
        let jobs = self.isolation.workers().min(self.repeat as usize);
        let summary = repeat::run(backend, &spec, &call, self.repeat, jobs).map_err(failure)?;
        for sample in summary.samples.values() {
            self.warn(&call.conditions, sample);
        }
        match self.format {
            Format::Json => output::print_json(&summary.json(header))?,
            Format::Table => output::print(&repeat_table::render(&header, &summary))?,
        }
        Ok(())
    }
}

pub(crate) fn analyze(context: &Context, cache: Option<PathBuf>) -> Result<Analysis, Failure> {
    analyze_with(context, cache, ScannerChoice::Builtin)
}

pub(crate) fn analyze_with(
    context: &Context,
    cache: Option<PathBuf>,
    scanner: ScannerChoice,
) -> Result<Analysis, Failure> {
    let search_path = context.search_path.clone().unwrap_or_default().into();
    let options =
        menace_source::Options { cache, scanner, search_path, ..menace_source::Options::default() };
    let progress = Progress::new("analysing");
    let repo = &context.settings.general.repo_path;
    let analysis =
        menace_source::analyze(repo, &options, &|done, total| progress.report(done, total))
            .map_err(|error| match error {
                AnalyzeError::Walk(error) => Failure::request(error),
                other => Failure::from(other),
            })?;
    for warning in &analysis.warnings {
        tracing::warn!("{warning}");
    }
    Ok(analysis)
}

/// Nothing was started: there is nothing to call.
fn unreachable(why: &str) -> Outcome {
    Outcome { reason: Some(why.to_owned()), ..Outcome::of(Verdict::Unreachable, Stage::Resolve) }
}
