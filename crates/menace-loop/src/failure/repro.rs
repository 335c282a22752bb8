//! Reruns the call of a stored failure and compares: `menace repro`, each step of `menace shrink`.
//!
//! Some weaknesses need more than one call: a burst and an injected fault are compared with the
//! baseline of the same input, time with that of other sizes.

use std::time::Instant;

use menace_model::{
    Call, CallConditions, CallTarget, Failure, InputIntent, Outcome, ParamKind, SignatureParam,
    TargetKind, WeaknessKind,
};
use menace_sandbox::{CallJob, CancelToken, SandboxBackend, SandboxError, SandboxSpec};
use menace_scenario::judge::{
    BaselineOutcome, CandidateRerun, GrowthSample, OracleContext, SectionWeakness, rerun_call,
    steep_growth_exponent,
};
use menace_scenario::shrink::{largest_size, with_size};
use menace_source::Analysis;

use super::FailureError;
use super::identity::{SourceLineCache, is_shown_by};
use crate::calls::{CallRunner, build_job};
use crate::cycle::BASELINE;
use crate::targets;

/// Reruns of a failure that depends on scheduling or on measured time. All others, and all
/// candidates of a run, are rerun once.
const MAX_RERUNS: usize = 3;
/// How many times each size is measured; the shortest time counts.
const MEASUREMENTS: usize = 3;
/// Growth is measured at these fractions of the size: a quarter, a half, the whole.
const SIZE_DIVISORS: [u64; 3] = [4, 2, 1];
/// How often the sizes are doubled while the smallest is too quick to measure. Quadratic time grows
/// by a factor of 64.
const MAX_DOUBLINGS: usize = 3;

/// The result of a rerun of a failure.
#[derive(Debug, Clone)]
pub enum ReproResult {
    /// The rerun shows the same failure.
    Still { outcome: Outcome },
    /// Another weakness.
    Other { weakness: SectionWeakness, outcome: Outcome },
    /// The rerun shows no weakness.
    Fixed { outcome: Outcome },
    /// The section no longer exists, or cannot be called like this.
    Vanished { why: String },
}

/// Reruns the call of a failure.
pub fn repro(
    failure: &Failure,
    backend: &dyn SandboxBackend,
    analysis: &Analysis,
) -> Result<ReproResult, SandboxError> {
    repro_until(failure, backend, analysis, &CancelToken::default(), None)
}

/// The same; [`SandboxError::Cancelled`] when the deadline comes first.
pub(crate) fn repro_until(
    failure: &Failure,
    backend: &dyn SandboxBackend,
    analysis: &Analysis,
    cancel: &CancelToken,
    deadline: Option<Instant>,
) -> Result<ReproResult, SandboxError> {
    let attempts = match ReproAttempts::new(failure, backend, analysis, 1, cancel.clone(), deadline)
    {
        Ok(attempts) => attempts,
        Err(FailureError::Vanished { why, .. }) => return Ok(ReproResult::Vanished { why }),
        Err(FailureError::Sandbox(error)) => return Err(error),
    };
    let call = attempts.call();
    let reruns = match failure.kind {
        WeaknessKind::Race | WeaknessKind::Deadlock | WeaknessKind::Slow => MAX_RERUNS,
        _ => 1,
    };
    let mut last = None;
    for _ in 0..reruns {
        for rerun in attempts.run(std::slice::from_ref(&call))? {
            if attempts.is_confirmed_by(&rerun) {
                return Ok(ReproResult::Still { outcome: rerun.outcome });
            }
            last = Some(rerun);
        }
    }
    let CandidateRerun { weakness, outcome, .. } = last.ok_or(SandboxError::Cancelled)?;
    Ok(match weakness {
        Some(weakness) => ReproResult::Other { weakness, outcome },
        None => ReproResult::Fixed { outcome },
    })
}

