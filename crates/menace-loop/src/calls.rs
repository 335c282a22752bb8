//! Makes many calls on all sandboxes, and repeats a call whose sandbox was lost.
//!
//! Invariants: outcomes come back in the order of the jobs; a missing one means that the deadline
//! came before that call, or during it. A lost sandbox costs its call, which has then crashed.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use menace_model::{Call, Outcome};
use menace_sandbox::{
    CallJob, CallScheduler, CancelToken, SandboxBackend, SandboxError, SandboxSpec,
};

/// A call whose sandbox is lost is repeated once: the machine may have caused it.
const MAX_RETRIES: u32 = 1;
/// The part of the time that is kept for reruns of candidates, so that no finding is lost: one in
/// so many, and no more than this.
const RERUN_TIME_DIVISOR: u32 = 10;
const MAX_RERUN_TIME: Duration = Duration::from_secs(10);
/// How long after the end calls under way may take, before their sandboxes are ended.
const CALL_GRACE: Duration = Duration::from_millis(200);
/// How often sandboxes are ended after that, until no call is under way.
const END_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub(crate) struct CallRunner<'a> {
    /// Keeps its sandboxes warm between batches of calls.
    scheduler: Arc<CallScheduler<'a>>,
    /// Cancelled by Ctrl-C; ends all calls.
    cancel: CancelToken,
    /// No call is started after this time: the end, less the time kept for reruns.
    call_deadline: Option<Instant>,
    /// No rerun is started after this time, and calls under way are ended.
    end: Option<Instant>,
    has_cheap_coverage: bool,
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
        end: Option<Instant>,
    ) -> Self {
        let has_cheap_coverage = backend.has_cheap_coverage();
        let call_deadline = end.map(|end| {
            let time = end.saturating_duration_since(Instant::now());
            end.checked_sub((time / RERUN_TIME_DIVISOR).min(MAX_RERUN_TIME)).unwrap_or(end)
        });
        Self {
            scheduler: Arc::new(CallScheduler::new(backend, workers)),
            cancel,
            call_deadline,
            end,
            has_cheap_coverage,
        }
    }

    /// A runner for reruns of candidates, which have time until the end.
    pub(crate) fn for_reruns(&self) -> Self {
        Self { call_deadline: self.end, ..self.clone() }
    }

    /// Whether recording coverage costs next to nothing.
    pub(crate) fn has_cheap_coverage(&self) -> bool {
        self.has_cheap_coverage
    }

    pub(crate) fn is_late(&self) -> bool {
        self.call_deadline.is_some_and(|deadline| Instant::now() >= deadline)
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
            let stop = CancelToken::default();
            if self.is_late() {
                stop.cancel();
            }
            let (positions, jobs): (Vec<usize>, Vec<CallJob>) = waiting.drain(..).unzip();
            let mut lost: Vec<usize> = Vec::new();
            let mut failure = None;
            let repeatable: Vec<CallJob> =
                if retry < MAX_RETRIES { jobs.clone() } else { Vec::new() };
            self.run_until_end(&stop, jobs, |number, result| {
                if self.cancel.is_cancelled() || self.is_late() {
                    stop.cancel();
                }
                let result = match result {
                    // `run_until_end` ended this sandbox.
                    Err(error) if error.is_loss() && self.is_over() => return,
                    Err(error) if error.is_loss() && retry < MAX_RETRIES => {
                        tracing::warn!("a sandbox was lost, and its call is made again: {error}");
                        lost.push(number);
                        return;
                    }
                    other => other.or_else(SandboxError::lost_to_crash),
                };
                match result {
                    Ok(outcome) => {
                        on_completed(positions[number], &outcome);
                        outcomes[positions[number]] = Some(outcome);
                    }
                    Err(error) => {
                        failure.get_or_insert(error);
                        stop.cancel();
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

    /// Runs the jobs, and ends the sandboxes of those that are still under way after the end.
    fn run_until_end(
        &self,
        stop: &CancelToken,
        jobs: Vec<CallJob>,
        done: impl FnMut(usize, Result<Outcome, SandboxError>),
    ) {
        let Some(end) = self.end else { return self.scheduler.run(stop, jobs, done) };
        std::thread::scope(|scope| {
            let (finished, is_finished) = mpsc::channel::<()>();
            scope.spawn(move || {
                let mut wait = end.saturating_duration_since(Instant::now()) + CALL_GRACE;
                while is_finished.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                    stop.cancel();
                    // Again and again: another one may just have been started.
                    self.cancel.end_sandboxes();
                    wait = END_INTERVAL;
                }
            });
            self.scheduler.run(stop, jobs, done);
            drop(finished);
        });
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end + CALL_GRACE)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use menace_model::{
        CallConfinement, CallStage, CallTarget, ModuleRef, SecurityLevel, TargetKind, Verdict,
    };
    use menace_sandbox::{CallSession, Tier};

    use super::*;

    /// Loses its sandboxes to one module, always or the first time.
    #[derive(Debug, Clone, Default)]
    struct LosingBackend {
        recovers: bool,
        lost: Arc<AtomicUsize>,
    }

    impl SandboxBackend for LosingBackend {
        fn tier(&self) -> Tier {
            Tier::Unsafe
        }

        fn open_session(&self, _: &SandboxSpec) -> Result<Box<dyn CallSession>, SandboxError> {
            Ok(Box::new(self.clone()))
        }
    }

    impl CallSession for LosingBackend {
        fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError> {
            let is_lost = call.target.module.name == "hostile"
                && (self.lost.fetch_add(1, Ordering::Relaxed) == 0 || !self.recovers);
            if is_lost {
                return Err(SandboxError::Stalled);
            }
            Ok(Outcome::new(Verdict::Returned, CallStage::Call))
        }
    }

    fn call_of(module: &str) -> Call {
        let module = ModuleRef { name: module.to_owned(), path: None };
        Call::new(CallTarget { module, qualname: "half".to_owned(), kind: TargetKind::Function })
    }

    fn make(backend: &LosingBackend, end: Option<Instant>) -> Vec<Option<Outcome>> {
        let runner = CallRunner::new(backend, 1, CancelToken::default(), end);
        let jobs = ["sound", "hostile", "sound"].map(|name| {
            let call = call_of(name);
            CallJob { spec: SandboxSpec::new(Some(call.target.module.clone())), call }
        });
        runner.make(jobs.into(), |_, _| {}).expect("a loss is no error")
    }

    #[test]
    fn a_sandbox_that_is_lost_again_costs_its_call_and_no_other() {
        let backend = LosingBackend::default();
        let outcomes: Vec<_> = make(&backend, None).into_iter().map(Option::unwrap).collect();
        let verdicts = outcomes.iter().map(|outcome| outcome.verdict);
        let expected = [Verdict::Returned, Verdict::Crashed, Verdict::Returned];
        assert!(verdicts.eq(expected), "{outcomes:#?}");
        let reason = outcomes[1].reason.as_deref();
        assert!(reason.is_some_and(|why| why.contains("stopped answering")), "{reason:?}");
        assert_eq!(backend.lost.load(Ordering::Relaxed), 2, "it was made again once");
    }

    #[test]
    fn a_call_whose_sandbox_is_lost_once_is_made_again() {
        let backend = LosingBackend { recovers: true, ..LosingBackend::default() };
        let returned = |outcome: Option<Outcome>| outcome.unwrap().verdict == Verdict::Returned;
        assert!(make(&backend, None).into_iter().all(returned));
    }

    #[test]
    fn no_call_begins_after_the_end() {
        let backend = LosingBackend::default();
        assert_eq!(make(&backend, Some(Instant::now())), [None, None, None]);
        assert_eq!(backend.lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_stored_call_keeps_its_confinement() {
        let usual = SandboxSpec::new(None);
        let confinement_of = |call: Call| {
            // The form in which a failure is stored.
            let stored = serde_json::to_string(&call).unwrap();
            build_job(&usual, serde_json::from_str(&stored).unwrap()).spec.confinement
        };
        let call = call_of("desk");
        assert_eq!(confinement_of(call.clone()), CallConfinement::DEFAULT);
        let strict = CallConfinement { security_level: SecurityLevel::STRICTEST, safe_mode: true };
        assert_eq!(confinement_of(Call { confinement: Some(strict), ..call }), strict);
    }
}
