//! Makes many calls on all sandboxes, and repeats a call whose sandbox was lost.
//!
//! Invariant: outcomes come back in the order of the jobs; a missing one means that the deadline
//! came before that call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::{Call, Outcome};
use menace_sandbox::{
    CallJob, CallScheduler, CancelToken, SandboxBackend, SandboxError, SandboxSpec,
};

/// A call whose sandbox is lost is repeated once: the machine may have caused it.
const MAX_RETRIES: u32 = 1;
/// How long after the deadline candidates and known failures are still rerun, so that no finding is
/// lost.
const RERUN_GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct CallRunner<'a> {
    /// Keeps its sandboxes warm between batches of calls.
    scheduler: Arc<CallScheduler<'a>>,
    /// Cancelled by Ctrl-C; ends all calls.
    cancel: CancelToken,
    /// No call is started after this time.
    deadline: Option<Instant>,
    has_cheap_coverage: bool,
}

/// Until when reruns may begin.
pub(crate) fn add_rerun_grace(deadline: Option<Instant>) -> Option<Instant> {
    deadline.map(|deadline| deadline.max(Instant::now()) + RERUN_GRACE)
}

/// A call with its sandbox, from the sandbox of its module.
pub(crate) fn build_job(spec: &SandboxSpec, call: Call) -> CallJob {
    CallJob { spec: spec.for_call(&call), call }
}

impl<'a> CallRunner<'a> {
    pub(crate) fn new(
        backend: &'a dyn SandboxBackend,
        workers: usize,
        cancel: CancelToken,
        deadline: Option<Instant>,
    ) -> Self {
        let has_cheap_coverage = backend.has_cheap_coverage();
        Self {
            scheduler: Arc::new(CallScheduler::new(backend, workers)),
            cancel,
            deadline,
            has_cheap_coverage,
        }
    }

    /// A runner for reruns of candidates, which may be started up to [`RERUN_GRACE`] after the
    /// deadline.
    pub(crate) fn with_grace(&self) -> Self {
        Self { deadline: add_rerun_grace(self.deadline), ..self.clone() }
    }

    /// Whether recording coverage costs next to nothing.
    pub(crate) fn has_cheap_coverage(&self) -> bool {
        self.has_cheap_coverage
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Makes all calls; `on_completed` receives the position and the outcome of each as it ends.
    pub(crate) fn make(
        &self,
        jobs: Vec<CallJob>,
        mut on_completed: impl FnMut(usize, &Outcome),
    ) -> Result<Vec<Option<Outcome>>, SandboxError> {
        let mut outcomes: Vec<Option<Outcome>> = vec![None; jobs.len()];
        let mut waiting: Vec<(usize, CallJob)> = jobs.into_iter().enumerate().collect();
        for retry in 0..=MAX_RETRIES {
            let late = CancelToken::default();
            let (positions, jobs): (Vec<usize>, Vec<CallJob>) = waiting.drain(..).unzip();
            let mut lost: Vec<usize> = Vec::new();
            let mut failure = None;
            let repeatable: Vec<CallJob> =
                if retry < MAX_RETRIES { jobs.clone() } else { Vec::new() };
            self.scheduler.run(&late, jobs, |number, result| {
                if self.cancel.is_cancelled() || self.is_late() {
                    late.cancel();
                }
                match result {
                    Ok(outcome) => {
                        on_completed(positions[number], &outcome);
                        outcomes[positions[number]] = Some(outcome);
                    }
                    Err(error) if is_loss(&error) && retry < MAX_RETRIES => {
                        tracing::warn!("a sandbox was lost, and its call is made again: {error}");
                        lost.push(number);
                    }
                    Err(error) => {
                        failure.get_or_insert(error);
                        late.cancel();
                    }
                }
            });
            if self.cancel.is_cancelled() {
                return Err(SandboxError::Cancelled);
            }
            if let Some(error) = failure {
                return Err(error);
            }
            if lost.is_empty() {
                break;
            }
            lost.sort_unstable();
            waiting = lost
                .into_iter()
                .map(|number| (positions[number], repeatable[number].clone()))
                .collect();
        }
        Ok(outcomes)
    }
}

fn is_loss(error: &SandboxError) -> bool {
    matches!(error, SandboxError::ConnectionLost(_) | SandboxError::Protocol(_))
}

#[cfg(test)]
mod tests {
    use menace_model::{CallConfinement, CallTarget, ModuleRef, SecurityLevel, TargetKind};

    use super::*;

    #[test]
    fn a_stored_call_keeps_its_confinement() {
        let module = ModuleRef { name: "desk".to_owned(), path: None };
        let target = CallTarget { module, qualname: "half".to_owned(), kind: TargetKind::Function };
        let usual = SandboxSpec::new(None);
        let confinement_of = |call: Call| {
            // The form in which a failure is stored.
            let stored = serde_json::to_string(&call).unwrap();
            build_job(&usual, serde_json::from_str(&stored).unwrap()).spec.confinement
        };
        let call = Call::new(target);
        assert_eq!(confinement_of(call.clone()), CallConfinement::DEFAULT);
        let strict = CallConfinement { security_level: SecurityLevel::STRICTEST, safe_mode: true };
        assert_eq!(confinement_of(Call { confinement: Some(strict), ..call }), strict);
    }
}
