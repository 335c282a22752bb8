//! From a call that fails to a simpler one that fails the same way.
//!
//! Making the calls and saying whether they fail the same way belongs to `menace-loop`. Each
//! candidate changes one thing of the best call so far: what surrounds it first (faults, company,
//! files, arguments that may be left out), then its values, the outer ones before the inner ones.
//! Invariant: every candidate is smaller than the call that it comes from, by an order in which
//! nothing can get smaller for ever; the seed and the target stay.

mod numbers;
mod places;
mod simpler;
mod size;
mod sizes;
mod surroundings;
#[cfg(test)]
mod tests;
mod text;
mod types;

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use menace_model::{Call, Param, Value};

pub use size::Size;
pub use sizes::{at_size, largest_size};

use places::Place;

/// Candidates that are tried together: enough for all cores, few enough not to be in vain.
const BATCH: usize = 8;

/// Makes a failing call smaller, batch by batch.
#[derive(Debug)]
pub struct Shrinker {
    params: Vec<Param>,
    best: Call,
    /// The candidates whose fate is awaited.
    asked: Vec<Call>,
    /// Calls that may still be asked for.
    budget: usize,
    /// What was tried already, and came to nothing.
    tried: HashSet<u64>,
    /// Where the pass over the call is; none: its surroundings come next.
    at: Option<usize>,
    waiting: VecDeque<Call>,
    /// Something got smaller in this pass, so that another one is worth it.
    progress: bool,
    steps: usize,
    done: bool,
}

impl Shrinker {
    /// Shrinks values within the declared types of `params`, which are the section's.
    pub fn new(call: Call, params: &[Param], budget: usize) -> Self {
        let mut shrinker = Self {
            params: params.to_vec(),
            tried: HashSet::from([fingerprint(&call)]),
            best: call,
            asked: Vec::new(),
            budget,
            at: None,
            waiting: VecDeque::new(),
            progress: false,
            steps: 0,
            done: false,
        };
        shrinker.fill();
        shrinker
    }

    /// The smallest call so far that fails.
    pub fn best(&self) -> &Call {
        &self.best
    }

    /// How often the call got smaller.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Nothing smaller fails, as far as single steps go; false when the budget was used up before.
    pub fn is_minimal(&self) -> bool {
        self.done
    }

    /// Candidates that do not depend on each other; empty when there is nothing left to try.
    #[expect(clippy::should_implement_trait, reason = "what comes next depends on what is learnt")]
    pub fn next(&mut self) -> Vec<Call> {
        self.asked.clear();
        let size = Size::of(&self.best);
        while self.asked.len() < BATCH.min(self.budget) && !self.done {
            let Some(candidate) = self.waiting.pop_front() else {
                self.advance();
                continue;
            };
            let is_new = || !self.tried.contains(&fingerprint(&candidate));
            if Size::of(&candidate) < size && has_its_labels(&candidate) && is_new() {
                self.tried.insert(fingerprint(&candidate));
                self.asked.push(candidate);
            }
        }
        self.budget -= self.asked.len();
        self.asked.clone()
    }

    /// Which of the last candidates fail the same way, in their order.
    pub fn learn(&mut self, fails: &[bool]) {
        let mut asked = std::mem::take(&mut self.asked).into_iter().zip(fails);
        let Some((smaller, _)) = asked.find(|(_, fails)| **fails) else { return };
        // The ones behind it may fail as well, and be one step from what is best now.
        for (passed_over, _) in asked {
            self.tried.remove(&fingerprint(&passed_over));
        }
        self.best = smaller;
        self.steps += 1;
        // Asking for it may have come to the end of the last pass.
        self.progress = true;
        self.done = false;
        // The same place may have more to give.
        self.fill();
    }

    /// To the next place of the call, to the next pass, or to the end.
    fn advance(&mut self) {
        let next = self.at.map_or(0, |at| at + 1);
        if next < Place::all(&self.best, &self.params).len() {
            self.at = Some(next);
        } else if self.progress {
            self.progress = false;
            self.at = None;
        } else {
            self.done = true;
        }
        self.fill();
    }

    /// All single steps at the place where the pass is.
    fn fill(&mut self) {
        self.waiting.clear();
        if self.done {
            return;
        }
        let Some(at) = self.at else {
            self.waiting.extend(surroundings::simpler(&self.best, &self.params));
            return;
        };
        let places = Place::all(&self.best, &self.params);
        let Some(place) = places.get(at) else { return };
        let Some(value) = place.value(&self.best) else { return };
        for value in simpler::simpler(value, place.declared.as_ref()) {
            let mut candidate = self.best.clone();
            if place.replace(&mut candidate, value) {
                self.waiting.push_back(candidate);
            }
        }
    }
}

/// A wrong match would only cost one candidate.
fn fingerprint(call: &Call) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&call.receiver, &call.args, &call.kwargs).hash(&mut hasher);
    // Neither limits nor conditions have a hash of their own, since they have fractions.
    format!("{:?}", (&call.limits, &call.conditions, &call.fixtures)).hash(&mut hasher);
    hasher.finish()
}

/// Nothing that is named was taken away.
fn has_its_labels(call: &Call) -> bool {
    let given = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    Value::check_labels(call.receiver.iter().chain(given)).is_ok()
}
