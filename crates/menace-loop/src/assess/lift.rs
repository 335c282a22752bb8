//! Lifts findings of internal sections: tries the public sections that call them with inputs that
//! reach the same line with the same exception. What can be lifted is a finding of the public
//! section.
//!
//! Invariant: the calls depend on the findings, the seed and outcomes alone.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use menace_model::{
    Call, CallLimits, CallStep, CallTarget, ExposureLevel, Failure, InputIntent, Outcome,
    RaisedException, Section, SectionHints, SectionId, Seed, TargetKind, Verdict, WeaknessKind,
};
use menace_sandbox::{SandboxError, SandboxSpec};
use menace_scenario::input::{
    CallInput, InputGenerator, InputSettings, RepositoryFacts, transplant_values,
    transplantable_values,
};
use menace_scenario::judge::{SectionWeakness, rerun_call};
use menace_source::{Analysis, RepositoryExposure};

use crate::calls::{CallRunner, build_job};
use crate::cycle::BASELINE;
use crate::failure::{FailureEvidence, SourceLineCache};
use crate::survey::SurveyedAnalysis;
use crate::targets;

/// Findings that are tried to be lifted in one cycle.
const MAX_LIFTED_FINDINGS: usize = 24;
/// Public sections that are tried for a finding, the nearest first.
const MAX_CALLERS: usize = 5;
/// Sections between a public section and the finding.
const MAX_CHAIN: usize = 4;
const MAX_INPUTS_PER_CALLER: usize = 24;
/// Inputs of a caller that values are put into.
const MAX_BASE_INPUTS: usize = 3;
const LIFT_TIMEOUT_MS: u64 = 3_000;

/// A finding of a public section, found through one of an internal section.
#[derive(Debug)]
pub(crate) struct LiftedFinding {
    pub failure: Failure,
    /// The internal sections on the way, outermost first.
    pub chain: Vec<SectionId>,
}

#[derive(Debug)]
pub(crate) struct FindingLifter<'a> {
    analysis: &'a Analysis,
    facts: &'a RepositoryFacts<'a>,
    exposure: &'a RepositoryExposure,
    inputs: &'a InputSettings,
    lines: &'a SourceLineCache,
    seed: Seed,
    callers: HashMap<&'a SectionId, Vec<&'a SectionId>>,
    sections: HashMap<&'a SectionId, (CallTarget, &'a Section, &'a SectionHints)>,
}

/// A public section, and the internal sections between it and the finding.
struct PublicCaller<'a> {
    section: &'a SectionId,
    chain: Vec<SectionId>,
}

/// A call of a public section that may show a finding.
struct LiftAttempt<'a> {
    finding: usize,
    caller: &'a SectionId,
    chain: Vec<SectionId>,
    spec: SandboxSpec,
    call: Call,
}

impl<'a> FindingLifter<'a> {
    pub(crate) fn new(
        analysis: &'a Analysis,
        surveyed: &'a SurveyedAnalysis<'a>,
        facts: &'a RepositoryFacts<'a>,
        exposure: &'a RepositoryExposure,
        (inputs, lines, seed): (&'a InputSettings, &'a SourceLineCache, Seed),
    ) -> Self {
        let mut callers: HashMap<&SectionId, Vec<&SectionId>> = HashMap::new();
        let mut sections = HashMap::new();
        for (module, section, hints) in surveyed.sections() {
            for callee in facts.callees_of(&section.id) {
                callers.entry(callee).or_default().push(&section.id);
            }
            if let Ok((qualname, kind)) = targets::resolve_target(section)
                && kind != TargetKind::Module
            {
                let target = CallTarget { module: targets::module_ref(module), qualname, kind };
                sections.insert(&section.id, (target, section, hints));
            }
        }
        Self { analysis, facts, exposure, inputs, lines, seed, callers, sections }
    }

    /// Tries to lift findings of sections that are not public.
    pub(crate) fn lift(
        &self,
        failures: &[&Failure],
        runner: &CallRunner<'_>,
    ) -> Result<Vec<LiftedFinding>, SandboxError> {
        let candidates: Vec<&Failure> = failures
            .iter()
            .copied()
            .filter(|failure| self.may_be_lifted(failure))
            .take(MAX_LIFTED_FINDINGS)
            .collect();
        let attempts = self.plan(&candidates);
        let reruns = runner.for_reruns();
        let jobs = attempts.iter().map(|attempt| build_job(&attempt.spec, attempt.call.clone()));
        let outcomes = reruns.make(jobs.collect(), |_, _| {})?;
        let mut shown: Vec<LiftAttempt<'_>> = Vec::new();
        let mut lifted: BTreeSet<usize> = BTreeSet::new();
        for (attempt, outcome) in attempts.into_iter().zip(outcomes) {
            let Some(outcome) = outcome else { continue };
            let has_root = shows_same_root(candidates[attempt.finding], &outcome);
            if has_root && lifted.insert(attempt.finding) {
                shown.push(attempt);
            }
        }
        let rerun_calls: Vec<Call> =
            shown.iter().map(|attempt| rerun_call(&attempt.call)).collect();
        let jobs = shown.iter().zip(&rerun_calls);
        let jobs = jobs.map(|(attempt, call)| build_job(&attempt.spec, call.clone()));
        let outcomes = reruns.make(jobs.collect(), |_, _| {})?;
        let confirmed = shown.into_iter().zip(rerun_calls).zip(outcomes);
        Ok(confirmed
            .filter_map(|((attempt, call), outcome)| {
                let failure = candidates[attempt.finding];
                let outcome = outcome.filter(|outcome| shows_same_root(failure, outcome))?;
                self.build_lifted(failure, attempt, &call, &outcome)
            })
            .collect())
    }

