//! Proof of a finding: its own exported test, run in a fresh plain interpreter in the sandbox of
//! the repository. There no harness holds objects alive, and no tracer slows anything down.
//!
//! Invariant: a test that fails for another reason than the finding is no proof, and no refutation.

use menace_model::{
    Call, CallStep, CallTarget, Failure, ModuleRef, Outcome, PyReference, TargetKind, Value,
    Verdict,
};
use menace_sandbox::{CallJob, SandboxError, SandboxSpec};
use menace_source::Analysis;
use serde::Deserialize;

use crate::calls::{CallRunner, build_job};
use crate::pytest;

const RUNNER: &str = include_str!("run_exported.py");
/// A test of a hang takes five seconds, one of growth several sizes.
const PROOF_TIMEOUT_MS: u64 = 15_000;
const PROOF_MEMORY_BYTES: u64 = 1 << 30;

/// What the exported test of a finding says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProofResult {
    /// It fails, as it should while the finding is there.
    Shown,
    /// It passes: the finding is none of the section's.
    NotShown,
    /// There is no test, it could not be run, or there was no time.
    Unknown(String),
}

#[derive(Debug, Deserialize)]
struct RunnerAnswer {
    result: String,
    detail: String,
}

/// Runs the exported tests of these findings.
pub(crate) fn prove(
    failures: &[&Failure],
    analysis: &Analysis,
    runner: &CallRunner<'_>,
) -> Result<Vec<ProofResult>, SandboxError> {
    let mut results = vec![ProofResult::Unknown("there was no time".to_owned()); failures.len()];
    let mut jobs = Vec::new();
    let mut positions = Vec::new();
    for (position, failure) in failures.iter().enumerate() {
        match build_proof_job(failure, analysis) {
            Ok(job) => {
                jobs.push(job);
                positions.push(position);
            }
            Err(why) => results[position] = ProofResult::Unknown(why),
        }
    }
    let outcomes = runner.for_reruns().make(jobs, |_, _| {})?;
    for (position, outcome) in positions.into_iter().zip(outcomes) {
        if let Some(outcome) = outcome {
            results[position] = read_result(failures[position], &outcome);
        }
    }
    Ok(results)
}

fn build_proof_job(failure: &Failure, analysis: &Analysis) -> Result<CallJob, String> {
    let export = pytest::export(std::slice::from_ref(failure), analysis, None);
    if let Some(skipped) = export.not_exported.first() {
        return Err(skipped.why.clone());
    }
    let file = export.files.first().ok_or("it has no test")?;
    let reference = |module: &str, name: &str| {
        PyReference::new(module, name).map(Value::Name).map_err(|error| error.to_string())
    };
    let command = vec![reference("sys", "executable")?, Value::from("-c"), Value::from(RUNNER)];
    let module = ModuleRef { name: "subprocess".to_owned(), path: None };
    let target = CallTarget {
        module: module.clone(),
        qualname: "check_output".to_owned(),
        kind: TargetKind::Function,
    };
    let mut call = Call::of_step(CallStep {
        args: vec![Value::List(command)],
        kwargs: vec![
            ("input".to_owned(), Value::from(file.text.as_str())),
            ("text".to_owned(), Value::Bool(true)),
            ("stderr".to_owned(), reference("subprocess", "DEVNULL")?),
        ],
        ..CallStep::new(target)
    });
    call.limits.timeout_ms = PROOF_TIMEOUT_MS;
    call.limits.memory_bytes = Some(PROOF_MEMORY_BYTES);
    Ok(build_job(&SandboxSpec::new(Some(module)), call))
}

fn read_result(failure: &Failure, outcome: &Outcome) -> ProofResult {
    let printed = match outcome.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::Str(text)) if outcome.verdict == Verdict::Returned => text.as_str(),
        _ => None,
    };
    let answer = printed.and_then(|text| text.lines().next_back());
    let answer = answer.and_then(|line| serde_json::from_str::<RunnerAnswer>(line).ok());
    match answer {
        Some(RunnerAnswer { result, .. }) if result == "passed" => ProofResult::NotShown,
        Some(RunnerAnswer { result, .. }) if result == "failed" => ProofResult::Shown,
        Some(RunnerAnswer { detail, .. }) => ProofResult::Unknown(detail),
        // The interpreter itself ended: what a crash or exhausted memory does.
        None => {
            let why = outcome.reason.clone().unwrap_or_else(|| outcome.verdict.to_string());
            tracing::debug!(id = failure.id.0, "no proof: {why} {:?}", outcome.exception);
            ProofResult::Unknown(why)
        }
    }
}
