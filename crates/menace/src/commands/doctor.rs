//! `menace doctor`: what this machine can do for isolation, and what is missing.

use std::path::{Path, PathBuf};

use clap::Args;

use menace_files::resolve_named_path;
use menace_model::{
    Call, CallLimits, CallStep, CallTarget, ModuleRef, Outcome, TargetKind, Value, Verdict,
    format_error_chain,
};
use menace_sandbox::interpreter::PythonInterpreter;
use menace_sandbox::machine::MachineCapabilities;
use menace_sandbox::{
    BackendOptions, LocalBackend, SandboxBackend, SandboxError, SandboxSpec, Tier,
};

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::exit::CommandError;
use crate::python;
use crate::render::doctor_table::{MachineDiagnosis, PythonDiagnosis, SandboxProof};
use crate::render::{doctor_table, output};

const DIAGNOSIS_JSON_VERSION: u32 = 1;
const MEMORY_LIMIT_BYTES: u64 = 64 << 20;

/// Show how well this machine can isolate calls, prove it, and say what is missing.
///
/// Tries every mechanism, looks for the interpreter of the repository, then starts one sandbox and
/// makes a harmless call in it. Nothing of the repository is called.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace doctor
  menace doctor --repo ~/src/shop --format json

The exit code is 0 even when something is missing: to report that is its job.")]
pub(crate) struct DoctorCommand {
    /// The repository [default: `SANDBOX_REPO_PATH`, else the working directory].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    /// The interpreter or virtual environment [default: the repository's own, else the PATH's].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl DoctorCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let flags = self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone()));
        let context = CommandContext::new(global, flags.collect::<FlagValues>())?;
        let repo = &context.settings.general.repo_path;
        if !repo.is_dir() {
            let shown = repo.display();
            return Err(CommandError::Request(anyhow::anyhow!(
                "repository `{shown}` is not a directory; check the path given with --repo"
            )));
        }
        let machine = MachineCapabilities::detect_all(Path::new(BackendOptions::THIS_PROGRAM));
        let found = python::find_interpreter(&context, self.python.as_deref(), None);
        let tier = machine.available_tiers().first().copied();
        let why = why_not_stronger(&machine, tier);
        let (sandbox, outcome) = match (tier, &found) {
            (None, _) => not_tried("this machine gives no isolation"),
            (Some(_), Err(_)) => not_tried("there is no Python to try it with"),
            (Some(_), Ok(interpreter)) => {
                prove_sandbox(repo, interpreter, !context.settings.general.skip_purge.value)?
            }
        };
        let (limits, unenforced, notes) = match outcome {
            Some(outcome) => (Some(outcome.enforced_by), outcome.unenforced, outcome.notes),
            None => (None, Vec::new(), Vec::new()),
        };
        let diagnosis = MachineDiagnosis {
            version: DIAGNOSIS_JSON_VERSION,
            tier,
            why,
            sandbox,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            machine,
            python: match found {
                Ok(interpreter) => PythonDiagnosis::Found(Box::new(interpreter)),
                Err(error) => PythonDiagnosis::Missing { error: format_error_chain(&error) },
            },
            limits,
            unenforced,
            notes,
        };
        match self.format {
            OutputFormat::Json => output::print_json(&diagnosis)?,
            OutputFormat::Table => output::print(&doctor_table::render(&diagnosis))?,
        }
        Ok(())
    }
}

fn not_tried(why: &str) -> (SandboxProof, Option<Outcome>) {
    (SandboxProof::NotTried { why: why.to_owned() }, None)
}

/// For each tier stronger than the available one, why it is not available.
fn why_not_stronger(machine: &MachineCapabilities, best: Option<Tier>) -> Vec<String> {
    let all = [Tier::Root, Tier::UserNamespaces, Tier::Landlock];
    all.into_iter()
        .take_while(|tier| best != Some(*tier))
        .filter_map(|tier| machine.check_tier(tier).err().map(|error| error.to_string()))
        .collect()
}

/// Starts a sandbox, which tries to leave itself, and makes a call under every limit there is, so
/// strict ones that the outcome notes what they do not count.
fn prove_sandbox(
    repo: &Path,
    interpreter: &PythonInterpreter,
    purge: bool,
) -> Result<(SandboxProof, Option<Outcome>), CommandError> {
    let empty = tempfile::tempdir()?;
    // An interpreter inside of the repository needs the repository in the sandbox.
    let inside =
        resolve_named_path(repo).is_ok_and(|repo| interpreter.executable.starts_with(repo));
    let place = if inside { repo } else { empty.path() };
    let options = BackendOptions {
        purge_leftovers: purge,
        ..BackendOptions::new(place.to_owned(), interpreter.clone())
    };
    let proved = LocalBackend::new(options).and_then(|backend| {
        // The standard library comes first: no file of the repository is imported.
        let spec = SandboxSpec { import_roots: Vec::new(), ..SandboxSpec::new(None) };
        let mut warm = backend.open_session(&spec)?;
        warm.run(&harmless_call())
    });
    Ok(match proved {
        Ok(outcome) if outcome.verdict == Verdict::Returned => {
            (SandboxProof::Proved { total_ms: outcome.runtime_metrics.total_ms }, Some(outcome))
        }
        Ok(outcome) => {
            let reason = outcome.exception.as_ref().map_or_else(
                || outcome.reason.clone().unwrap_or_default(),
                |exception| format!("{}: {}", exception.kind, exception.message),
            );
            let verdict = outcome.verdict;
            (
                SandboxProof::Refused { why: format!("a harmless call {verdict}: {reason}") },
                Some(outcome),
            )
        }
        Err(error) => (SandboxProof::Refused { why: describe_refusal(error) }, None),
    })
}

fn describe_refusal(error: SandboxError) -> String {
    match error {
        // Without the advice to run `menace doctor`.
        SandboxError::BuildFailed(why) => why,
        other => format_error_chain(&other),
    }
}

fn harmless_call() -> Call {
    let target = CallTarget {
        module: ModuleRef { name: "operator".to_owned(), path: None },
        qualname: "neg".to_owned(),
        kind: TargetKind::Function,
    };
    Call {
        limits: CallLimits {
            cpu_ms: Some(5_000),
            cpu_share: Some(1.0),
            memory_bytes: Some(MEMORY_LIMIT_BYTES),
            ..CallLimits::default()
        },
        ..Call::of_step(CallStep { args: vec![Value::Int(1)], ..CallStep::new(target) })
    }
}