/// The failure without the faults and the bad network under which it was found, if it shows then,
/// too. A burst stays where the weakness is about concurrency.
pub(crate) fn without_faults(
    failure: &Failure,
    backend: &dyn SandboxBackend,
    analysis: &Analysis,
    cancel: &CancelToken,
    deadline: Option<Instant>,
) -> Result<Option<Failure>, SandboxError> {
    if failure.kind.needs_faults() {
        return Ok(None);
    }
    let attempts = ReproAttempts::new(failure, backend, analysis, 1, cancel.clone(), deadline);
    let attempts = match attempts {
        Ok(attempts) => attempts,
        Err(FailureError::Vanished { .. }) => return Ok(None),
        Err(FailureError::Sandbox(error)) => return Err(error),
    };
    let mut call = attempts.call();
    let mut conditions = baseline_conditions(&call);
    if failure.kind.is_about_concurrency() {
        conditions.burst = call.conditions.burst;
    }
    if call.conditions == conditions {
        return Ok(None);
    }
    call.conditions = conditions;
    let reruns = match attempts.run(std::slice::from_ref(&call)) {
        // There was no time.
        Err(SandboxError::Cancelled) if !cancel.is_cancelled() => return Ok(None),
        reruns => reruns?,
    };
    let shown = reruns.into_iter().find(|rerun| attempts.is_confirmed_by(rerun));
    Ok(shown.map(|CandidateRerun { call, outcome, .. }| Failure {
        call,
        outcome,
        scenario: BASELINE.to_owned(),
        ..failure.clone()
    }))
}

/// Makes reruns of one failure.
pub(super) struct ReproAttempts<'a> {
    runner: CallRunner<'a>,
    spec: SandboxSpec,
    oracle_context: OracleContext<'a>,
    failure: &'a Failure,
    target: CallTarget,
    lines: SourceLineCache,
}

impl<'a> ReproAttempts<'a> {
    pub(super) fn new(
        failure: &'a Failure,
        backend: &'a dyn SandboxBackend,
        analysis: &'a Analysis,
        workers: usize,
        cancel: CancelToken,
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
        let (qualname, kind) =
            targets::resolve_target(section).map_err(|target| vanished(target.why))?;
        if matches!(kind, TargetKind::Method | TargetKind::Property)
            && failure.call.receiver.is_none()
        {
            return Err(vanished("it wants an instance now".to_owned()));
        }
        if failure.call.intent != InputIntent::Misuse && section.decorators.is_empty() {
            check_arguments(&section.params, &failure.call).map_err(vanished)?;
        }
        let mut spec = targets::module_spec(analysis, module);
        if kind == TargetKind::Module {
            spec.module = None;
        }
        Ok(Self {
            runner: CallRunner::new(backend, workers, cancel, deadline),
            spec,
            oracle_context: OracleContext::from_failing_call(section, &failure.call),
            failure,
            target: CallTarget { module: targets::module_ref(module), qualname, kind },
            lines: SourceLineCache::new(analysis.root()),
        })
    }

