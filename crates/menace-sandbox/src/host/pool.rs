//! Keeps as many sandboxes busy as there are workers.
//!
//! A worker stays with a module as long as there are calls of it, since its interpreter is warm; what it
//! leaves stays warm for a while, for whoever comes back to that module, also in a later run.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};

use menace_model::{Call, Outcome};

use super::backend::{Backend, Warm};
use super::cancel::Cancel;
use super::options::WarmSpec;
use crate::SandboxError;

/// One call and the interpreter that it wants.
#[derive(Debug, Clone)]
pub struct Job {
    pub spec: WarmSpec,
    pub call: Call,
}

/// The most calls of a module that one worker takes at once: the others can help with the rest.
const LARGEST_BATCH: usize = 32;
/// How many batches each worker should get at least, so that they end at about the same time.
const BATCHES_PER_WORKER: usize = 4;

/// Sandboxes that nobody uses, for each worker: a module has about so many ways to be called in.
const IDLE_PER_WORKER: usize = 4;

/// Runs calls on several sandboxes at once.
#[derive(Debug)]
pub struct Pool<'a> {
    backend: &'a dyn Backend,
    workers: usize,
    /// The one that was used last comes last.
    idle: Mutex<VecDeque<Ready>>,
}

/// An interpreter that has made calls, and can make more.
#[derive(Debug)]
struct Ready {
    spec: WarmSpec,
    warm: Box<dyn Warm>,
}

/// Consecutive calls that can share an interpreter.
#[derive(Debug)]
struct Batch {
    spec: WarmSpec,
    calls: Vec<(usize, Call)>,
}

impl<'a> Pool<'a> {
    pub fn new(backend: &'a dyn Backend, workers: usize) -> Self {
        Self { backend, workers: workers.max(1), idle: Mutex::new(VecDeque::new()) }
    }

    /// Runs all jobs; `done` hears of each by its position, in the order in which they end. No job is
    /// begun once `cancel` is, and no sandbox is kept then.
    pub fn run(
        &self,
        cancel: &Cancel,
        jobs: impl IntoIterator<Item = Job>,
        mut done: impl FnMut(usize, Result<Outcome, SandboxError>),
    ) {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        let fair = jobs.len() / (self.workers * BATCHES_PER_WORKER);
        let queue = Mutex::new(batches(jobs, fair.clamp(1, LARGEST_BATCH)));
        let (sender, results) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..self.workers {
                let (sender, queue) = (sender.clone(), &queue);
                scope.spawn(move || self.work(cancel, queue, &sender));
            }
            drop(sender);
            for (index, result) in results {
                done(index, result);
            }
        });
        if cancel.is_cancelled() {
            self.idle().clear();
        }
    }

    fn work(
        &self,
        cancel: &Cancel,
        queue: &Mutex<VecDeque<Batch>>,
        results: &mpsc::Sender<(usize, Result<Outcome, SandboxError>)>,
    ) {
        let mut ready: Option<Ready> = None;
        while let Some(batch) = next(queue, ready.as_ref().map(|ready| &ready.spec)) {
            if ready.as_ref().is_none_or(|ready| ready.spec != batch.spec) {
                self.put_back(ready.take());
                ready = self.take(&batch.spec);
            }
            if let Some(spec) = upcoming(queue, &batch.spec)
                && !self.idle().iter().any(|idle| idle.spec == spec)
            {
                self.backend.anticipate(&spec);
            }
            for (index, call) in &batch.calls {
                if cancel.is_cancelled() {
                    return;
                }
                let result = match &mut ready {
                    Some(ready) => ready.warm.run(call),
                    None => self.backend.warm_alone(&batch.spec).and_then(|warm| {
                        ready.insert(Ready { spec: batch.spec.clone(), warm }).warm.run(call)
                    }),
                };
                if result.is_err() {
                    ready = None;
                }
                if results.send((*index, result)).is_err() {
                    return;
                }
            }
        }
        self.put_back(ready);
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<Ready>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, spec: &WarmSpec) -> Option<Ready> {
        let mut idle = self.idle();
        let at = idle.iter().rposition(|ready| ready.spec == *spec)?;
        idle.remove(at)
    }

    fn put_back(&self, ready: Option<Ready>) {
        let mut idle = self.idle();
        idle.extend(ready);
        let spare = idle.len().saturating_sub(self.workers * IDLE_PER_WORKER);
        let ended: Vec<Ready> = idle.drain(..spare).collect();
        drop(idle);
        // Ending one takes a while.
        drop(ended);
    }
}

/// The next batch of the module that is warm already, else the next of all.
fn next(queue: &Mutex<VecDeque<Batch>>, warm: Option<&WarmSpec>) -> Option<Batch> {
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    let same = warm.and_then(|warm| queue.iter().position(|batch| batch.spec == *warm));
    queue.remove(same.unwrap_or(0))
}

/// What will be wanted once the batches of this module are done.
fn upcoming(queue: &Mutex<VecDeque<Batch>>, now: &WarmSpec) -> Option<WarmSpec> {
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.iter().find(|batch| batch.spec != *now).map(|batch| batch.spec.clone())
}

fn batches(jobs: Vec<Job>, largest: usize) -> VecDeque<Batch> {
    let mut batches: VecDeque<Batch> = VecDeque::new();
    for (index, Job { spec, call }) in jobs.into_iter().enumerate() {
        match batches.back_mut() {
            Some(last) if last.spec == spec && last.calls.len() < largest => {
                last.calls.push((index, call));
            }
            _ => batches.push_back(Batch { spec, calls: vec![(index, call)] }),
        }
    }
    batches
}
