//! Calls that are made to see a failure again, and what they say.
//!
//! Some weaknesses show in more than one call: runs at once are compared with a run alone, files
//! after a fault with those without, time with that of other sizes.

use std::time::Instant;

use menace_model::{
    Call, Conditions, Failure, How, Intent, Outcome, Param, ParamKind, Section, Stage, Target,
    Verdict, WeaknessKind,
};
use menace_sandbox::{Backend, Cancel, Job, SandboxError, WarmSpec};
use menace_scenario::judge::{Alone, Growth, Shape, Weakness, Witness, growth, weakness};
use menace_scenario::shrink::{at_size, largest_size};
use menace_source::Analysis;

use super::FailureError;
use super::identity::{Lines, same};
use crate::calls::{Caller, job};
use crate::targets;

/// Of what is measured, the least of so many measurements counts.
const MEASUREMENTS: usize = 3;
/// Shares of the size that growth is measured at.
const SHARES: [u64; 3] = [4, 2, 1];

/// What came of a call, and what that says.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub outcome: Outcome,
    pub weakness: Option<Weakness>,
}

pub(super) struct Trials<'a> {
    caller: Caller<'a>,
    spec: WarmSpec,
    section: &'a Section,
    names: Vec<String>,
    /// The types of the input that showed the failure.
    shape: Shape,
    failure: &'a Failure,
    target: Target,
    lines: Lines,
}

impl<'a> Trials<'a> {
    pub(super) fn new(
        failure: &'a Failure,
        backend: &'a dyn Backend,
        analysis: &'a Analysis,
        workers: usize,
        cancel: Cancel,
        deadline: Option<Instant>,
    ) -> Result<Self, FailureError> {
        let vanished =
            |why: String| FailureError::Vanished { section: failure.section.to_string(), why };
        let (module, section) = analysis
            .modules
            .iter()
            .find_map(|module| {
                let section = module.sections.iter().find(|one| one.id == failure.section)?;
                Some((module, section))
            })
            .ok_or_else(|| vanished("there is nothing of that name".to_owned()))?;
        let (qualname, how) = targets::reach(section).map_err(|closed| vanished(closed.why))?;
        if matches!(how, How::Method | How::Property) && failure.call.receiver.is_none() {
            return Err(vanished("it wants an instance now".to_owned()));
        }
        if failure.call.intent != Intent::Misuse && section.decorators.is_empty() {
            takes(&section.params, &failure.call).map_err(vanished)?;
        }
        let mut spec = targets::warm_spec(analysis, module);
        if how == How::Module {
            spec.module = None;
        }
        Ok(Self {
            caller: Caller::new(backend, workers, cancel, deadline),
            spec,
            names: section.params.iter().map(|param| param.name.clone()).collect(),
            section,
            shape: Shape::of(&failure.call),
            failure,
            target: Target { module: targets::module_ref(module), qualname, how },
            lines: Lines::new(analysis.root()),
        })
    }

