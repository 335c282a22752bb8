//! Keeps as many sandboxes busy as there are workers.
//!
//! A worker stays with a module as long as there are calls of it, since its interpreter is warm.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError, mpsc};

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

/// Runs calls on several sandboxes at once.
#[derive(Debug)]
pub struct Pool<'a> {
    backend: &'a dyn Backend,
    workers: usize,
    cancel: Cancel,
}

/// Consecutive calls that can share an interpreter.
#[derive(Debug)]
struct Batch {
    spec: WarmSpec,
    calls: Vec<(usize, Call)>,
}

impl<'a> Pool<'a> {
    pub fn new(backend: &'a dyn Backend, workers: usize, cancel: Cancel) -> Self {
        Self { backend, workers: workers.max(1), cancel }
    }

    /// Runs all jobs; `done` hears of each by its position, in the order in which they end.
    pub fn run(
        &self,
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
                scope.spawn(move || self.work(queue, &sender));
            }
            drop(sender);
            for (index, result) in results {
                done(index, result);
            }
        });
    }

    fn work(
        &self,
        queue: &Mutex<VecDeque<Batch>>,
        results: &mpsc::Sender<(usize, Result<Outcome, SandboxError>)>,
    ) {
        let mut warm: Option<(WarmSpec, Box<dyn Warm + '_>)> = None;
        while let Some(batch) = next(queue, warm.as_ref().map(|(spec, _)| spec)) {
            let is_warm = warm.as_ref().is_some_and(|(spec, _)| *spec == batch.spec);
            if !is_warm {
                warm = None;
            }
            if let Some(spec) = upcoming(queue, &batch.spec) {
                self.backend.anticipate(&spec);
            }
            for (index, call) in &batch.calls {
                if self.cancel.is_cancelled() {
                    return;
                }
                let result = match &mut warm {
                    Some((_, warm)) => warm.run(call),
                    None => self
                        .backend
                        .warm_alone(&batch.spec)
                        .and_then(|fresh| warm.insert((batch.spec.clone(), fresh)).1.run(call)),
                };
                if result.is_err() {
                    warm = None;
                }
                if results.send((*index, result)).is_err() {
                    return;
                }
            }
        }
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
