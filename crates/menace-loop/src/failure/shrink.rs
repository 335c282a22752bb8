//! Makes the call of a failure as small as possible.

use std::time::Instant;

use menace_model::{Failure, WeaknessKind};
use menace_sandbox::{Backend, Cancel};
use menace_scenario::shrink::Shrinker;
use menace_source::Analysis;

use super::FailureError;
use super::trials::{Trial, Trials};

/// How far to go.
#[derive(Debug, Clone)]
pub struct Shrinking {
    /// Candidates that are tried at most; some take more than one call.
    pub budget: usize,
    pub workers: usize,
    pub cancel: Cancel,
    /// Whoever is late gets [`FailureError`] for what was cut off; none for no end.
    pub deadline: Option<Instant>,
}

/// A failure after shrinking.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// With the smallest call that shows it; the same as before when nothing smaller does.
    pub failure: Failure,
    /// Candidates that were tried.
    pub tried: usize,
    /// How often it got smaller.
    pub steps: usize,
    /// Nothing smaller shows it, and that was tried.
    pub is_smallest: bool,
    /// What is to be known about the result: why it is not smaller.
    pub note: Option<String>,
}

/// Shrinks until nothing smaller fails the same way, or until the budget is used up.
pub fn shrink(
    failure: &Failure,
    backend: &dyn Backend,
    analysis: &Analysis,
    shrinking: &Shrinking,
) -> Result<Shrunk, FailureError> {
    let unchanged = |tried, note: &str| Shrunk {
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
    let Shrinking { workers, cancel, deadline, .. } = shrinking.clone();
    let trials = Trials::new(failure, backend, analysis, workers, cancel, deadline)?;
    let first = trials.run(&[trials.call()])?;
    if !first.iter().any(|trial| trials.shows(trial)) {
        return Ok(unchanged(1, "the call does not show the failure any more"));
    }
    let mut shrinker = Shrinker::new(trials.call(), trials.params(), shrinking.budget);
    let mut smallest: Option<Trial> = None;
    let mut tried = 1;
    loop {
        let candidates = shrinker.next();
        if candidates.is_empty() {
            break;
        }
        tried += candidates.len();
        let found = trials.run(&candidates)?;
        let mut shows = vec![false; candidates.len()];
        for (at, trial) in found.into_iter().enumerate() {
            // Nobody is blamed for a single observation.
            if trials.shows(&trial) {
                let again = trials.run(&candidates[at..=at])?;
                if let Some(again) = again.into_iter().find(|again| trials.shows(again)) {
                    shows[at] = true;
                    smallest = Some(again);
                    break;
                }
            }
        }
        shrinker.learn(&shows);
    }
    let note = (!shrinker.is_minimal())
        .then(|| format!("the budget of {} candidates was used up", shrinking.budget));
    let mut failure = failure.clone();
    if let Some(Trial { outcome, weakness }) = smallest {
        failure.call = shrinker.best().clone();
        failure.verdict = outcome.verdict;
        failure.outcome = outcome;
        if let Some(weakness) = weakness {
            failure.message = weakness.evidence;
        }
    }
    let (steps, is_smallest) = (shrinker.steps(), shrinker.is_minimal());
    Ok(Shrunk { failure, tried, steps, is_smallest, note })
}
