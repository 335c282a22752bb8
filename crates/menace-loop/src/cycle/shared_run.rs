//! Shared-process runs: sections are called one after the other in one process, and again in
//! reverse order, so that each call finds the state that the others leave, as in production.
//!
//! Invariant: the calls in the shared process are compared with the same calls made in isolation.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{
    Call, CallLimits, CallStage, CallStepReport, FaultStats, Outcome, RuntimeMetrics, SectionId,
    Verdict,
};
use menace_sandbox::{CallJob, SandboxError, SandboxSpec};
use menace_scenario::input::{CallInput, InputGenerator};
use menace_track::CallTally;

use super::breadth::{BreadthPhase, SectionState};
use super::observer::{CompletedCall, CycleStage, RunEvent, RunObserver};
use super::plan::{CellIndex, PlannedSection};

/// Sections in the shared process.
const MAX_SECTIONS: usize = 64;
/// Sections without failures are added up to this number.
const MIN_SECTIONS: usize = 8;
const CALLS_PER_SECTION: usize = 2;
/// Timeout for all baseline calls of the shared process together.
const BASELINE_TIMEOUT_MS: u64 = 20_000;
/// The number of calls for which sections are chosen under each other scenario.
const MAX_SCENARIO_CALLS: usize = 4;
/// Timeout for all calls of the shared process under another scenario together.
const SCENARIO_TIMEOUT_MS: u64 = 5_000;

#[derive(Debug)]
pub struct SharedRun {
    /// The baseline first, then each other scenario with enough calls.
    pub parts: Vec<SharedRunPart>,
    /// Paths of the modules that took part.
    pub modules: BTreeSet<String>,
    /// Calls that return isolated and not in the shared process, in a sentence each.
    pub failures: Vec<String>,
}

/// The tallies of the same calls under one scenario, in the shared process and in isolation.
#[derive(Debug)]
pub struct SharedRunPart {
    pub scenario: usize,
    pub combined: CallTally,
    /// By index of the section.
    pub isolated: BTreeMap<usize, CallTally>,
}

struct SharedRunSample {
    section: usize,
    call: Call,
}

