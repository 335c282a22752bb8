//! Folds the calls of a cell, one by one, into a few numbers.
//!
//! What the numbers mean together is told in `measure`. Outcomes are untrusted: whatever could grow
//! with them has an upper end.
//! Invariant: all sums are of integers and all bounds keep the smallest, so that the order of adding
//! and merging does not matter.

mod costs;
mod leftovers;
mod lines;
mod results;
mod sketch;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use menace_model::{Call, Intent, Outcome, Stage, Verdict};
use serde::{Deserialize, Serialize};

pub use costs::Costs;
pub use leftovers::Leftovers;
pub use lines::Lines;
pub use sketch::Sketch;

use costs::nanoseconds;
use results::Results;

/// A tally keeps the lines of so many files.
const MAX_FILES: usize = 1024;

/// What came of the inputs of one kind. A call for which the section is blamed was neither returned
/// nor answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCount {
    /// Calls that came to the section.
    pub asked: u64,
    pub returned: u64,
    /// Returned or refused, or raised on purpose.
    pub answered: u64,
    /// Raised on purpose, though the input was not meant to be bad: the section knows better.
    pub declined: u64,
}

/// All that is kept of the calls of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// All calls, those that are unreachable too.
    pub calls: u64,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Calls that came to the section, by what their input was meant to be.
    pub inputs: BTreeMap<Intent, InputCount>,
    /// Calls that the section is blamed for.
    pub blamed: u64,
    /// Crashes and limits that were hit, without blame and without a fault that struck: bad where
    /// nothing was made harder.
    pub hurt: u64,
    /// Violations and crashes by their severity, in thousandths of the worst.
    pub harm: u64,
    pub violations: u64,
    /// Opportunities that faults had, and how many they took.
    pub offered: u64,
    pub struck: u64,
    /// Calls that felt a fault.
    pub struck_calls: u64,
    /// From the last strike to the return, in nanoseconds.
    pub recovery: Sketch,
    /// Of answered calls that were not slowed down by tracing.
    pub plain: Costs,
    /// Of answered calls that were.
    pub traced: Costs,
    /// Processor time of all calls, answered or not, in nanoseconds.
    pub cpu_ns: u64,
    pub left: Leftovers,
    /// What bursts started; none without a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned: Option<Spawned>,
    /// Reached lines, by file.
    pub covered: BTreeMap<String, Lines>,
    results: Results,
}

/// Threads and tasks that ran a section at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spawned {
    pub threads: u64,
    pub tasks: u64,
}

impl Spawned {
    pub fn merge(&mut self, other: Self) {
        self.threads = self.threads.saturating_add(other.threads);
        self.tasks = self.tasks.saturating_add(other.tasks);
    }
}

impl Tally {
    /// Adds a call; `blamed` when `judge` says so of its outcome.
    pub fn add(&mut self, call: &Call, outcome: &Outcome, blamed: bool) {
        self.calls += 1;
        *self.verdicts.entry(outcome.verdict).or_default() += 1;
        self.cover(outcome);
        if !came_to_section(outcome, blamed) {
            return;
        }
        let has_declined = !blamed && outcome.verdict == Verdict::Raised && is_meant(outcome);
        let has_answered = has_declined
            || !blamed && matches!(outcome.verdict, Verdict::Returned | Verdict::Refused);
        let is_struck = outcome.felt.iter().any(|felt| felt.struck > 0);

        let count = self.inputs.entry(call.intent).or_default();
        count.asked += 1;
        count.returned += u64::from(!blamed && outcome.verdict == Verdict::Returned);
        count.answered += u64::from(has_answered);
        count.declined += u64::from(has_declined);

        self.blamed += u64::from(blamed);
        self.hurt += u64::from(!blamed && !is_struck && has_hurt(outcome.verdict));
        self.harm += harm(outcome, blamed, is_struck);
        self.violations += outcome.violations.len() as u64;
        for felt in &outcome.felt {
            self.offered = self.offered.saturating_add(felt.offered);
            self.struck = self.struck.saturating_add(felt.struck);
        }
        self.struck_calls += u64::from(is_struck);
        if is_struck && !blamed && outcome.verdict == Verdict::Returned {
            self.recover(outcome);
        }
        let usage = &outcome.runtime_metrics;
        let cpu_ns = nanoseconds(usage.user_cpu_ms + usage.system_cpu_ms);
        self.cpu_ns = self.cpu_ns.saturating_add(cpu_ns);
        if has_answered {
            let costs = if call.coverage { &mut self.traced } else { &mut self.plain };
            costs.add(usage);
        }
        self.left.add(outcome);
        if let Some(burst) = &outcome.burst {
            let spawned = Spawned { threads: burst.threads_spawned, tasks: burst.tasks_spawned };
            self.spawned.get_or_insert_default().merge(spawned);
        }
        self.results.add(call, outcome);
    }

