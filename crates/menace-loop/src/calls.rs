//! Makes many calls on all sandboxes, and makes those again whose sandbox was lost.
//!
//! Which calls are worth making is decided elsewhere.
//! Invariant: outcomes come back in the order of the jobs, whoever was done first; a missing one
//! means that the time was up before its turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::{Call, Confinement, Outcome};
use menace_sandbox::{Backend, Cancel, Interpose, Job, Pool, SandboxError, WarmSpec};

/// A sandbox may be lost to the machine's own troubles; a second one is not.
const ATTEMPTS: u32 = 2;
/// When the time is up, suspects still get so long: what was found is not to be forgotten.
const GRACE: Duration = Duration::from_secs(10);

/// How calls are made.
#[derive(Debug, Clone)]
pub(crate) struct Caller<'a> {
    /// Sandboxes, warm from one time that calls are made to the next.
    pool: Arc<Pool<'a>>,
    /// Ends everything: Ctrl-C.
    cancel: Cancel,
    /// No call is begun after this.
    deadline: Option<Instant>,
    watches_for_free: bool,
}

/// The interpreter that a call wants, made of one that its module can be called in.
pub(crate) fn job(spec: &WarmSpec, call: Call) -> Job {
    let mut spec = WarmSpec { interpose: Interpose::of(&call.conditions), ..spec.clone() };
    if let Some(Confinement { security_level, safe_mode }) = call.confinement {
        (spec.security_level, spec.safe_mode) = (security_level, safe_mode);
    }
    // The ceiling of what its calls may have.
    spec.limits.processes = spec.limits.processes.max(call.limits.processes);
    Job { spec, call }
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        backend: &'a dyn Backend,
        workers: usize,
        cancel: Cancel,
        deadline: Option<Instant>,
    ) -> Self {
        let watches_for_free = backend.watches_for_free();
        Self { pool: Arc::new(Pool::new(backend, workers)), cancel, deadline, watches_for_free }
    }

    /// For a second look at what was found, also when the time has just run out.
    pub(crate) fn patient(&self) -> Self {
        let deadline = self.deadline.map(|deadline| deadline.max(Instant::now()) + GRACE);
        Self { deadline, ..self.clone() }
    }

    /// Does it cost next to nothing to see which lines a call reaches?
    pub(crate) fn watches_for_free(&self) -> bool {
        self.watches_for_free
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Makes all calls; `done` hears of each as it ends.
    pub(crate) fn make(
        &self,
        jobs: Vec<Job>,
        mut done: impl FnMut(usize, &Outcome),
    ) -> Result<Vec<Option<Outcome>>, SandboxError> {
        let mut outcomes: Vec<Option<Outcome>> = vec![None; jobs.len()];
        let mut waiting: Vec<(usize, Job)> = jobs.into_iter().enumerate().collect();
        // Calls that can share an interpreter one after the other.
        waiting.sort_by_cached_key(|(_, job)| likeness(&job.spec));
        for attempt in 1..=ATTEMPTS {
            let late = Cancel::default();
            let (places, these): (Vec<usize>, Vec<Job>) = waiting.drain(..).unzip();
            let mut lost: Vec<usize> = Vec::new();
            let mut failure = None;
            let again: Vec<Job> = if attempt < ATTEMPTS { these.clone() } else { Vec::new() };
            self.pool.run(&late, these, |number, result| {
                if self.cancel.is_cancelled() || self.is_late() {
                    late.cancel();
                }
                match result {
                    Ok(outcome) => {
                        done(places[number], &outcome);
                        outcomes[places[number]] = Some(outcome);
                    }
                    Err(error) if is_loss(&error) && attempt < ATTEMPTS => {
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
            waiting =
                lost.into_iter().map(|number| (places[number], again[number].clone())).collect();
        }
        Ok(outcomes)
    }
}

fn is_loss(error: &SandboxError) -> bool {
    matches!(error, SandboxError::Lost(_) | SandboxError::Protocol(_))
}

/// Equal for calls that can share an interpreter.
fn likeness(spec: &WarmSpec) -> impl Ord + use<> {
    let wants = spec.interpose;
    (
        spec.module.as_ref().map(|module| module.name.clone()),
        (wants.files, wants.memory, wants.sockets),
        (spec.security_level, spec.safe_mode, spec.hash_seed),
        spec.limits.processes,
        format!("{:?}", spec.limits),
    )
}

#[cfg(test)]
mod tests {
    use menace_model::{How, ModuleRef, Target};

    use super::*;

    #[test]
    fn a_call_that_is_made_again_is_confined_as_it_was() {
        let module = ModuleRef { name: "desk".to_owned(), path: None };
        let target = Target { module, qualname: "half".to_owned(), how: How::Function };
        let usual = WarmSpec::new(None);
        let of = |call: Call| {
            // As it is kept with a failure.
            let kept = serde_json::to_string(&call).unwrap();
            let spec = job(&usual, serde_json::from_str(&kept).unwrap()).spec;
            (spec.security_level, spec.safe_mode)
        };
        let call = Call::new(target);
        assert_eq!(of(call.clone()), (WarmSpec::DEFAULT_LEVEL, false));
        let confinement = Some(Confinement { security_level: 5, safe_mode: true });
        assert_eq!(of(Call { confinement, ..call }), (5, true));
    }
}
