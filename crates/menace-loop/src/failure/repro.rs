//! Makes the call of a failure again, and says what became of it.

use menace_model::{Failure, Limits, Outcome, WeaknessKind};
use menace_sandbox::{Backend, Cancel, SandboxError};
use menace_scenario::judge::Weakness;
use menace_source::Analysis;

use super::FailureError;
use super::trials::{Trial, Trials};

/// What hangs gets so long before anybody is blamed.
const PATIENT_MS: u64 = 3_000;
/// What depends on the order of things may need another look.
const LOOKS: usize = 3;

/// What became of a failure.
#[derive(Debug, Clone)]
pub enum Repro {
    /// It fails as it did.
    Still { outcome: Outcome },
    /// It fails in another way.
    Other { weakness: Weakness, outcome: Outcome },
    /// It does not fail any more.
    Fixed { outcome: Outcome },
    /// The section is gone, or cannot be called like this any more.
    Vanished { why: String },
}

/// Makes the call again.
pub fn repro(
    failure: &Failure,
    backend: &dyn Backend,
    analysis: &Analysis,
) -> Result<Repro, SandboxError> {
    let trials = match Trials::new(failure, backend, analysis, 1, Cancel::default(), None) {
        Ok(trials) => trials,
        Err(FailureError::Vanished { why, .. }) => return Ok(Repro::Vanished { why }),
        Err(FailureError::Sandbox(error)) => return Err(error),
    };
    let trial = look(failure, &trials)?;
    Ok(match trial.weakness.clone() {
        _ if trials.shows(&trial) => Repro::Still { outcome: trial.outcome },
        Some(weakness) => Repro::Other { weakness, outcome: trial.outcome },
        None => Repro::Fixed { outcome: trial.outcome },
    })
}

/// Is it seen a second time?
pub fn confirm(
    failure: &Failure,
    backend: &dyn Backend,
    analysis: &Analysis,
) -> Result<bool, SandboxError> {
    Ok(matches!(repro(failure, backend, analysis)?, Repro::Still { .. }))
}

/// Patiently, and more than once where chance has a say.
fn look(failure: &Failure, trials: &Trials<'_>) -> Result<Trial, SandboxError> {
    let mut call = trials.call();
    let by_chance =
        matches!(failure.kind, WeaknessKind::Race | WeaknessKind::Deadlock | WeaknessKind::Slow);
    if matches!(failure.kind, WeaknessKind::Hang | WeaknessKind::Race | WeaknessKind::Deadlock) {
        let timeout_ms = call.limits.timeout_ms.max(PATIENT_MS);
        call.limits = Limits { timeout_ms, ..call.limits };
    }
    let looks = if by_chance { LOOKS } else { 1 };
    let mut seen = None;
    for _ in 0..looks {
        for trial in trials.run(std::slice::from_ref(&call))? {
            let shows = trials.shows(&trial);
            seen = Some(trial);
            if shows {
                break;
            }
        }
        if seen.as_ref().is_some_and(|trial| trials.shows(trial)) {
            break;
        }
    }
    seen.ok_or(SandboxError::Cancelled)
}