    pub fn merge(&mut self, other: &Self) {
        let Self {
            calls,
            verdicts,
            inputs,
            blamed,
            hurt,
            harm,
            violations,
            offered,
            struck,
            struck_calls,
            recovery,
            plain,
            traced,
            cpu_ns,
            left,
            spawned,
            covered,
            results,
        } = other;
        self.calls += calls;
        for (verdict, count) in verdicts {
            *self.verdicts.entry(*verdict).or_default() += count;
        }
        for (intent, count) in inputs {
            let own = self.inputs.entry(*intent).or_default();
            own.asked += count.asked;
            own.returned += count.returned;
            own.answered += count.answered;
            own.declined += count.declined;
        }
        self.blamed += blamed;
        self.hurt += hurt;
        self.harm += harm;
        self.violations += violations;
        self.offered = self.offered.saturating_add(*offered);
        self.struck = self.struck.saturating_add(*struck);
        self.struck_calls += struck_calls;
        self.recovery.merge(recovery);
        self.plain.merge(plain);
        self.traced.merge(traced);
        self.cpu_ns = self.cpu_ns.saturating_add(*cpu_ns);
        self.left.merge(left);
        if let Some(spawned) = spawned {
            self.spawned.get_or_insert_default().merge(*spawned);
        }
        for (file, lines) in covered {
            self.covered.entry(file.clone()).or_default().merge(lines);
        }
        self.bound_files();
        self.results.merge(results);
    }

    /// Calls that came to the section.
    pub fn asked(&self) -> u64 {
        self.inputs.values().map(|count| count.asked).sum()
    }

    /// Of these, those that returned, were refused or raised on purpose, without blame.
    pub fn answered(&self) -> u64 {
        self.inputs.values().map(|count| count.answered).sum()
    }

    pub fn with(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    /// What answered calls cost: measured on those that nothing slowed down, if there are any.
    pub fn costs(&self) -> &Costs {
        if self.plain.cpu_ns.count() > 0 { &self.plain } else { &self.traced }
    }

    /// How many calls were made more than once with the same seed and had different results.
    pub fn unequal_results(&self) -> u64 {
        self.results.unequal()
    }

    fn cover(&mut self, outcome: &Outcome) {
        for file in outcome.coverage.iter().flat_map(|coverage| &coverage.files) {
            self.covered.entry(file.file.clone()).or_default().add(&file.lines);
        }
        self.bound_files();
    }

    fn bound_files(&mut self) {
        while self.covered.len() > MAX_FILES {
            self.covered.pop_last();
        }
    }

    fn recover(&mut self, outcome: &Outcome) {
        let last = outcome.felt.iter().filter_map(|felt| felt.last_ms).reduce(f64::max);
        if let Some(last) = last {
            self.recovery.add(nanoseconds(outcome.runtime_metrics.wall_ms - last));
        }
    }
}

/// Not so for what we could not make ourselves: no way to it, no instance, no arguments.
fn came_to_section(outcome: &Outcome, blamed: bool) -> bool {
    let is_on_the_way =
        matches!(outcome.stage, Stage::Resolve | Stage::Construct | Stage::Arguments);
    blamed
        || match outcome.verdict {
            Verdict::Unreachable => false,
            Verdict::Raised | Verdict::Refused => !is_on_the_way,
            _ => true,
        }
}

/// A `raise` statement of the repository was the last word.
fn is_meant(outcome: &Outcome) -> bool {
    outcome.exception.as_ref().is_some_and(|raised| {
        raised.explicit && raised.frames.last().is_some_and(|frame| frame.own)
    })
}

fn has_hurt(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Crashed | Verdict::TimedOut | Verdict::OutOfMemory | Verdict::OutOfDisk
    )
}

/// In thousandths of the worst.
fn harm(outcome: &Outcome, blamed: bool, is_struck: bool) -> u64 {
    let crash = match outcome.verdict {
        Verdict::Crashed if blamed => 1000,
        Verdict::Crashed if is_struck => 0,
        Verdict::Crashed if outcome.exit.signal.is_some() => 1000,
        Verdict::Crashed => 250,
        _ => 0,
    };
    let violation = outcome.violations.iter().map(|violation| match violation.what.as_str() {
        "network" => 500,
        "file" => 750,
        _ => 1000,
    });
    let unnamed = u64::from(outcome.verdict == Verdict::Violated) * 500;
    violation.max().unwrap_or(unnamed).max(crash)
}
