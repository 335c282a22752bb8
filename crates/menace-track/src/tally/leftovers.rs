//! What calls left behind, counted.

use menace_model::Outcome;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftovers {
    pub threads: u64,
    pub processes: u64,
    pub descriptors: u64,
    /// Files that were created, changed or deleted.
    pub files: u64,
    /// Calls after which the interpreter was not what it was.
    pub state: u64,
}

impl Leftovers {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        let changed = &outcome.changed;
        let has_changed = !changed.environment.is_empty()
            || changed.working_directory.is_some()
            || !changed.signals.is_empty()
            || changed.recursion_limit.is_some()
            || !changed.defaults.is_empty();
        self.threads += outcome.left.threads.len() as u64;
        self.processes += outcome.left.processes.len() as u64;
        self.descriptors += outcome.left.descriptors.len() as u64;
        self.files = self.files.saturating_add(outcome.files.total);
        self.state += u64::from(has_changed);
    }

    pub fn merge(&mut self, other: &Self) {
        let Self { threads, processes, descriptors, files, state } = other;
        self.threads += threads;
        self.processes += processes;
        self.descriptors += descriptors;
        self.files = self.files.saturating_add(*files);
        self.state += state;
    }
}
