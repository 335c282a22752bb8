//! `menace exec`: one call of one section, in isolation, and what came of it.

mod drift;
mod receiver;

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::anyhow;
use clap::Args;

use menace_model::{
    Call, CallConditions, CallFixtures, CallResult, CallStage, CallStep, Outcome, Seed, TargetKind,
    Value, ValueError, Verdict,
};
use menace_sandbox::interpreter::PythonInterpreter;
use menace_sandbox::{CancelToken, LocalBackend, SandboxBackend, SandboxError, SandboxSpec, Tier};
use menace_scenario::input::fixtures;
use menace_scenario::preset::Preset;
use menace_source::ScannerChoice;

use crate::analysis;
use crate::args::{GlobalArgs, OutputFormat};
use crate::call_preset;
use crate::call_target::{self, ResolvedTarget, TargetAccess};
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::interrupt;
use crate::isolation::{IsolationArgs, command_error};
use crate::preset_files;
use crate::render::outcome_json::{DriftedArgumentsJson, OutcomeHeader, OutcomeJson};
use crate::render::{outcome_table, output, repeat_table};
use crate::repeat;

/// Call one function of a repository in a sandbox and print its outcome.
///
/// TARGET is `package.module:function`, `package.module:Class.method`, or `package.module` alone
/// for what importing it does. The call sees a private copy of the repository and nothing of the
/// host.
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
pub(crate) struct ExecCommand {
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

    /// Limits and conditions: a JSON object with `CPU_LIMIT`, `FAILURE_MODES` …, or a profile such
    /// as `flaky_upstream`, `hostile_input:low`, `high_latency+resource_strain`.
    #[arg(long, value_name = "JSON|NAME", default_value = "{}", hide_default_value = true)]
    preset: String,

    /// Replies of upstream services: a JSON file as for `NETWORK_MOCKS`.
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

    /// Report which lines the call reached, which slows it down.
    #[arg(long)]
    coverage: bool,

    /// Freeze the clock of the call at this time, in seconds since 1970; `seed` derives it from the
    /// seed.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    freeze_time: Option<FreezeTimeArg>,

    /// Make the same call so many times and sum up.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    repeat: u32,

    #[command(flatten)]
    isolation: IsolationArgs,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// The time of the frozen clock.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FreezeTimeArg {
    At(f64),
    BySeed,
}

impl FromStr for FreezeTimeArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "seed" {
            return Ok(Self::BySeed);
        }
        let seconds = text.parse().ok().filter(|seconds: &f64| seconds.is_finite());
        seconds.map(Self::At).ok_or("expected seconds since 1970, such as `1700000000`, or `seed`")
    }
}

/// The parsed command line.
#[derive(Debug)]
struct ExecRequest {
    args: Vec<Value>,
    kwargs: Vec<(String, Value)>,
    receiver: Option<Value>,
    preset: Preset,
    /// The text of `--fixtures` and its file.
    fixtures: Option<(String, String)>,
}

/// Everything that making the call needs.
#[derive(Debug)]
struct PreparedCall<'a> {
    backend: &'a LocalBackend,
    spec: SandboxSpec,
    call: Call,
    header: OutcomeHeader<'a>,
}

