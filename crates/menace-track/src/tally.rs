//! Aggregates the calls of a cell into counts and quantiles.
//!
//! `measure` computes metrics from the counts. Outcomes are untrusted: everything that grows with
//! them is bounded. Invariant: all sums are sums of integers, and all bounds keep the smallest
//! entries, so that the order of adding and merging does not matter.

mod lines;
mod results;
mod sketch;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::BTreeMap;

use menace_model::{Call, CallStage, InputIntent, Outcome, Verdict};
use serde::{Deserialize, Serialize};

pub use lines::LineRanges;
pub use sketch::QuantileSketch;
pub use usage::{CallCosts, LeakCounts};

use results::ResultHashes;
use usage::ms_to_ns;

/// The most files for which a tally keeps reached lines.
const MAX_REACHED_FILES: usize = 1024;

/// Counts of calls with inputs of one class. A call that is attributed to the section counts
/// neither as returned nor as answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputClassCounts {
    /// Calls that reached the section.
    pub reached_calls: u64,
    pub returned: u64,
    /// Calls that returned, refused the input, or raised explicitly.
    pub answered: u64,
    /// Calls that raised explicitly, although the input was meant to be valid.
    pub declined: u64,
}

/// Everything that is kept of the calls of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallTally {
    /// All calls, including unreachable ones.
    pub calls: u64,
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Calls that reached the section, by the intent of their input.
    pub inputs: BTreeMap<InputIntent, InputClassCounts>,
    /// Calls that show a failure of the section.
    pub attributed: u64,
    /// Crashes and exceeded limits that are not attributed and had no injected fault: they count as
    /// bad under the baseline.
    pub unattributed_crashes: u64,
    /// The harm of violations and crashes, in thousandths of the worst kind.
    pub harm_permille: u64,
    pub violations: u64,
    /// How many opportunities faults had; below, how many were used.
    pub fault_opportunities: u64,
    pub injected_faults: u64,
    /// Calls in which a fault was injected.
    pub faulted_calls: u64,
    /// Nanoseconds from the last injected fault to the return.
    pub recovery: QuantileSketch,
    /// Costs of answered calls that tracing did not slow down.
    pub untraced: CallCosts,
    /// Costs of answered calls that were traced.
    pub traced: CallCosts,
    /// Processor time of all calls, answered or not, in nanoseconds.
    pub cpu_ns: u64,
    pub leaked: LeakCounts,
    /// Threads and tasks that bursts started; `None` without a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned: Option<BurstSpawnCounts>,
    /// Reached lines, by file.
    pub reached_lines: BTreeMap<String, LineRanges>,
    results: ResultHashes,
}

/// Threads and tasks that ran a section concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BurstSpawnCounts {
    pub threads: u64,
    pub tasks: u64,
}

impl BurstSpawnCounts {
    pub fn merge(&mut self, other: Self) {
        self.threads = self.threads.saturating_add(other.threads);
        self.tasks = self.tasks.saturating_add(other.tasks);
    }
}

impl CallTally {
    /// Adds a call; `is_attributed` when the judge found a failure of the section in its outcome.
    pub fn add(&mut self, call: &Call, outcome: &Outcome, is_attributed: bool) {
        self.calls += 1;
        *self.verdicts.entry(outcome.verdict).or_default() += 1;
        self.add_coverage(outcome);
        if !reached_section(outcome, is_attributed) {
            return;
        }
        let has_declined =
            !is_attributed && outcome.verdict == Verdict::Raised && is_deliberate_raise(outcome);
        let has_answered = has_declined
            || !is_attributed && matches!(outcome.verdict, Verdict::Returned | Verdict::Refused);
        let has_fired_fault = outcome.fault_stats.iter().any(|stats| stats.injected > 0);

        let count = self.inputs.entry(call.intent).or_default();
        count.reached_calls += 1;
        count.returned += u64::from(!is_attributed && outcome.verdict == Verdict::Returned);
        count.answered += u64::from(has_answered);
        count.declined += u64::from(has_declined);

        self.attributed += u64::from(is_attributed);
        self.unattributed_crashes +=
            u64::from(!is_attributed && !has_fired_fault && is_crash_or_limit(outcome.verdict));
        self.harm_permille += harm_permille(outcome, is_attributed, has_fired_fault);
        self.violations += outcome.violations.len() as u64;
        for stats in &outcome.fault_stats {
            self.fault_opportunities = self.fault_opportunities.saturating_add(stats.opportunities);
            self.injected_faults = self.injected_faults.saturating_add(stats.injected);
        }
        self.faulted_calls += u64::from(has_fired_fault);
        if has_fired_fault && !is_attributed && outcome.verdict == Verdict::Returned {
            self.add_recovery_time(outcome);
        }
        let usage = &outcome.runtime_metrics;
        let cpu_ns = ms_to_ns(usage.user_cpu_ms + usage.system_cpu_ms);
        self.cpu_ns = self.cpu_ns.saturating_add(cpu_ns);
        if has_answered {
            let costs = if call.coverage { &mut self.traced } else { &mut self.untraced };
            costs.add(usage);
        }
        self.leaked.add(outcome);
        if let Some(burst) = &outcome.burst {
            let spawned =
                BurstSpawnCounts { threads: burst.threads_spawned, tasks: burst.tasks_spawned };
            self.spawned.get_or_insert_default().merge(spawned);
        }
        self.results.add(call, outcome);
    }