    fn may_be_lifted(&self, failure: &Failure) -> bool {
        let is_hidden = matches!(
            self.exposure.of(&failure.section).level,
            ExposureLevel::Internal | ExposureLevel::Private
        );
        let has_root = matches!(
            failure.kind,
            WeaknessKind::Unhandled
                | WeaknessKind::Encoding
                | WeaknessKind::Recursion
                | WeaknessKind::Hang
                | WeaknessKind::Slow
                | WeaknessKind::Memory
        );
        is_hidden && has_root
    }

    fn plan(&self, candidates: &[&Failure]) -> Vec<LiftAttempt<'a>> {
        let mut attempts = Vec::new();
        for (finding, failure) in candidates.iter().enumerate() {
            let call = &failure.call;
            let arguments = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
            let values = transplantable_values(arguments.chain(&call.receiver));
            for PublicCaller { section, chain } in self.public_callers(&failure.section) {
                let Some((target, found, hints)) = self.sections.get(section) else { continue };
                let path = section.path();
                let module = self.analysis.modules.iter().find(|module| module.path == path);
                let Some(module) = module else { continue };
                let spec = targets::module_spec(self.analysis, module);
                let generator = InputGenerator::new(found, hints, self.facts, self.inputs);
                let seed = self.seed.derive("lift").derive(section.as_str());
                let bases: Vec<CallInput> = generator
                    .take(4 * MAX_BASE_INPUTS, seed)
                    .into_iter()
                    .filter(|input| input.intent == InputIntent::Valid)
                    .take(MAX_BASE_INPUTS)
                    .collect();
                let mut inputs = transplant_values(self.facts, &found.params, &bases, &values);
                inputs.truncate(MAX_INPUTS_PER_CALLER);
                attempts.extend(inputs.into_iter().map(|input| {
                    let mut call = Call::of_step(CallStep::new(target.clone()));
                    input.fill_call(&mut call);
                    call.limits = CallLimits { timeout_ms: LIFT_TIMEOUT_MS, ..failure.call.limits };
                    let (chain, spec) = (chain.clone(), spec.clone());
                    LiftAttempt { finding, caller: section, chain, spec, call }
                }));
            }
        }
        attempts
    }

    /// The public sections that lead to a section, the nearest first.
    fn public_callers(&self, section: &SectionId) -> Vec<PublicCaller<'a>> {
        let mut found = Vec::new();
        let mut seen: HashSet<&SectionId> = HashSet::new();
        let mut waiting: VecDeque<(&SectionId, Vec<SectionId>)> =
            VecDeque::from([(section, Vec::new())]);
        while let Some((at, chain)) = waiting.pop_front() {
            let mut below = vec![at.clone()];
            below.extend(chain);
            for &caller in self.callers.get(at).into_iter().flatten() {
                if !seen.insert(caller) {
                    continue;
                }
                if self.exposure.of(caller).level == ExposureLevel::Public {
                    found.push(PublicCaller { section: caller, chain: below.clone() });
                } else if below.len() < MAX_CHAIN {
                    waiting.push_back((caller, below.clone()));
                }
            }
        }
        found.truncate(MAX_CALLERS);
        found
    }

    fn build_lifted(
        &self,
        failure: &Failure,
        attempt: LiftAttempt<'a>,
        call: &Call,
        outcome: &Outcome,
    ) -> Option<LiftedFinding> {
        let (_, section, _) = self.sections.get(attempt.caller)?;
        let place = (failure.location.file.clone(), failure.location.line);
        let kind = match (failure.kind, outcome.verdict) {
            (_, Verdict::TimedOut) => WeaknessKind::Hang,
            (_, Verdict::OutOfMemory) => WeaknessKind::Memory,
            (kind, _) => kind,
        };
        let weakness =
            SectionWeakness { kind, evidence: failure.message.clone(), place: Some(place) };
        let evidence =
            FailureEvidence { section, weakness: &weakness, call, outcome, scenario: BASELINE };
        Some(LiftedFinding { failure: evidence.to_failure(self.lines), chain: attempt.chain })
    }
}

/// Whether an outcome has the cause of a failure: the same line raises the same exception, or the
/// same function takes the time.
fn shows_same_root(failure: &Failure, outcome: &Outcome) -> bool {
    match failure.kind {
        WeaknessKind::Hang | WeaknessKind::Slow | WeaknessKind::Memory => {
            let name = failure.section.qualname();
            let name = name.rsplit('.').next().unwrap_or(name);
            let is_stuck = matches!(outcome.verdict, Verdict::TimedOut | Verdict::OutOfMemory);
            let frames = outcome.hang_location.as_ref().map(|at| at.frames.as_slice());
            let is_there = frames.unwrap_or_default().iter().any(|frame| {
                let function = frame.function.rsplit('.').next().unwrap_or(&frame.function);
                frame.file == failure.section.path() && function == name
            });
            is_stuck && is_there
        }
        _ => match (&failure.outcome.exception, &outcome.exception) {
            (Some(old), Some(new)) if outcome.verdict == Verdict::Raised && !new.explicit => {
                old.kind == new.kind && raising_line(old) == raising_line(new)
            }
            _ => false,
        },
    }
}

fn raising_line(exception: &RaisedException) -> Option<(&str, u32)> {
    let own = exception.frames.iter().rfind(|frame| frame.in_repository)?;
    Some((&own.file, own.line))
}
