//! Distributes calls over workers, each with a session of its own.
//!
//! A worker keeps taking calls of the same module, since its sandbox is warm. Its sandbox then
//! stays idle in the backend's pool, for the next worker or the next run.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use menace_model::{Call, Outcome, SandboxSpec};

use super::backend::{CallSession, SandboxBackend};
use super::cancel::CancelToken;
use crate::SandboxError;

/// One call and the sandbox that it needs.
#[derive(Debug, Clone)]
pub struct CallJob {
    pub spec: SandboxSpec,
    pub call: Call,
}

/// The most calls of a module that one worker takes at once: the other workers share the rest.
const MAX_BATCH_CALLS: usize = 32;
/// How many batches each worker should get at least, so that all end at about the same time.
const BATCHES_PER_WORKER: usize = 4;
/// How many sandboxes per worker stay idle: a module has about this many specs.
const MAX_IDLE_PER_WORKER: usize = 4;

type JobResult = Result<Outcome, SandboxError>;

/// Runs calls on several sandboxes at once.
#[derive(Debug)]
pub struct CallScheduler<'a> {
    backend: &'a dyn SandboxBackend,
    workers: usize,
}

/// Calls with the same spec, which can share a sandbox.
#[derive(Debug)]
struct CallBatch {
    spec: SandboxSpec,
    calls: Vec<(usize, Call)>,
}

/// The batches that no worker has taken yet.
#[derive(Debug)]
struct BatchQueue(Mutex<VecDeque<CallBatch>>);

impl<'a> CallScheduler<'a> {
    pub fn new(backend: &'a dyn SandboxBackend, workers: usize) -> Self {
        let workers = workers.max(1);
        backend.reserve_idle(workers * MAX_IDLE_PER_WORKER);
        Self { backend, workers }
    }

    /// Runs all jobs. `done` receives each result with the position of its job, in the order in
    /// which the calls end. Once `cancel` is cancelled no job is started, and no sandbox stays
    /// idle.
    pub fn run(
        &self,
        cancel: &CancelToken,
        jobs: impl IntoIterator<Item = CallJob>,
        mut done: impl FnMut(usize, JobResult),
    ) {
        let jobs: Vec<CallJob> = jobs.into_iter().collect();
        let fair = jobs.len() / (self.workers * BATCHES_PER_WORKER);
        let queue = &BatchQueue::new(jobs, fair.clamp(1, MAX_BATCH_CALLS));
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.workers {
                let sender = sender.clone();
                scope.spawn(move || self.run_worker(cancel, queue, &sender));
            }
            drop(sender);
            for (index, result) in results {
                done(index, result);
            }
        });
        if cancel.is_cancelled() {
            self.backend.release_idle(self.max_idle());
            self.backend.reserve_idle(self.max_idle());
        }
    }

    fn run_worker(
        &self,
        cancel: &CancelToken,
        queue: &BatchQueue,
        results: &mpsc::Sender<(usize, JobResult)>,
    ) {
        let mut current: Option<(SandboxSpec, Box<dyn CallSession>)> = None;
        while let Some(batch) = queue.take(current.as_ref().map(|(spec, _)| spec)) {
            current = current.filter(|(spec, _)| *spec == batch.spec);
            if let Some(upcoming) = queue.next_other(&batch.spec) {
                self.backend.prewarm(&upcoming);
            }
            for (index, call) in &batch.calls {
                if cancel.is_cancelled() {
                    return;
                }
                let result = match &mut current {
                    Some((_, session)) => session.run(call),
                    None => self.backend.open_pooled_session(&batch.spec).and_then(|session| {
                        current.insert((batch.spec.clone(), session)).1.run(call)
                    }),
                };
                if result.is_err() {
                    current = None;
                }
                if results.send((*index, result)).is_err() {
                    return;
                }
            }
        }
    }

    fn max_idle(&self) -> usize {
        self.workers * MAX_IDLE_PER_WORKER
    }
}

impl Drop for CallScheduler<'_> {
    fn drop(&mut self) {
        self.backend.release_idle(self.max_idle());
    }
}

impl BatchQueue {
    /// Groups calls by spec, in the order in which the specs first appear.
    fn new(jobs: Vec<CallJob>, max_calls: usize) -> Self {
        let mut calls_by_spec: Vec<(SandboxSpec, Vec<(usize, Call)>)> = Vec::new();
        let mut positions: HashMap<SandboxSpec, usize> = HashMap::new();
        for (index, CallJob { spec, call }) in jobs.into_iter().enumerate() {
            let next = calls_by_spec.len();
            let position = *positions.entry(spec).or_insert_with_key(|spec| {
                calls_by_spec.push((spec.clone(), Vec::new()));
                next
            });
            calls_by_spec[position].1.push((index, call));
        }
        let mut batches = VecDeque::new();
        for (spec, mut calls) in calls_by_spec {
            while !calls.is_empty() {
                let rest = calls.split_off(max_calls.min(calls.len()));
                batches.push_back(CallBatch { spec: spec.clone(), calls });
                calls = rest;
            }
        }
        Self(Mutex::new(batches))
    }

    /// The next batch of the worker's warm spec; if there is none, the next batch of all.
    fn take(&self, warm: Option<&SandboxSpec>) -> Option<CallBatch> {
        let mut batches = self.batches();
        let same = warm.and_then(|warm| batches.iter().position(|batch| batch.spec == *warm));
        batches.remove(same.unwrap_or(0))
    }

    /// The spec that will be needed after the batches of `current`.
    fn next_other(&self, current: &SandboxSpec) -> Option<SandboxSpec> {
        let batches = self.batches();
        batches.iter().find(|batch| batch.spec != *current).map(|batch| batch.spec.clone())
    }

    fn batches(&self) -> MutexGuard<'_, VecDeque<CallBatch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{CallTarget, ModuleRef, TargetKind};

    use super::*;

    #[test]
    fn calls_with_equal_specs_share_batches_wherever_they_stand() {
        let job = |name: &str| {
            let module = ModuleRef { name: name.to_owned(), path: None };
            let target = CallTarget {
                module: module.clone(),
                qualname: "f".to_owned(),
                kind: TargetKind::Function,
            };
            CallJob { spec: SandboxSpec::new(Some(module)), call: Call::new(target) }
        };
        let queue = BatchQueue::new(["b", "a", "b", "a", "b"].map(job).to_vec(), 2);
        let batches: Vec<(String, Vec<usize>)> = queue
            .batches()
            .iter()
            .map(|batch| {
                let module = batch.spec.module.as_ref().map(|module| module.name.clone());
                (module.unwrap_or_default(), batch.calls.iter().map(|(index, _)| *index).collect())
            })
            .collect();
        let expected = [("b", vec![0, 2]), ("b", vec![4]), ("a", vec![1, 3])]
            .map(|(name, calls)| (name.to_owned(), calls));
        assert_eq!(batches, expected);
    }
}