    pub(super) fn params(&self) -> &'a [Param] {
        &self.section.params
    }

    /// The call that shows the failure, as the section is reached today.
    pub(super) fn call(&self) -> Call {
        Call { target: self.target.clone(), coverage: false, ..self.failure.call.clone() }
    }

    pub(super) fn shows(&self, trial: &Trial) -> bool {
        let weakness = trial.weakness.as_ref();
        weakness.is_some_and(|weakness| same(self.failure, weakness, &trial.outcome, &self.lines))
    }

    /// Makes the calls, and those that they have to be compared with.
    pub(super) fn run(&self, calls: &[Call]) -> Result<Vec<Trial>, SandboxError> {
        if self.failure.kind == WeaknessKind::Slow {
            return calls.iter().map(|call| self.measure(call)).collect();
        }
        let mut jobs = Vec::new();
        let mut compared = Vec::new();
        for call in calls {
            jobs.push(job(&self.spec, call.clone()));
            let alone = alone(call);
            compared.push(alone.is_some());
            jobs.extend(alone.map(|alone| job(&self.spec, alone)));
        }
        let mut outcomes = self.make(jobs)?.into_iter();
        let mut trials = Vec::new();
        for (call, compared) in calls.iter().zip(compared) {
            let Some(outcome) = outcomes.next() else { return Err(SandboxError::Cancelled) };
            let alone = if compared { outcomes.next() } else { None };
            let weakness = self.judged(call, &outcome, alone.as_ref().map(Alone::from).as_ref());
            trials.push(Trial { outcome, weakness });
        }
        Ok(trials)
    }

    fn make(&self, jobs: Vec<Job>) -> Result<Vec<Outcome>, SandboxError> {
        let outcomes = self.caller.make(jobs, |_, _| {})?;
        outcomes.into_iter().collect::<Option<_>>().ok_or(SandboxError::Cancelled)
    }

    fn judged(&self, call: &Call, outcome: &Outcome, alone: Option<&Alone>) -> Option<Weakness> {
        if self.failure.kind == WeaknessKind::Import {
            return import(outcome);
        }
        let annotated = self.section.params.iter().all(|param| param.resolved.is_some());
        // Whoever lacks a key was not given what it asks for, whatever the type says.
        let lacks_key = outcome.exception.as_ref().is_some_and(|one| one.kind == "KeyError");
        weakness(&Witness {
            section: self.section.id.qualname(),
            params: &self.names,
            call,
            outcome,
            alone,
            accepted: Shape::of(call) == self.shape || annotated && !lacks_key,
            annotated,
            ends: true,
        })
    }

    /// How time grows with the size of the input.
    fn measure(&self, call: &Call) -> Result<Trial, SandboxError> {
        let largest = largest_size(call).unwrap_or_default();
        let sizes: Vec<u64> = SHARES.iter().map(|share| largest / share).collect();
        let grown = sizes.iter().filter_map(|size| at_size(call, *size));
        let calls: Vec<Call> = grown.flat_map(|call| vec![call; MEASUREMENTS]).collect();
        let calls = if calls.is_empty() { vec![call.clone()] } else { calls };
        let jobs = calls.iter().map(|call| job(&self.spec, call.clone())).collect();
        let mut outcomes = self.make(jobs)?;
        let cpu_ms = |outcome: &Outcome| {
            outcome.runtime_metrics.user_cpu_ms + outcome.runtime_metrics.system_cpu_ms
        };
        let least = |some: &[Outcome]| some.iter().map(cpu_ms).fold(f64::INFINITY, f64::min);
        let times = outcomes.chunks(MEASUREMENTS).map(least);
        let samples: Vec<Growth> =
            sizes.iter().zip(times).map(|(size, cpu_ms)| Growth { size: *size, cpu_ms }).collect();
        let weakness = growth(&samples).map(|power| Weakness {
            kind: WeaknessKind::Slow,
            evidence: format!("time grows with the size to the power of {power:.1}"),
            place: None,
        });
        let Some(outcome) = outcomes.pop() else { return Err(SandboxError::Cancelled) };
        Ok(Trial { outcome, weakness })
    }
}

/// The same input without trouble, for a call in trouble. Answers of others are no trouble.
fn alone(call: &Call) -> Option<Call> {
    let upstream = call.conditions.upstream.clone();
    let peace = Conditions { upstream, ..Conditions::default() };
    (call.conditions != peace).then(|| Call { conditions: peace, ..call.clone() })
}

fn import(outcome: &Outcome) -> Option<Weakness> {
    let failed = outcome.stage == Stage::Import && outcome.verdict != Verdict::Returned;
    failed.then(|| Weakness {
        kind: WeaknessKind::Import,
        evidence: outcome.reason.clone().unwrap_or_else(|| outcome.verdict.to_string()),
        place: None,
    })
}

/// Whether a section with these parameters can be called like this.
fn takes(params: &[Param], call: &Call) -> Result<(), String> {
    let has = |kind| params.iter().any(|param| param.kind == kind);
    let positional: Vec<&Param> = params
        .iter()
        .filter(|param| {
            matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
        })
        .collect();
    if call.args.len() > positional.len() && !has(ParamKind::VarPositional) {
        return Err(format!("it takes {} arguments now", positional.len()));
    }
    let by_name = |name: &str| call.kwargs.iter().any(|(given, _)| given == name);
    for (name, _) in &call.kwargs {
        if !params.iter().any(|param| param.name == *name) && !has(ParamKind::VarKeyword) {
            return Err(format!("it takes no `{name}` any more"));
        }
    }
    let missing = positional.iter().skip(call.args.len()).copied();
    let keyword = params.iter().filter(|param| param.kind == ParamKind::KeywordOnly);
    let missing =
        missing.chain(keyword).find(|param| param.default.is_none() && !by_name(&param.name));
    missing.map_or(Ok(()), |param| Err(format!("it wants `{}` now", param.name)))
}