impl BreadthPhase<'_, '_> {
    /// Calls the `failing` sections in one process; none when fewer than two sections returned.
    pub(super) fn run_shared(
        &self,
        section_states: &[SectionState<'_>],
        failing: &BTreeSet<usize>,
        observer: &mut dyn RunObserver,
    ) -> Result<Option<SharedRun>, SandboxError> {
        let samples = self.baseline_samples(section_states, failing);
        if self.runner.is_late() || !has_two_sections(&samples) {
            return Ok(None);
        }
        let scenarios = 1..self.plan.scenarios.len();
        let calls = samples.len() + 1 + scenarios.len() * (MAX_SCENARIO_CALLS + 1);
        observer.on_event(RunEvent::StageBegan { stage: CycleStage::SharedRun, calls });
        let mut failures = Vec::new();
        let Some(baseline) = self.run_shared_part(0, samples, &mut failures, observer)? else {
            return Ok(None);
        };
        let sections: Vec<usize> = baseline.isolated.keys().copied().collect();
        let paths = sections.iter().map(|&at| self.plan.sections[at].module.path.clone());
        let modules = paths.collect();
        let mut parts = vec![baseline];
        for scenario in scenarios {
            let samples = self.scenario_samples(scenario, section_states, &sections);
            // A fault hits another call in the shared process than in isolation, so a difference
            // proves nothing.
            let part = self.run_shared_part(scenario, samples, &mut Vec::new(), observer)?;
            parts.extend(part);
        }
        Ok(Some(SharedRun { parts, modules, failures }))
    }

    /// Makes the calls isolated and in the shared process; none with fewer than two sections, or
    /// when the deadline came first.
    fn run_shared_part(
        &self,
        scenario: usize,
        samples: Vec<SharedRunSample>,
        failures: &mut Vec<String>,
        observer: &mut dyn RunObserver,
    ) -> Result<Option<SharedRunPart>, SandboxError> {
        if self.runner.is_late() || !has_two_sections(&samples) {
            return Ok(None);
        }
        let (samples, outcomes) = self.make_isolated(scenario, samples, observer)?;
        if self.runner.is_late() || !has_two_sections(&samples) {
            return Ok(None);
        }
        let order = forward_then_reverse(samples.len());
        let Some(shared) = self.make_shared(scenario, &samples, &order, observer)? else {
            return Ok(None);
        };
        let is_baseline = self.plan.scenarios[scenario].is_baseline;
        let mut combined = CallTally::default();
        for (step, &position) in order.iter().enumerate() {
            let sample = &samples[position];
            // Steps after the end of the process have no report.
            let crashed = || Outcome::new(Verdict::Crashed, CallStage::Call);
            let mut outcome = shared.steps.get(step).map_or_else(crashed, step_outcome);
            outcome.fault_stats = without_times(&shared.fault_stats);
            let has_failed = outcomes[position].verdict == Verdict::Returned
                && outcome.verdict != Verdict::Returned;
            combined.add(&sample.call, &outcome, has_failed && is_baseline);
            if has_failed && failures.len() < MAX_SECTIONS {
                let sentence = describe_failure(self.section_id(sample), &outcome);
                if !failures.contains(&sentence) {
                    failures.push(sentence);
                }
            }
        }
        for file in shared.coverage.iter().flat_map(|coverage| &coverage.files) {
            combined.reached_lines.entry(file.file.clone()).or_default().add(&file.lines);
        }
        let mut isolated: BTreeMap<usize, CallTally> = BTreeMap::new();
        for (sample, outcome) in samples.iter().zip(&outcomes) {
            let tally = isolated.entry(sample.section).or_default();
            tally.add(&sample.call, &comparable_outcome(outcome), false);
        }
        Ok(Some(SharedRunPart { scenario, combined, isolated }))
    }

    /// Makes each call in an isolated run. Under the baseline, calls that do not return are
    /// dropped.
    fn make_isolated(
        &self,
        scenario: usize,
        samples: Vec<SharedRunSample>,
        observer: &mut dyn RunObserver,
    ) -> Result<(Vec<SharedRunSample>, Vec<Outcome>), SandboxError> {
        let jobs = samples.iter().map(|sample| {
            self.job(CellIndex { section: sample.section, scenario }, sample.call.clone())
        });
        let outcomes = self.runner.make(jobs.collect(), |number, outcome| {
            observer.on_event(RunEvent::CallCompleted(CompletedCall {
                section: self.section_id(&samples[number]),
                scenario: None,
                number,
                is_counted: false,
                call: &samples[number].call,
                outcome,
            }));
        })?;
        let is_baseline = self.plan.scenarios[scenario].is_baseline;
        let made = samples.into_iter().zip(outcomes).filter_map(|(sample, outcome)| {
            let outcome = outcome?;
            (!is_baseline || outcome.verdict == Verdict::Returned).then_some((sample, outcome))
        });
        Ok(made.unzip())
    }

    /// Makes all calls in one process, in this order; none when the deadline came first.
    fn make_shared(
        &self,
        scenario: usize,
        samples: &[SharedRunSample],
        order: &[usize],
        observer: &mut dyn RunObserver,
    ) -> Result<Option<Outcome>, SandboxError> {
        let is_baseline = self.plan.scenarios[scenario].is_baseline;
        let timeout_ms = if is_baseline { BASELINE_TIMEOUT_MS } else { SCENARIO_TIMEOUT_MS };
        let call = shared_call(samples, order, timeout_ms);
        let first = &samples[0];
        let job = self.job(CellIndex { section: first.section, scenario }, call.clone());
        let job = CallJob { spec: SandboxSpec { module: None, ..job.spec }, ..job };
        let outcomes = self.runner.make(vec![job], |_, outcome| {
            observer.on_event(RunEvent::CallCompleted(CompletedCall {
                section: self.section_id(first),
                scenario: None,
                number: 0,
                is_counted: false,
                call: &call,
                outcome,
            }));
        })?;
        Ok(outcomes.into_iter().next().flatten())
    }

    fn section_id(&self, sample: &SharedRunSample) -> &SectionId {
        &self.plan.sections[sample.section].section.id
    }

    /// Calls that returned under the baseline: first those of failing sections, then others.
    fn baseline_samples(
        &self,
        section_states: &[SectionState<'_>],
        failing: &BTreeSet<usize>,
    ) -> Vec<SharedRunSample> {
        let others = (0..section_states.len()).filter(|section| !failing.contains(section));
        let others = others.map(|section| (section, MIN_SECTIONS));
        let failing = failing.iter().map(|&section| (section, MAX_SECTIONS));
        let mut samples = Vec::new();
        let mut count = 0;
        for (section, max_sections) in failing.chain(others) {
            if count >= max_sections {
                break;
            }
            let inputs = returned_inputs(&section_states[section]);
            count += usize::from(!inputs.is_empty());
            samples.extend(self.samples(section, 0, inputs));
        }
        samples
    }

    /// Calls of some of the sections under a scenario that a shared process can have.
    fn scenario_samples(
        &self,
        number: usize,
        section_states: &[SectionState<'_>],
        sections: &[usize],
    ) -> Vec<SharedRunSample> {
        let scenario = &self.plan.scenarios[number];
        let mut samples = Vec::new();
        // A burst is concurrent by itself, and drift has no schema to compare here.
        let has_burst = scenario.preset.burst().is_some();
        if has_burst || scenario.preset.drift().is_some() {
            return samples;
        }
        for &at in sections.iter().filter(|&&at| has_no_timeout(&section_states[at])) {
            let planned = &self.plan.sections[at];
            let mut scenarios = self.plan.scenarios_of(&planned.module.path);
            if samples.len() >= MAX_SCENARIO_CALLS || !scenarios.any(|(other, _)| other == number) {
                continue;
            }
            let inputs = if scenario.has_own_inputs {
                let PlannedSection { section, hints, .. } = planned;
                let inputs =
                    InputGenerator::new(section, hints, self.facts, &scenario.input_settings);
                let seed = planned.seed.derive(&scenario.label());
                let mut generated = inputs.take(CALLS_PER_SECTION, seed);
                generated.retain(|input| input.fixtures.is_empty());
                generated.into_iter().enumerate().collect()
            } else {
                returned_inputs(&section_states[at])
            };
            samples.extend(self.samples(at, number, inputs));
        }
        samples
    }

    fn samples(
        &self,
        section: usize,
        scenario: usize,
        inputs: Vec<(usize, CallInput)>,
    ) -> impl Iterator<Item = SharedRunSample> {
        inputs.into_iter().map(move |(number, input)| {
            let scenario = &self.plan.scenarios[scenario];
            let mut call = self.plan.sections[section].build_call(scenario, number, Some(&input));
            // Recording costs the same in isolation and in the shared process.
            call.coverage = true;
            SharedRunSample { section, call }
        })
    }
}

/// Calls of one section alone have no other section's state to meet.
fn has_two_sections(samples: &[SharedRunSample]) -> bool {
    samples.iter().any(|sample| sample.section != samples[0].section)
}

fn describe_failure(section: &SectionId, outcome: &Outcome) -> String {
    let why = outcome.exception.as_ref().map_or(String::new(), |raised| {
        let message = raised.message.lines().next().unwrap_or_default();
        format!(": {}: {message}", raised.kind)
    });
    format!(
        "{section} returns in an isolated run, and {} in a shared process{why}",
        outcome.verdict
    )
}

/// Inputs that returned under the baseline and need no files, with their positions.
fn returned_inputs(state: &SectionState<'_>) -> Vec<(usize, CallInput)> {
    let calls = state.baseline_calls.iter().enumerate();
    calls
        .filter(|(_, baseline)| baseline.has_returned() && baseline.input.fixtures.is_empty())
        .take(CALLS_PER_SECTION)
        .map(|(number, baseline)| (number, baseline.input.clone()))
        .collect()
}

/// A section that timed out under the baseline would do so under each scenario.
fn has_no_timeout(state: &SectionState<'_>) -> bool {
    state.baseline_calls.iter().all(|baseline| baseline.outcome.verdict != Verdict::TimedOut)
}

/// Fault stats cover all steps, so times of the last injection cannot be assigned to a step.
fn without_times(fault_stats: &[FaultStats]) -> Vec<FaultStats> {
    let stats = fault_stats.iter();
    stats.map(|stats| FaultStats { last_injected_ms: None, ..stats.clone() }).collect()
}

fn shared_call(samples: &[SharedRunSample], order: &[usize], timeout_ms: u64) -> Call {
    let first = &samples[0].call;
    let steps = order.iter().map(|&position| samples[position].call.step.clone());
    Call {
        shared_steps: steps.collect(),
        limits: CallLimits { timeout_ms, ..first.limits.clone() },
        conditions: first.conditions.clone(),
        confinement: first.confinement,
        seed: first.seed,
        coverage: true,
        ..Call::new(first.target.clone())
    }
}

/// All indices, then all of them in reverse order.
fn forward_then_reverse(count: usize) -> Vec<usize> {
    (0..count).chain((0..count).rev()).collect()
}

/// Keeps only the metrics that a step has, too: memory and files are measured for the whole
/// process.
fn comparable_outcome(outcome: &Outcome) -> Outcome {
    let RuntimeMetrics { wall_ms, user_cpu_ms, system_cpu_ms, .. } = outcome.runtime_metrics;
    let runtime_metrics = RuntimeMetrics {
        wall_ms,
        user_cpu_ms,
        system_cpu_ms,
        total_ms: wall_ms,
        ..RuntimeMetrics::default()
    };
    Outcome { runtime_metrics, ..outcome.clone() }
}

fn step_outcome(report: &CallStepReport) -> Outcome {
    Outcome {
        runtime_metrics: RuntimeMetrics {
            wall_ms: report.wall_ms,
            user_cpu_ms: report.user_cpu_ms,
            system_cpu_ms: report.system_cpu_ms,
            total_ms: report.wall_ms,
            ..RuntimeMetrics::default()
        },
        ..Outcome::of_result(report.result.clone())
    }
}
