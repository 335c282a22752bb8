//! `menace doctor`: what this machine can do for isolation, and what is missing.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use menace_model::{
    Call, EnforcedBy, How, Limit, Limits, ModuleRef, Outcome, Target, Value, Verdict,
};
use menace_sandbox::interpreter::Interpreter;
use menace_sandbox::machine::{Machine, Mechanism};
use menace_sandbox::{Backend, LocalBackend, Options, SandboxError, Tier, WarmSpec};

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::exit::Failure;
use crate::python;
use crate::render::{doctor_table, output};

const VERSION: u32 = 1;

/// Show how well this machine can isolate calls, prove it, and say what is missing.
///
/// Tries every mechanism, looks for the interpreter of the repository, then starts one sandbox and
/// makes a harmless call in it. Nothing of the repository is called.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace doctor
  menace doctor --repo ~/src/shop --format json

The exit code is 0 even when something is missing: telling that is the job.")]
pub(crate) struct Doctor {
    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// The interpreter or virtual environment [default: the repository's own, else the PATH's].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Everything that was found out.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnosis {
    version: u32,
    /// The strongest that can be had.
    pub tier: Option<Tier>,
    /// Why no stronger one, or none at all.
    pub why: Vec<String>,
    pub sandbox: Proof,
    pub cores: usize,
    #[serde(flatten)]
    pub machine: Machine,
    pub python: PythonFound,
    /// What holds each limit here; none when no sandbox could be started.
    pub limits: Option<EnforcedBy>,
    pub unenforced: Vec<Limit>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub(crate) enum Proof {
    /// A sandbox was started, could not be left, and made a call.
    Proved {
        total_ms: f64,
    },
    Refused {
        why: String,
    },
    NotTried {
        why: String,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum PythonFound {
    Found(Box<Interpreter>),
    Missing { error: String },
}

impl Doctor {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let flags = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let context = Context::new(global, flags.collect::<Flags>())?;
        let repo = &context.settings.general.repo_path;
        if !repo.is_dir() {
            let shown = repo.display();
            return Err(Failure::Request(anyhow::anyhow!(
                "repository `{shown}` is not a directory; check the path given with --repo"
            )));
        }
        let machine = Machine::examine(Path::new(Options::THIS_PROGRAM));
        let found = python::find(&context, self.python.as_deref(), None);
        let tier = machine.tiers().first().copied();
        let why = why_not_stronger(&machine, tier);
        let (sandbox, outcome) = match (tier, &found) {
            (None, _) => not_tried("this machine gives no isolation"),
            (Some(_), Err(_)) => not_tried("there is no Python to try it with"),
            (Some(_), Ok(interpreter)) => {
                prove(repo, interpreter, !context.settings.general.light_imports.value)?
            }
        };
        let (limits, unenforced) = match outcome {
            Some(outcome) => (Some(outcome.enforced_by), outcome.unenforced),
            None => (None, Vec::new()),
        };
        let diagnosis = Diagnosis {
            version: VERSION,
            tier,
            why,
            sandbox,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            machine,
            python: match found {
                Ok(interpreter) => PythonFound::Found(Box::new(interpreter)),
                Err(error) => PythonFound::Missing { error: with_causes(error) },
            },
            limits,
            unenforced,
        };
        match self.format {
            Format::Json => output::print_json(&diagnosis)?,
            Format::Table => output::print(&doctor_table::render(&diagnosis))?,
        }
        Ok(())
    }
}

fn not_tried(why: &str) -> (Proof, Option<Outcome>) {
    (Proof::NotTried { why: why.to_owned() }, None)
}

/// Why each tier above the one that can be had is out of reach.
fn why_not_stronger(machine: &Machine, best: Option<Tier>) -> Vec<String> {
    let all = [Tier::Root, Tier::UserNamespaces, Tier::Landlock];
    all.into_iter()
        .take_while(|tier| best != Some(*tier))
        .filter_map(|tier| machine.check(tier).err().map(|error| error.to_string()))
        .collect()
}

/// Starts a sandbox, which tries to leave itself, and makes a call under every limit there is.
fn prove(
    repo: &Path,
    interpreter: &Interpreter,
    purge: bool,
) -> Result<(Proof, Option<Outcome>), Failure> {
    let empty = tempfile::tempdir()?;
    // An interpreter that belongs to the repository is to be had only with it.
    let inside = repo.canonicalize().is_ok_and(|repo| interpreter.executable.starts_with(repo));
    let place = if inside { repo } else { empty.path() };
    let options = Options { purge, ..Options::new(place.to_owned(), interpreter.clone()) };
    let proved = LocalBackend::new(options).and_then(|backend| {
        // The standard library comes first: no file of the repository is imported.
        let spec = WarmSpec { import_roots: Vec::new(), ..WarmSpec::new(None) };
        let mut warm = backend.warm(&spec)?;
        warm.run(&harmless())
    });
    Ok(match proved {
        Ok(outcome) if outcome.verdict == Verdict::Returned => {
            (Proof::Proved { total_ms: outcome.runtime_metrics.total_ms }, Some(outcome))
        }
        Ok(outcome) => {
            let reason = outcome.exception.as_ref().map_or_else(
                || outcome.reason.clone().unwrap_or_default(),
                |exception| format!("{}: {}", exception.kind, exception.message),
            );
            let verdict = outcome.verdict;
            (Proof::Refused { why: format!("a harmless call {verdict}: {reason}") }, Some(outcome))
        }
        Err(error) => (Proof::Refused { why: refusal(error) }, None),
    })
}

fn refusal(error: SandboxError) -> String {
    match error {
        // Without the advice to ask the doctor.
        SandboxError::Refused(why) => why,
        other => with_causes(other),
    }
}

fn with_causes(error: impl Into<anyhow::Error>) -> String {
    format!("{:#}", error.into())
}

fn harmless() -> Call {
    let target = Target {
        module: ModuleRef { name: "operator".to_owned(), path: None },
        qualname: "neg".to_owned(),
        how: How::Function,
    };
    Call {
        args: vec![Value::Int(1)],
        limits: Limits { cpu_ms: Some(5_000), cpu_share: Some(1.0), ..Limits::default() },
        ..Call::new(target)
    }
}

/// Mechanisms that are there count; the others need a reason and, if there is any, advice.
pub(crate) fn missing(machine: &Machine) -> impl Iterator<Item = &Mechanism> {
    machine.mechanisms.iter().filter(|mechanism| !mechanism.available)
}
