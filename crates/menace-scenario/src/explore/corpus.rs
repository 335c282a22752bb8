//! The corpus: inputs that reached new lines. Also decides which calls record coverage.
//!
//! Below Python 3.12, recording coverage slows down every line, so it is sampled while nothing new
//! is reached. Mutated inputs always record it.
//! Invariant: which calls record coverage depends only on what earlier calls reached, in their
//! order.

use std::collections::HashSet;

use menace_model::{InputIntent, Outcome, SeededRng, Verdict};

use super::PlannedProbe;
use crate::input::CallInput;

const MAX_CORPUS_INPUTS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct InputCorpus {
    reached: HashSet<(String, u32, u32)>,
    entries: Vec<CorpusEntry>,
    /// Number of entries at the last call of `take_has_new`.
    reported_len: usize,
}

#[derive(Debug)]
struct CorpusEntry {
    input: CallInput,
    returned: bool,
    /// Number of lines and branches that the input reached.
    reached_lines: usize,
    /// Number of lines that no earlier input had reached.
    new_lines: u64,
}

impl InputCorpus {
    /// Adds the input if it reached new lines or is the first that returned. Returns whether it
    /// reached new lines or branches.
    pub(super) fn add_if_new(&mut self, input: CallInput, outcome: &Outcome) -> bool {
        let mut reach = 0;
        let mut new_lines = 0;
        let mut reached_new = false;
        for file in outcome.coverage.iter().flat_map(|coverage| &coverage.files) {
            let lines = file.lines.iter().map(|&line| (0, line));
            for (from, to) in lines.chain(file.branches.iter().copied()) {
                reach += 1;
                let is_new = self.reached.insert((file.file.clone(), from, to));
                reached_new |= is_new;
                new_lines += u64::from(is_new && from == 0);
            }
        }
        let returned = outcome.verdict == Verdict::Returned;
        let is_first = returned && !self.entries.iter().any(|entry| entry.returned);
        if (reached_new || is_first)
            && self.entries.len() < MAX_CORPUS_INPUTS
            && input.intent != InputIntent::Misuse
        {
            self.entries.push(CorpusEntry { input, returned, reached_lines: reach, new_lines });
        }
        reached_new
    }

    /// Valid and boundary inputs that returned, each with the number of lines that it reached
    /// first; the input that reached most comes last.
    pub(super) fn returned_inputs(&self) -> Vec<(&CallInput, u64)> {
        let is_good = |entry: &&CorpusEntry| {
            entry.returned
                && matches!(entry.input.intent, InputIntent::Valid | InputIntent::Boundary)
        };
        let mut good: Vec<&CorpusEntry> = self.entries.iter().filter(is_good).collect();
        good.sort_by_key(|entry| entry.reached_lines);
        good.into_iter().map(|entry| (&entry.input, entry.new_lines)).collect()
    }

    /// Were entries added since the last call?
    pub(super) fn take_has_new(&mut self) -> bool {
        std::mem::replace(&mut self.reported_len, self.entries.len()) < self.entries.len()
    }

    /// A random entry: the newest in half of the cases, else newer entries more often.
    pub(super) fn pick(&self, random: &mut SeededRng) -> Option<&CallInput> {
        if random.chance(0.5) {
            return self.entries.last().map(|entry| &entry.input);
        }
        let one = random.next_below(self.entries.len() as u64);
        let other = random.next_below(self.entries.len() as u64);
        self.entries.get(one.max(other) as usize).map(|entry| &entry.input)
    }

    /// The returned input that reached most, valid inputs before others.
    pub(super) fn best(&self) -> Option<&CallInput> {
        self.best_for(|_| true)
    }

    /// The best input that fits, else the best of all.
    pub(super) fn best_for(&self, is_fit: impl Fn(&CallInput) -> bool) -> Option<&CallInput> {
        let returned = self.entries.iter().filter(|entry| entry.returned);
        let valid = |entry: &CorpusEntry| entry.input.intent == InputIntent::Valid;
        let rank = |entry: &&CorpusEntry| (is_fit(&entry.input), valid(entry), entry.reached_lines);
        returned.max_by_key(rank).map(|entry| &entry.input)
    }
}

/// Traced calls in a row without new lines after which coverage is sampled.
const MAX_BARREN_TRACED_CALLS: usize = 16;
/// While sampling, one of so many calls is traced. If it reaches new lines, all calls are traced
/// again.
const SAMPLING_INTERVAL_CALLS: usize = 4;

#[derive(Debug)]
pub(super) struct CoverageSampling {
    has_cheap_coverage: bool,
    /// Traced calls in a row that reached no new lines.
    barren_calls: usize,
}

impl CoverageSampling {
    pub(super) fn new(has_cheap_coverage: bool) -> Self {
        Self { has_cheap_coverage, barren_calls: 0 }
    }

    /// Records whether a traced call reached new lines.
    pub(super) fn record_traced_call(&mut self, has_new_lines: bool) {
        self.barren_calls = if has_new_lines { 0 } else { self.barren_calls + 1 };
    }

    /// Chooses which calls of a generation record coverage.
    pub(super) fn choose_traced(&self, probes: &mut [PlannedProbe]) {
        let pays = self.has_cheap_coverage || self.barren_calls < MAX_BARREN_TRACED_CALLS;
        for (index, probe) in probes.iter_mut().enumerate() {
            probe.coverage &= pays || index % SAMPLING_INTERVAL_CALLS == 0;
        }
    }
}
