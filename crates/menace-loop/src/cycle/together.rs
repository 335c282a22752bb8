//! Sections together in one interpreter, one after the other and again, with the state that each of
//! them leaves: as they would be in production.
//!
//! Invariant: what is compared are the same calls, alone and together.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{
    Call, Felt, Limits, Outcome, RuntimeMetrics, SectionId, Step, StepReport, Verdict,
};
use menace_sandbox::{Job, SandboxError, WarmSpec};
use menace_scenario::input::{Input, Inputs};
use menace_track::Tally;

use super::grid::{Grid, Standing};
use super::plan::Subject;
use super::watch::{Called, Stage, Watch};

/// Sections that are called together at most.
const SECTIONS: usize = 64;
/// Fewer than these are joined by others, since nobody can get in each other's way alone.
const COMPANY: usize = 8;
/// Calls of each section.
const SAMPLES: usize = 2;
/// For all of them together.
const TIMEOUT_MS: u64 = 20_000;
/// Calls that are made under each scenario beside the baseline, at most by one section's.
const IN_TROUBLE: usize = 4;
/// For all of them together.
const IN_TROUBLE_MS: u64 = 5_000;

/// What came of it.
#[derive(Debug)]
pub struct Company {
    /// In peace first, then under each scenario that they were put through together.
    pub parts: Vec<Part>,
    /// Paths of the modules that took part.
    pub modules: BTreeSet<String>,
    /// In a sentence each: what went well alone and not in company.
    pub troubles: Vec<String>,
}

/// The same calls, together and alone, under one scenario.
#[derive(Debug)]
pub struct Part {
    pub scenario: usize,
    pub combined: Tally,
    /// By subject.
    pub alone: BTreeMap<usize, Tally>,
}

struct Sample {
    subject: usize,
    call: Call,
}

