//! Calls sections until each has returned once, and reports why the others did not.
//!
//! [`mod@crate::explore`] finds weaknesses; this measures how many sections the generated inputs
//! reach.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use menace_model::{
    AnalyzedModule, Call, CallLimits, CallTarget, Outcome, Section, SectionId, Seed, TargetKind,
    Verdict,
};
use menace_sandbox::{CancelToken, SandboxBackend, SandboxError, SandboxSpec};
use menace_scenario::input::{CallInput, InputGenerator, InputSettings, LearnedHints};
use menace_source::Analysis;

use crate::ExploreError;
use crate::calls::{CallRunner, build_job};
use crate::survey::SurveyedAnalysis;
use crate::targets;

/// Long enough for small functions.
const REACH_TIMEOUT_MS: u64 = 2_000;

/// The budget of a reach measurement.
#[derive(Debug, Clone)]
pub struct ReachOptions {
    pub seed: Seed,
    /// Maximum calls of a section.
    pub calls: usize,
    /// Calls of a section per round; hints are learned between rounds.
    pub round: usize,
    /// Apply hints learned from earlier outcomes.
    pub learn: bool,
    pub workers: usize,
    pub cancel: CancelToken,
    pub input_settings: InputSettings,
}

/// Whether a section was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachResult {
    pub section: SectionId,
    pub calls: usize,
    pub returned: bool,
    /// Why it could not be called at all.
    pub uncallable: Option<String>,
    /// Outcomes of the calls that did not return, the most frequent first.
    pub reasons: Vec<(String, usize)>,
}

struct ReachTarget<'a> {
    id: SectionId,
    target: CallTarget,
    inputs: InputGenerator<'a>,
    spec: SandboxSpec,
    seed: Seed,
    tried: HashSet<String>,
    /// Inputs of the current round.
    inputs_of_round: Vec<CallInput>,
    returned: bool,
    reasons: BTreeMap<String, usize>,
}

/// Calls every section that is wanted.
pub fn reach(
    analysis: &Analysis,
    backend: &dyn SandboxBackend,
    plan: &ReachOptions,
    wanted: &dyn Fn(&AnalyzedModule, &Section) -> bool,
) -> Result<Vec<ReachResult>, ExploreError> {
    let surveyed = SurveyedAnalysis::new(analysis)?;
    let facts = surveyed.facts();
    let mut reach_targets = Vec::new();
    let mut reached = Vec::new();
    for (module, section, hints) in surveyed.sections() {
        if !wanted(module, section) {
            continue;
        }
        match targets::resolve_target(section) {
            Ok((_, TargetKind::Module)) => {}
            Ok((qualname, kind)) => reach_targets.push(ReachTarget {
                id: section.id.clone(),
                target: CallTarget { module: targets::module_ref(module), qualname, kind },
                inputs: InputGenerator::new(section, hints, &facts, &plan.input_settings),
                spec: targets::module_spec(analysis, module),
                seed: plan.seed.derive(section.id.as_str()),
                tried: HashSet::new(),
                inputs_of_round: Vec::new(),
                returned: false,
                reasons: BTreeMap::new(),
            }),
            Err(target) => reached.push(ReachResult {
                section: section.id.clone(),
                calls: 0,
                returned: false,
                uncallable: Some(target.why),
                reasons: Vec::new(),
            }),
        }
    }
    run(backend, plan, &mut reach_targets)?;
    reached.extend(reach_targets.into_iter().map(ReachTarget::into_result));
    reached.sort_by(|one, other| one.section.cmp(&other.section));
    Ok(reached)
}

fn run(
    backend: &dyn SandboxBackend,
    plan: &ReachOptions,
    reach_targets: &mut [ReachTarget<'_>],
) -> Result<(), SandboxError> {
    let runner = CallRunner::new(backend, plan.workers, plan.cancel.clone(), None);
    let mut hints_so_far = LearnedHints::default();
    for round in 0..plan.calls.div_ceil(plan.round.max(1)) {
        let mut jobs = Vec::new();
        let mut places = Vec::new();
        let learned = Arc::new(hints_so_far.clone());
        for (at, reach_target) in reach_targets.iter_mut().enumerate() {
            reach_target.inputs.apply_hints(&learned);
            for (index, call) in reach_target.next_calls(plan, round as u64).into_iter().enumerate()
            {
                jobs.push(build_job(&reach_target.spec, call));
                places.push((at, index));
            }
        }
        let outcomes = runner.make(jobs, |_, _| {})?;
        for ((at, index), outcome) in places.into_iter().zip(outcomes) {
            if let Some(outcome) = outcome {
                reach_targets[at].record(&outcome);
                if plan.learn {
                    reach_targets[at].learn(index, &outcome, &mut hints_so_far);
                }
            }
        }
    }
    Ok(())
}

impl ReachTarget<'_> {
    /// The next calls; none once it has returned.
    fn next_calls(&mut self, plan: &ReachOptions, round: u64) -> Vec<Call> {
        self.inputs_of_round.clear();
        if self.returned {
            return Vec::new();
        }
        let left = plan.round.min(plan.calls - self.tried.len());
        for input in self.inputs.stream(self.seed.derive_nth(round)) {
            if self.inputs_of_round.len() == left {
                break;
            }
            if self.tried.insert(format!("{:?}", (&input.receiver, &input.args, &input.kwargs))) {
                self.inputs_of_round.push(input);
            }
        }
        let call = |input: &CallInput| {
            let mut call = Call::new(self.target.clone());
            call.limits = CallLimits { timeout_ms: REACH_TIMEOUT_MS, ..CallLimits::default() };
            input.clone().fill_call(&mut call);
            call
        };
        self.inputs_of_round.iter().map(call).collect()
    }

    fn learn(&self, index: usize, outcome: &Outcome, hints_so_far: &mut LearnedHints) {
        self.inputs.record_hints(hints_so_far, &self.inputs_of_round[index], outcome);
    }

    fn record(&mut self, outcome: &Outcome) {
        if outcome.verdict == Verdict::Returned {
            self.returned = true;
        } else {
            *self.reasons.entry(describe_outcome(outcome)).or_default() += 1;
        }
    }

    fn into_result(self) -> ReachResult {
        let mut reasons: Vec<(String, usize)> = self.reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        ReachResult {
            section: self.id,
            calls: self.tried.len(),
            returned: self.returned,
            uncallable: None,
            reasons,
        }
    }
}

/// How a call ended, on one line.
fn describe_outcome(outcome: &Outcome) -> String {
    let line = match (&outcome.exception, &outcome.reason) {
        (Some(raised), _) => {
            let kind = raised.kind.strip_prefix("builtins.").unwrap_or(&raised.kind);
            let place = raised.frames.iter().rev().find(|frame| frame.in_repository);
            let place = place.map_or(String::new(), |frame| format!(" (line {})", frame.line));
            format!("{:?}: {kind}: {}{place}", outcome.stage, raised.message)
        }
        (None, Some(reason)) => format!("{}: {reason}", outcome.verdict),
        (None, None) => outcome.verdict.to_string(),
    };
    line.chars().map(|char| if char.is_control() { ' ' } else { char }).take(160).collect()
}