    pub fn merge(&mut self, other: &Self) {
        let Self {
            calls,
            verdicts,
            inputs,
            attributed,
            unattributed_crashes,
            harm_permille,
            violations,
            fault_opportunities,
            injected_faults,
            faulted_calls,
            recovery,
            untraced,
            traced,
            cpu_ns,
            leaked,
            spawned,
            reached_lines,
            results,
        } = other;
        self.calls += calls;
        for (verdict, count) in verdicts {
            *self.verdicts.entry(*verdict).or_default() += count;
        }
        for (intent, count) in inputs {
            let own = self.inputs.entry(*intent).or_default();
            own.reached_calls += count.reached_calls;
            own.returned += count.returned;
            own.answered += count.answered;
            own.declined += count.declined;
        }
        self.attributed += attributed;
        self.unattributed_crashes += unattributed_crashes;
        self.harm_permille += harm_permille;
        self.violations += violations;
        self.fault_opportunities = self.fault_opportunities.saturating_add(*fault_opportunities);
        self.injected_faults = self.injected_faults.saturating_add(*injected_faults);
        self.faulted_calls += faulted_calls;
        self.recovery.merge(recovery);
        self.untraced.merge(untraced);
        self.traced.merge(traced);
        self.cpu_ns = self.cpu_ns.saturating_add(*cpu_ns);
        self.leaked.merge(leaked);
        if let Some(spawned) = spawned {
            self.spawned.get_or_insert_default().merge(*spawned);
        }
        for (file, lines) in reached_lines {
            self.reached_lines.entry(file.clone()).or_default().merge(lines);
        }
        self.limit_covered_files();
        self.results.merge(results);
    }

    /// The number of calls that reached the section.
    pub fn reached_calls(&self) -> u64 {
        self.inputs.values().map(|count| count.reached_calls).sum()
    }

    /// The number of calls that returned, refused or raised explicitly, and are not attributed.
    pub fn answered_calls(&self) -> u64 {
        self.inputs.values().map(|count| count.answered).sum()
    }

    pub fn count_of_verdict(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or_default()
    }

    /// The costs of answered calls, measured on untraced ones if there are any.
    pub fn costs(&self) -> &CallCosts {
        if self.untraced.cpu_ns.count() > 0 { &self.untraced } else { &self.traced }
    }

    /// How many different calls were repeated with the same seed and had different results.
    pub fn unequal_results(&self) -> u64 {
        self.results.count_unequal()
    }

    fn add_coverage(&mut self, outcome: &Outcome) {
        for file in outcome.coverage.iter().flat_map(|coverage| &coverage.files) {
            self.reached_lines.entry(file.file.clone()).or_default().add(&file.lines);
        }
        self.limit_covered_files();
    }

    fn limit_covered_files(&mut self) {
        while self.reached_lines.len() > MAX_REACHED_FILES {
            self.reached_lines.pop_last();
        }
    }

    fn add_recovery_time(&mut self, outcome: &Outcome) {
        let last =
            outcome.fault_stats.iter().filter_map(|stats| stats.last_injected_ms).reduce(f64::max);
        if let Some(last) = last {
            self.recovery.add(ms_to_ns(outcome.runtime_metrics.wall_ms - last));
        }
    }
}

/// Whether the call reached the section; not when Menace failed to resolve it, to construct a
/// receiver or to build the arguments.
fn reached_section(outcome: &Outcome, is_attributed: bool) -> bool {
    let is_on_the_way =
        matches!(outcome.stage, CallStage::Resolve | CallStage::Construct | CallStage::Arguments);
    is_attributed
        || match outcome.verdict {
            Verdict::Unreachable => false,
            Verdict::Raised | Verdict::Refused => !is_on_the_way,
            _ => true,
        }
}

/// Whether the exception comes from a `raise` statement of the repository.
fn is_deliberate_raise(outcome: &Outcome) -> bool {
    outcome.exception.as_ref().is_some_and(|raised| {
        raised.explicit && raised.frames.last().is_some_and(|frame| frame.in_repository)
    })
}

fn is_crash_or_limit(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Crashed | Verdict::TimedOut | Verdict::OutOfMemory | Verdict::OutOfDisk
    )
}

/// The harm of an outcome, in thousandths of the worst kind.
fn harm_permille(outcome: &Outcome, is_attributed: bool, has_fired_fault: bool) -> u64 {
    let crash = match outcome.verdict {
        Verdict::Crashed if is_attributed => 1000,
        Verdict::Crashed if has_fired_fault => 0,
        Verdict::Crashed if outcome.exit.signal.is_some() => 1000,
        Verdict::Crashed => 250,
        _ => 0,
    };
    let violation = outcome.violations.iter().map(|violation| match violation.kind.as_str() {
        "network" => 500,
        "file" => 750,
        _ => 1000,
    });
    let unnamed = u64::from(outcome.verdict == Verdict::Violated) * 500;
    violation.max().unwrap_or(unnamed).max(crash)
}