    pub(super) fn params(&self) -> &'a [SignatureParam] {
        &self.oracle_context.section().params
    }

    /// The call that shows the failure, as the section is reached today.
    pub(super) fn call(&self) -> Call {
        let mut call = self.failure.call.clone();
        call.step.target = self.target.clone();
        rerun_call(&call)
    }

    pub(super) fn is_confirmed_by(&self, rerun: &CandidateRerun) -> bool {
        is_shown_by(self.failure, rerun, &self.lines)
    }

    /// Makes the calls, and the baseline calls that they are compared with.
    pub(super) fn run(&self, calls: &[Call]) -> Result<Vec<CandidateRerun>, SandboxError> {
        if self.failure.kind == WeaknessKind::Slow {
            return calls.iter().map(|call| self.measure_growth(call)).collect();
        }
        let baselines: Vec<Option<Call>> = calls.iter().map(baseline_call).collect();
        let pairs = calls.iter().zip(&baselines);
        let all_calls = pairs.flat_map(|(call, baseline)| std::iter::once(call).chain(baseline));
        let jobs = all_calls.map(|call| build_job(&self.spec, call.clone())).collect();
        let mut outcomes = self.make(jobs)?.into_iter();
        let mut reruns = Vec::new();
        for (call, baseline) in calls.iter().zip(baselines) {
            let Some(outcome) = outcomes.next() else { return Err(SandboxError::Cancelled) };
            let baseline = baseline.and_then(|_| outcomes.next());
            let baseline = baseline.as_ref().map(BaselineOutcome::from);
            let call = call.clone();
            reruns.push(if self.failure.kind == WeaknessKind::Import {
                CandidateRerun::judge_import(call, outcome)
            } else {
                CandidateRerun::judge(call, outcome, &self.oracle_context, baseline.as_ref())
            });
        }
        Ok(reruns)
    }

    fn make(&self, jobs: Vec<CallJob>) -> Result<Vec<Outcome>, SandboxError> {
        let outcomes = self.runner.make(jobs, |_, _| {})?;
        outcomes.into_iter().collect::<Option<_>>().ok_or(SandboxError::Cancelled)
    }

    /// Measures how time grows with the size of the input.
    ///
    /// On a machine faster than the one that found the failure, its sizes may be too quick to
    /// measure: larger ones follow.
    fn measure_growth(&self, call: &Call) -> Result<CandidateRerun, SandboxError> {
        let Some(mut largest) = largest_size(call) else {
            let outcome = self.make(vec![build_job(&self.spec, call.clone())])?.pop();
            let outcome = outcome.ok_or(SandboxError::Cancelled)?;
            return Ok(CandidateRerun { call: call.clone(), outcome, weakness: None });
        };
        let (mut samples, mut outcome) = self.measure_sizes(call, largest)?;
        for _ in 0..MAX_DOUBLINGS {
            if samples.first().is_none_or(GrowthSample::is_measurable) {
                break;
            }
            largest *= 2;
            (samples, outcome) = self.measure_sizes(call, largest)?;
        }
        let weakness = steep_growth_exponent(&samples).map(|power| SectionWeakness {
            kind: WeaknessKind::Slow,
            evidence: format!("time grows with the size to the power of {power:.1}"),
            place: None,
        });
        Ok(CandidateRerun { call: call.clone(), outcome, weakness })
    }

    /// The shortest CPU time of each size up to the largest, and the last outcome of the largest.
    fn measure_sizes(
        &self,
        call: &Call,
        largest: u64,
    ) -> Result<(Vec<GrowthSample>, Outcome), SandboxError> {
        let sizes = SIZE_DIVISORS.iter().map(|divisor| largest / divisor);
        let (sizes, grown): (Vec<u64>, Vec<Call>) =
            sizes.filter_map(|size| Some((size, with_size(call, size)?))).unzip();
        // Sizes are measured in turns: a disturbance of the machine slows down one call of each
        // size.
        let turns = std::iter::repeat_n(grown, MEASUREMENTS).flatten();
        let mut outcomes = self.make(turns.map(|call| build_job(&self.spec, call)).collect())?;
        let cpu_ms = |outcome: &Outcome| {
            outcome.runtime_metrics.user_cpu_ms + outcome.runtime_metrics.system_cpu_ms
        };
        let shortest = |position: usize| {
            let measured = outcomes.iter().skip(position).step_by(sizes.len());
            measured.map(cpu_ms).fold(f64::INFINITY, f64::min)
        };
        let by_size = sizes.iter().enumerate();
        let samples = by_size
            .map(|(position, &size)| GrowthSample { size, cpu_ms: shortest(position) })
            .collect();
        let outcome = outcomes.pop().ok_or(SandboxError::Cancelled)?;
        Ok((samples, outcome))
    }
}

/// Whether a call has faults or a burst. Configured upstream answers alone are no fault.
pub(crate) fn has_faults(call: &Call) -> bool {
    call.conditions != baseline_conditions(call)
}

fn baseline_conditions(call: &Call) -> CallConditions {
    let upstream = call.conditions.upstream.clone();
    CallConditions { upstream, ..CallConditions::default() }
}

/// The call without its faults; `None` if it has none.
fn baseline_call(call: &Call) -> Option<Call> {
    let conditions = baseline_conditions(call);
    has_faults(call).then(|| Call { conditions, ..call.clone() })
}

/// Whether the parameters of a section still accept a call.
fn check_arguments(params: &[SignatureParam], call: &Call) -> Result<(), String> {
    let has = |kind| params.iter().any(|param| param.kind == kind);
    let positional: Vec<&SignatureParam> = params
        .iter()
        .filter(|param| {
            matches!(param.kind, ParamKind::PositionalOnly | ParamKind::PositionalOrKeyword)
        })
        .collect();
    if call.args.len() > positional.len() && !has(ParamKind::VarPositional) {
        return Err(format!("it takes {} arguments now", positional.len()));
    }
    let by_name = |name: &str| call.kwargs.iter().any(|(keyword, _)| keyword == name);
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