impl ExecCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, self.flags())?;
        let mut request = self.read_request(&context)?;
        let cancel = CancelToken::default();
        interrupt::install_handler(&cancel)?;

        let spec = self.spec_before_target(&request.preset);
        let (analysis, made) = self.isolation.backend_while(&context, &cancel, &spec, || {
            analysis::analyze(&context, ScannerChoice::Builtin)
        });
        let analysis = analysis?;
        let found =
            call_target::resolve_target(&analysis, &self.target).map_err(CommandError::Request)?;
        if let TargetAccess::Uncallable(why) = &found.access {
            return self.print(self.header(&found, None), &uncallable_outcome(why));
        }
        self.refuse_arguments(&found, &request)?;
        let receiver = match (request.receiver, &found.access) {
            (Some(given), TargetAccess::NeedsInstance(_)) => Some(given),
            (Some(_), _) => {
                return Err(CommandError::Request(anyhow!(
                    "`{}` is called without an instance: leave --receiver out",
                    self.target
                )));
            }
            (None, TargetAccess::NeedsInstance(section)) => Some(
                receiver::construct_receiver(&analysis, &found, section)
                    .map_err(CommandError::Request)?,
            ),
            (None, _) => None,
        };
        let fixtures = match &request.fixtures {
            Some((text, file)) => {
                let module = &found.target.module.name;
                let fixtures =
                    fixtures::read_fixtures(text, file, module).map_err(CommandError::request)?;
                if fixtures.is_empty() {
                    tracing::warn!("{file} has neither files nor variables for `{module}`");
                }
                fixtures
            }
            None => CallFixtures::default(),
        };
        let (interpreter, backend) = made?;
        let (limits, conditions) = request.preset.limits_and_conditions(self.seed);
        let (args, kwargs) = (&mut request.args, &mut request.kwargs);
        let has_drifted = !found.is_module()
            && drift::drift_arguments(&request.preset, Seed(self.seed), args, kwargs);
        let mut header = self.header(&found, Some((backend.tier(), &interpreter)));
        header.drifted = has_drifted.then(|| DriftedArgumentsJson::new(args, kwargs));
        let ready = PreparedCall {
            spec: SandboxSpec {
                // When the module itself is called, the call imports it.
                module: (!found.is_module()).then(|| found.target.module.clone()),
                import_roots: found.import_roots.clone(),
                ..spec
            },
            call: Call {
                seed: self.seed,
                limits,
                conditions,
                fixtures,
                coverage: self.coverage,
                ..Call::of_step(CallStep {
                    receiver,
                    args: request.args,
                    kwargs: request.kwargs,
                    ..CallStep::new(found.target.clone())
                })
            },
            header,
            backend: &backend,
        };
        let done = if self.repeat == 1 { self.run_once(ready) } else { self.run_repeatedly(ready) };
        if cancel.is_cancelled() { Err(CommandError::Interrupted) } else { done }
    }

    /// Refuses arguments for properties and modules, which take none.
    fn refuse_arguments(
        &self,
        found: &ResolvedTarget<'_>,
        request: &ExecRequest,
    ) -> Result<(), CommandError> {
        let what = match found.target.kind {
            TargetKind::Property => "a property",
            TargetKind::Module => "a module, which is imported,",
            _ => return Ok(()),
        };
        if request.args.is_empty() && request.kwargs.is_empty() {
            return Ok(());
        }
        Err(CommandError::Request(anyhow!(
            "`{}` is {what} and takes no arguments: leave --args and --kwargs out",
            self.target
        )))
    }

    fn flags(&self) -> FlagValues {
        let repo = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let safe_mode = self.safe_mode.then(|| ("--safe-mode".to_owned(), "1".to_owned()));
        repo.chain(safe_mode).collect()
    }

    /// Parses the command line, and refuses everything that can be refused without reading the
    /// repository.
    fn read_request(&self, context: &CommandContext) -> Result<ExecRequest, CommandError> {
        if self.repo.as_deref() == Some("") {
            return Err(CommandError::Request(anyhow!("--repo is empty: give it a directory")));
        }
        // Messages about arguments begin with `args` or `kwargs`.
        let args = Value::args_from_json(&self.args).map_err(CommandError::request)?;
        let kwargs = Value::kwargs_from_json(&self.kwargs).map_err(CommandError::request)?;
        let receiver = match &self.receiver {
            Some(text) => Some(Value::from_json(text).map_err(|error: ValueError| {
                CommandError::Request(anyhow!("receiver: {error}"))
            })?),
            None => None,
        };
        let values = receiver.iter().chain(&args).chain(kwargs.iter().map(|(_, value)| value));
        Value::check_labels(values).map_err(CommandError::request)?;
        let preset = call_preset::read_preset(
            &self.preset,
            self.network_mocks.as_deref(),
            &context.settings,
        )?;
        call_preset::warn(&preset, &context.settings);
        let fixtures = match &self.fixtures {
            Some(file) => Some((preset_files::read_user_file(file)?, file.display().to_string())),
            None => None,
        };
        Ok(ExecRequest { args, kwargs, receiver, preset, fixtures })
    }

    /// The sandbox spec of the call, except for the module and import path, which are not known
    /// yet.
    fn spec_before_target(&self, preset: &Preset) -> SandboxSpec {
        let (_, conditions) = preset.limits_and_conditions(self.seed);
        let spec = SandboxSpec {
            seed: self.seed,
            hash_seed: (self.seed & u64::from(u32::MAX)) as u32,
            freeze_time: self.freeze_time.map(|at| match at {
                FreezeTimeArg::At(seconds) => seconds,
                FreezeTimeArg::BySeed => Seed(self.seed).frozen_timestamp(),
            }),
            import_limits: preset.unshared_import_limits(),
            ..SandboxSpec::new(None)
        };
        spec.for_conditions(preset.confinement(), &conditions)
    }

    fn header<'a>(
        &self,
        found: &'a ResolvedTarget<'_>,
        ran: Option<(Tier, &'a PythonInterpreter)>,
    ) -> OutcomeHeader<'a> {
        OutcomeHeader::new(&found.target, found.line, self.seed, ran)
    }

    fn run_once(&self, prepared: PreparedCall<'_>) -> Result<(), CommandError> {
        let PreparedCall { backend, spec, call, header } = prepared;
        let outcome = backend
            .open_session(&spec)
            .and_then(|mut session| session.run(&call))
            .or_else(SandboxError::lost_to_crash)
            .map_err(command_error)?;
        self.warn(&call.conditions, &outcome);
        self.print(header, &outcome)
    }

    fn warn(&self, conditions: &CallConditions, outcome: &Outcome) {
        call_preset::warn_of_unenforced(conditions, outcome);
        if self.coverage && outcome.coverage.is_none() {
            tracing::warn!("no lines were measured: the call reported none");
        }
    }

    fn print(&self, header: OutcomeHeader<'_>, outcome: &Outcome) -> Result<(), CommandError> {
        match self.format {
            OutputFormat::Json => output::print_json(&OutcomeJson { header, outcome })?,
            OutputFormat::Table => output::print(&outcome_table::render(&header, outcome))?,
        }
        Ok(())
    }

    fn run_repeatedly(&self, prepared: PreparedCall<'_>) -> Result<(), CommandError> {
        let PreparedCall { backend, spec, call, header } = prepared;
        let jobs = self.isolation.workers().min(self.repeat as usize);
        let summary = repeat::run_repeated_calls(backend, &spec, &call, self.repeat, jobs)
            .map_err(command_error)?;
        for sample in summary.samples.values() {
            self.warn(&call.conditions, sample);
        }
        match self.format {
            OutputFormat::Json => output::print_json(&summary.to_json(header))?,
            OutputFormat::Table => output::print(&repeat_table::render(&header, &summary))?,
        }
        Ok(())
    }
}

/// The outcome of a target that cannot be called; nothing was started.
fn uncallable_outcome(why: &str) -> Outcome {
    Outcome::of_result(CallResult {
        reason: Some(why.to_owned()),
        ..CallResult::new(Verdict::Unreachable, CallStage::Resolve)
    })
}
