//! Shrinking: from a failing call to a smaller one that fails the same way.
//!
//! `menace-loop` makes the calls and compares their failures. Each candidate changes one part of
//! the best call so far: its context first (faults, concurrency, files, optional arguments), then
//! its values, the outer ones before the inner ones. Invariant: every candidate is smaller than the
//! call that it is made from, in a well-founded order; seed and target stay the same.

mod call_context;
mod complexity;
mod scalars;
#[cfg(test)]
mod tests;
mod types;
mod value_candidates;
mod value_paths;

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use menace_model::{Call, SignatureParam, Value};

pub use complexity::{CallComplexity, largest_size, with_size};

use value_paths::CallValuePath;

/// Candidates per batch: enough for all cores, few enough that little is wasted when one fails.
const CANDIDATES_PER_BATCH: usize = 8;

/// Makes a failing call smaller, batch by batch.
#[derive(Debug)]
pub struct CallShrinker {
    params: Vec<SignatureParam>,
    best: Call,
    /// The candidates of the last batch.
    pending_candidates: Vec<Call>,
    /// Candidates that may still be tried.
    budget: usize,
    /// Fingerprints of candidates that were tried.
    tried_fingerprints: HashSet<u64>,
    /// Index of the current value path; none while the context is shrunk.
    current_path: Option<usize>,
    queued_candidates: VecDeque<Call>,
    /// The call got smaller in this pass, so that another pass is made.
    has_progress: bool,
    steps: usize,
    is_done: bool,
}

impl CallShrinker {
    /// `params` are the section's: values stay of their declared types.
    pub fn new(call: Call, params: &[SignatureParam], budget: usize) -> Self {
        let mut shrinker = Self {
            params: params.to_vec(),
            tried_fingerprints: HashSet::from([fingerprint(&call)]),
            best: call,
            pending_candidates: Vec::new(),
            budget,
            current_path: None,
            queued_candidates: VecDeque::new(),
            has_progress: false,
            steps: 0,
            is_done: false,
        };
        shrinker.fill_queue();
        shrinker
    }

    /// The smallest failing call so far.
    pub fn best(&self) -> &Call {
        &self.best
    }

    /// Number of times that the call got smaller.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Whether no single step leads to a smaller failing call; false when the budget was used up
    /// before that was known.
    pub fn is_minimal(&self) -> bool {
        self.is_done
    }

    /// The next independent candidates; empty when there is nothing left to try.
    pub fn next_batch(&mut self) -> Vec<Call> {
        self.pending_candidates.clear();
        let size = CallComplexity::from_call(&self.best);
        while self.pending_candidates.len() < CANDIDATES_PER_BATCH.min(self.budget) && !self.is_done
        {
            let Some(candidate) = self.queued_candidates.pop_front() else {
                self.advance_pass();
                continue;
            };
            let is_new = || !self.tried_fingerprints.contains(&fingerprint(&candidate));
            if CallComplexity::from_call(&candidate) < size
                && has_all_labels(&candidate)
                && is_new()
            {
                self.tried_fingerprints.insert(fingerprint(&candidate));
                self.pending_candidates.push(candidate);
            }
        }
        self.budget -= self.pending_candidates.len();
        self.pending_candidates.clone()
    }

    /// Records which candidates of the last batch fail the same way, in their order.
    pub fn record_results(&mut self, fails: &[bool]) {
        let mut candidates = std::mem::take(&mut self.pending_candidates).into_iter().zip(fails);
        let Some((smaller, _)) = candidates.find(|(_, fails)| **fails) else { return };
        // Later candidates may fail as well, and are tried again from the new best call.
        for (passed_over, _) in candidates {
            self.tried_fingerprints.remove(&fingerprint(&passed_over));
        }
        self.best = smaller;
        self.steps += 1;
        // The last pass may have ended with this batch.
        self.has_progress = true;
        self.is_done = false;
        // The same path may allow further steps.
        self.fill_queue();
    }

    /// Advances to the next value path, to the next pass, or to the end.
    fn advance_pass(&mut self) {
        let next = self.current_path.map_or(0, |at| at + 1);
        if next < CallValuePath::all_paths(&self.best, &self.params).len() {
            self.current_path = Some(next);
        } else if self.has_progress {
            self.has_progress = false;
            self.current_path = None;
        } else {
            self.is_done = true;
        }
        self.fill_queue();
    }

    /// Queues all single steps at the current path.
    fn fill_queue(&mut self) {
        self.queued_candidates.clear();
        if self.is_done {
            return;
        }
        let Some(at) = self.current_path else {
            self.queued_candidates
                .extend(call_context::context_candidates(&self.best, &self.params));
            return;
        };
        let places = CallValuePath::all_paths(&self.best, &self.params);
        let Some(place) = places.get(at) else { return };
        let Some(value) = place.get_value(&self.best) else { return };
        for value in value_candidates::simpler_values(value, place.declared.as_ref()) {
            let mut candidate = self.best.clone();
            if place.replace_value(&mut candidate, value) {
                self.queued_candidates.push_back(candidate);
            }
        }
    }
}

/// A hash collision only loses one candidate.
fn fingerprint(call: &Call) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.receiver, &call.args, &call.kwargs).hash(&mut hasher);
    // Limits and conditions contain floats and implement no `Hash`.
    format!("{:?}", (&call.limits, &call.conditions, &call.fixtures)).hash(&mut hasher);
    hasher.finish()
}

/// Do all label references still have their value?
fn has_all_labels(call: &Call) -> bool {
    let arguments = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    Value::check_labels(call.receiver.iter().chain(arguments)).is_ok()
}