impl Grid<'_, '_> {
    /// Calls the `flagged` sections together; none when fewer than two have ever returned.
    pub(super) fn together(
        &self,
        standings: &[Standing<'_>],
        flagged: &BTreeSet<usize>,
        watch: &mut dyn Watch,
    ) -> Result<Option<Company>, SandboxError> {
        let samples = self.samples(standings, flagged);
        if self.caller.is_late() || !is_company(samples.iter().map(|sample| sample.subject)) {
            return Ok(None);
        }
        let troubles = 1..self.plan.scenarios.len();
        watch.begins(Stage::Together, samples.len() + 1 + troubles.len() * (IN_TROUBLE + 1));
        let mut company =
            Company { parts: Vec::new(), modules: BTreeSet::new(), troubles: Vec::new() };
        let Some(peace) = self.share(0, samples, &mut company.troubles, watch)? else {
            return Ok(None);
        };
        let subjects: Vec<usize> = peace.alone.keys().copied().collect();
        let paths = subjects.iter().map(|&at| self.plan.subjects[at].module.path.clone());
        company.modules.extend(paths);
        company.parts.push(peace);
        for scenario in troubles {
            let samples = self.in_trouble(scenario, standings, &subjects);
            // A fault strikes elsewhere in company: what differs is nobody's doing.
            let part = self.share(scenario, samples, &mut Vec::new(), watch)?;
            company.parts.extend(part);
        }
        Ok(Some(company))
    }

    /// Makes the calls alone and together; nothing without company, or when the time was up.
    fn share(
        &self,
        scenario: usize,
        samples: Vec<Sample>,
        troubles: &mut Vec<String>,
        watch: &mut dyn Watch,
    ) -> Result<Option<Part>, SandboxError> {
        if self.caller.is_late() || !is_company(samples.iter().map(|sample| sample.subject)) {
            return Ok(None);
        }
        let section = |sample: &Sample| &self.plan.subjects[sample.subject].section.id;
        let jobs = samples.iter().map(|one| self.job(one.subject, scenario, one.call.clone()));
        let outcomes = self.caller.make(jobs.collect(), |number, outcome| {
            let (section, call) = (section(&samples[number]), &samples[number].call);
            let (scenario, counts) = (None, false);
            watch.called(Called { section, scenario, number, counts, call, outcome });
        })?;
        let is_peace = self.plan.scenarios[scenario].is_baseline;
        let made = samples.into_iter().zip(outcomes).filter_map(|(sample, outcome)| {
            let outcome = outcome?;
            (!is_peace || outcome.verdict == Verdict::Returned).then_some((sample, outcome))
        });
        let made: Vec<(Sample, Outcome)> = made.collect();
        if self.caller.is_late() || !is_company(made.iter().map(|(sample, _)| sample.subject)) {
            return Ok(None);
        }
        let order = interleaved(made.len());
        let timeout_ms = if is_peace { TIMEOUT_MS } else { IN_TROUBLE_MS };
        let call = combined(&made, &order, timeout_ms);
        let first = &made[0].0;
        let job = self.job(first.subject, scenario, call.clone());
        let job = Job { spec: WarmSpec { module: None, ..job.spec }, ..job };
        let outcomes = self.caller.make(vec![job], |_, outcome| {
            let (section, call) = (section(first), &call);
            let (scenario, number, counts) = (None, 0, false);
            watch.called(Called { section, scenario, number, counts, call, outcome });
        })?;
        let Some(Some(whole)) = outcomes.into_iter().next() else { return Ok(None) };
        let mut part = Part { scenario, combined: Tally::default(), alone: BTreeMap::new() };
        for (place, &at) in order.iter().enumerate() {
            let (sample, alone) = &made[at];
            // Whoever comes after the end of the process is not called any more.
            let ended = || Outcome::of(Verdict::Crashed, menace_model::Stage::Call);
            let report = whole.steps.get(place);
            let mut together = report.map_or_else(ended, as_outcome);
            together.felt = without_time(&whole.felt);
            let is_disturbed =
                alone.verdict == Verdict::Returned && together.verdict != Verdict::Returned;
            part.combined.add(&sample.call, &together, is_disturbed && is_peace);
            if is_disturbed && troubles.len() < SECTIONS {
                let trouble = disturbed(section(sample), &together);
                if !troubles.contains(&trouble) {
                    troubles.push(trouble);
                }
            }
        }
        for file in whole.coverage.iter().flat_map(|coverage| &coverage.files) {
            part.combined.covered.entry(file.file.clone()).or_default().add(&file.lines);
        }
        for (sample, outcome) in &made {
            let tally = part.alone.entry(sample.subject).or_default();
            tally.add(&sample.call, &comparable(outcome), false);
        }
        Ok(Some(part))
    }

    fn samples(&self, standings: &[Standing<'_>], flagged: &BTreeSet<usize>) -> Vec<Sample> {
        let others = (0..standings.len()).filter(|at| !flagged.contains(at));
        let mut samples = Vec::new();
        let mut count = 0;
        for (at, is_flagged) in
            flagged.iter().map(|&at| (at, true)).chain(others.map(|at| (at, false)))
        {
            if count >= if is_flagged { SECTIONS } else { COMPANY } {
                break;
            }
            let inputs = shared(&standings[at]);
            count += usize::from(!inputs.is_empty());
            samples.extend(self.calls(at, 0, inputs));
        }
        samples
    }

    /// What some of the sections are called with under a scenario, where they can share it.
    fn in_trouble(
        &self,
        number: usize,
        standings: &[Standing<'_>],
        subjects: &[usize],
    ) -> Vec<Sample> {
        let scenario = &self.plan.scenarios[number];
        let mut samples = Vec::new();
        // Bursts are company already, and drift has no schema to compare here.
        let is_own = scenario.preset.conditions(0).1.burst.is_some();
        if is_own || scenario.preset.drift().is_some() {
            return samples;
        }
        for &at in subjects.iter().filter(|&&at| is_quick(&standings[at])) {
            let subject = &self.plan.subjects[at];
            let mut all = self.plan.scenarios_of(&subject.module.path);
            if samples.len() >= IN_TROUBLE || !all.any(|(other, _)| other == number) {
                continue;
            }
            let inputs = if scenario.has_own_inputs {
                let Subject { section, hints, .. } = subject;
                let inputs = Inputs::new(section, hints, self.facts, &scenario.inputs);
                let mut made = inputs.take(SAMPLES, subject.seed.of(&scenario.label()));
                made.retain(|input| input.fixtures.is_empty());
                made.into_iter().enumerate().collect()
            } else {
                shared(&standings[at])
            };
            samples.extend(self.calls(at, number, inputs));
        }
        samples
    }

    fn calls(&self, at: usize, scenario: usize, inputs: Vec<(usize, Input)>) -> Vec<Sample> {
        let (subject, scenario) = (&self.plan.subjects[at], &self.plan.scenarios[scenario]);
        let call = |(number, input): (usize, Input)| {
            let mut call = subject.call(scenario, number, Some(&input));
            // The cost of looking is part of both.
            call.coverage = true;
            Sample { subject: at, call }
        };
        inputs.into_iter().map(call).collect()
    }
}

/// Nobody can get in each other's way alone.
fn is_company(mut subjects: impl Iterator<Item = usize>) -> bool {
    let first = subjects.next();
    first.is_some_and(|first| subjects.any(|other| other != first))
}

fn disturbed(section: &SectionId, together: &Outcome) -> String {
    let why = together.exception.as_ref().map_or(String::new(), |raised| {
        let message = raised.message.lines().next().unwrap_or_default();
        format!(": {}: {message}", raised.kind)
    });
    format!("{section} returns alone, and {} in company{why}", together.verdict)
}

/// What it returned with in peace.
fn shared(standing: &Standing<'_>) -> Vec<(usize, Input)> {
    let tried = standing.tried.iter().enumerate().filter(|(_, one)| can_share(one));
    tried.take(SAMPLES).map(|(number, tried)| (number, tried.input.clone())).collect()
}

/// Whoever runs out of time in peace is not waited for in trouble.
fn is_quick(standing: &Standing<'_>) -> bool {
    standing.tried.iter().all(|tried| tried.outcome.verdict != Verdict::TimedOut)
}

/// Strikes are told of all steps together: when each was struck last is not known.
fn without_time(felt: &[Felt]) -> Vec<Felt> {
    felt.iter().map(|felt| Felt { last_ms: None, ..felt.clone() }).collect()
}

fn combined(made: &[(Sample, Outcome)], order: &[usize], timeout_ms: u64) -> Call {
    let first = &made[0].0.call;
    let steps = order.iter().map(|&at| {
        let Call { target, receiver, args, kwargs, intent, .. } = made[at].0.call.clone();
        Step { target, receiver, args, kwargs, intent }
    });
    Call {
        together: steps.collect(),
        limits: Limits { timeout_ms, ..first.limits.clone() },
        conditions: first.conditions.clone(),
        confinement: first.confinement,
        seed: first.seed,
        coverage: true,
        ..Call::new(first.target.clone())
    }
}

/// It returned, and needs no files of its own.
fn can_share(tried: &super::grid::Tried) -> bool {
    tried.outcome.verdict == Verdict::Returned && tried.input.fixtures.is_empty()
}

/// All of them, and once more the other way round.
fn interleaved(count: usize) -> Vec<usize> {
    (0..count).chain((0..count).rev()).collect()
}

/// What a step tells too: memory and files are told of all steps together only.
fn comparable(outcome: &Outcome) -> Outcome {
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

fn as_outcome(report: &StepReport) -> Outcome {
    let StepReport { verdict, reason, stage, value, exception, .. } = report.clone();
    Outcome {
        reason,
        value,
        exception,
        runtime_metrics: RuntimeMetrics {
            wall_ms: report.wall_ms,
            user_cpu_ms: report.user_cpu_ms,
            system_cpu_ms: report.system_cpu_ms,
            total_ms: report.wall_ms,
            ..RuntimeMetrics::default()
        },
        ..Outcome::of(verdict, stage)
    }
}
