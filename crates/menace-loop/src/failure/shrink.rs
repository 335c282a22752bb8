//! Makes the call of a failure as small as possible while it still fails.

use std::time::Instant;

use menace_model::{Failure, WeaknessKind};
use menace_sandbox::{CancelToken, SandboxBackend};
use menace_scenario::judge::CandidateRerun;
use menace_scenario::shrink::CallShrinker;
use menace_source::Analysis;

use super::FailureError;
use super::repro::ReproAttempts;

/// Budget and resources of shrinking.
#[derive(Debug, Clone)]
pub struct ShrinkRequest {
    /// Smaller calls that are tried at most; some take more than one call.
    pub budget: usize,
    pub workers: usize,
    pub cancel: CancelToken,
    /// After this time, shrinking fails with
    /// [`SandboxError::Cancelled`](menace_sandbox::SandboxError).
    pub deadline: Option<Instant>,
}

/// A failure after shrinking.
#[derive(Debug, Clone)]
pub struct ShrinkResult {
    /// The failure, with the smallest call that shows it.
    pub failure: Failure,
    /// Smaller calls that were tried.
    pub tried: usize,
    /// How often the call got smaller.
    pub steps: usize,
    /// Whether all smaller calls were tried, and none shows the failure.
    pub is_smallest: bool,
    /// Why the result is not smaller.
    pub note: Option<String>,
}

/// Shrinks until no smaller call fails the same way, or until the budget is used up.
pub fn shrink(
    failure: &Failure,
    backend: &dyn SandboxBackend,
    analysis: &Analysis,
    request: &ShrinkRequest,
) -> Result<ShrinkResult, FailureError> {
    let unchanged = |tried, note: &str| ShrinkResult {
        failure: failure.clone(),
        tried,
        steps: 0,
        is_smallest: false,
        note: Some(note.to_owned()),
    };
    match failure.kind {
        WeaknessKind::Slow => {
            return Ok(unchanged(
                0,
                "time is measured with large inputs: a smaller one shows nothing",
            ));
        }
        WeaknessKind::Import => return Ok(unchanged(0, "an import has no input")),
        _ => {}
    }
    let ShrinkRequest { workers, cancel, deadline, .. } = request.clone();
    let attempts = ReproAttempts::new(failure, backend, analysis, workers, cancel, deadline)?;
    let first = attempts.run(&[attempts.call()])?;
    if !first.iter().any(|attempt| attempts.is_confirmed_by(attempt)) {
        return Ok(unchanged(1, "the call does not show the failure any more"));
    }
    let mut shrinker = CallShrinker::new(attempts.call(), attempts.params(), request.budget);
    let mut smallest: Option<CandidateRerun> = None;
    let mut tried = 1;
    loop {
        let candidates = shrinker.next_batch();
        if candidates.is_empty() {
            break;
        }
        tried += candidates.len();
        let first_attempts = attempts.run(&candidates)?;
        let mut shows = vec![false; candidates.len()];
        for (index, attempt) in first_attempts.into_iter().enumerate() {
            if !attempts.is_confirmed_by(&attempt) {
                continue;
            }
            let reruns = attempts.run(&candidates[index..=index])?;
            if let Some(rerun) = reruns.into_iter().find(|rerun| attempts.is_confirmed_by(rerun)) {
                shows[index] = true;
                smallest = Some(rerun);
                break;
            }
        }
        shrinker.record_results(&shows);
    }
    let note = (!shrinker.is_minimal())
        .then(|| format!("the budget of {} candidates was used up", request.budget));
    let mut failure = failure.clone();
    if let Some(CandidateRerun { outcome, weakness, .. }) = smallest {
        failure.call = shrinker.best().clone();
        failure.verdict = outcome.verdict;
        failure.outcome = outcome;
        if let Some(weakness) = weakness {
            failure.message = weakness.evidence;
        }
    }
    let steps = shrinker.steps();
    Ok(ShrinkResult { failure, tried, steps, is_smallest: shrinker.is_minimal(), note })
}
