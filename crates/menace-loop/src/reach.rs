//! Calls sections until each has returned once, and tells of the others why they did not.
//!
//! Finding weaknesses belongs to [`explore`](crate::explore); this measures whether inputs get
//! anywhere at all.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use menace_model::{
    Call, Hints, How, Limits, ModuleRef, ModuleReport, Outcome, Section, SectionId, Seed, Target,
    Verdict,
};
use menace_sandbox::{Backend, Cancel, Job, Pool, SandboxError, WarmSpec};
use menace_scenario::input::{Facts, Input, InputSettings, Inputs, Lessons};
use menace_source::Analysis;

use crate::ExploreError;
use crate::targets;

/// Long enough for anything small, short enough to be waited for.
const TIMEOUT_MS: u64 = 2_000;

/// How hard to try.
#[derive(Debug, Clone)]
pub struct Reach {
    pub seed: Seed,
    /// Calls of a section at most.
    pub calls: usize,
    /// Calls of a section before the outcomes of all are looked at.
    pub round: usize,
    /// Make better inputs from what came of earlier ones.
    pub learn: bool,
    pub workers: usize,
    pub cancel: Cancel,
    pub inputs: InputSettings,
}

/// What became of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    pub section: SectionId,
    pub calls: usize,
    pub returned: bool,
    /// Why it could not be called at all.
    pub closed: Option<String>,
    /// How the calls ended that did not return, in words, the most frequent first.
    pub reasons: Vec<(String, usize)>,
}

struct Subject<'a> {
    id: SectionId,
    target: Target,
    inputs: Inputs<'a>,
    spec: WarmSpec,
    seed: Seed,
    tried: HashSet<String>,
    asked: Vec<Input>,
    returned: bool,
    reasons: BTreeMap<String, usize>,
}

/// Calls every section that is wanted.
pub fn reach(
    analysis: &Analysis,
    backend: &dyn Backend,
    plan: &Reach,
    wanted: &dyn Fn(&ModuleReport, &Section) -> bool,
) -> Result<Vec<Reached>, ExploreError> {
    let survey = analysis.survey()?;
    let (classes, types) = (survey.classes(), survey.type_names());
    let hints: Vec<Vec<Hints>> =
        analysis.modules.iter().map(|module| survey.hints(module)).collect::<Result<_, _>>()?;
    let mut facts = Facts::new(&classes, &types);
    for (module, hints) in analysis.modules.iter().zip(&hints) {
        for (section, hints) in module.sections.iter().zip(hints) {
            facts.add(&module.name, section, hints);
        }
    }
    let mut subjects = Vec::new();
    let mut reached = Vec::new();
    for (module, hints) in analysis.modules.iter().zip(&hints) {
        let module_ref = ModuleRef { name: module.name.clone(), path: Some(module.path.clone()) };
        let spec = WarmSpec {
            import_roots: targets::import_roots(analysis, module),
            ..WarmSpec::new(Some(module_ref.clone()))
        };
        for (section, hints) in module.sections.iter().zip(hints) {
            if !wanted(module, section) {
                continue;
            }
            match targets::reach(section) {
                Ok((_, How::Module)) => {}
                Ok((qualname, how)) => subjects.push(Subject {
                    id: section.id.clone(),
                    target: Target { module: module_ref.clone(), qualname, how },
                    inputs: Inputs::new(section, hints, &facts, &plan.inputs),
                    spec: spec.clone(),
                    seed: plan.seed.of(section.id.as_str()),
                    tried: HashSet::new(),
                    asked: Vec::new(),
                    returned: false,
                    reasons: BTreeMap::new(),
                }),
                Err(why) => reached.push(Reached {
                    section: section.id.clone(),
                    calls: 0,
                    returned: false,
                    closed: Some(why.why),
                    reasons: Vec::new(),
                }),
            }
        }
    }
    run(backend, plan, &mut subjects)?;
    reached.extend(subjects.into_iter().map(Subject::end));
    reached.sort_by(|one, other| one.section.cmp(&other.section));
    Ok(reached)
}

fn run(
    backend: &dyn Backend,
    plan: &Reach,
    subjects: &mut [Subject<'_>],
) -> Result<(), SandboxError> {
    let pool = Pool::new(backend, plan.workers);
    let mut lessons = Lessons::default();
    for round in 0..plan.calls.div_ceil(plan.round.max(1)) {
        let mut jobs = Vec::new();
        let mut places = Vec::new();
        let learnt = Arc::new(lessons.clone());
        for (at, subject) in subjects.iter_mut().enumerate() {
            subject.inputs.hear(&learnt);
            for (index, call) in subject.ask(plan, round as u64).into_iter().enumerate() {
                jobs.push(Job { spec: subject.spec.clone(), call });
                places.push((at, index));
            }
        }
        let mut outcomes: Vec<Option<Outcome>> = vec![None; places.len()];
        let mut failed = None;
        pool.run(&plan.cancel, jobs, |position, result| match result {
            Ok(outcome) => outcomes[position] = Some(outcome),
            Err(error) => failed = failed.take().or(Some(error)),
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if plan.cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        for ((at, index), outcome) in places.into_iter().zip(outcomes) {
            if let Some(outcome) = outcome {
                subjects[at].note(&outcome);
                if plan.learn {
                    subjects[at].teach(index, &outcome, &mut lessons);
                }
            }
        }
    }
    Ok(())
}

impl Subject<'_> {
    /// The next calls; none once it has returned.
    fn ask(&mut self, plan: &Reach, round: u64) -> Vec<Call> {
        self.asked.clear();
        if self.returned {
            return Vec::new();
        }
        let left = plan.round.min(plan.calls - self.tried.len());
        for input in self.inputs.stream(self.seed.nth(round)) {
            if self.asked.len() == left {
                break;
            }
            if self.tried.insert(format!("{:?}", (&input.receiver, &input.args, &input.kwargs))) {
                self.asked.push(input);
            }
        }
        let call = |input: &Input| {
            let mut call = Call::new(self.target.clone());
            call.limits = Limits { timeout_ms: TIMEOUT_MS, ..Limits::default() };
            input.clone().fill(&mut call);
            call
        };
        self.asked.iter().map(call).collect()
    }

    fn teach(&self, index: usize, outcome: &Outcome, lessons: &mut Lessons) {
        self.inputs.teach(lessons, &self.asked[index], outcome);
    }

    fn note(&mut self, outcome: &Outcome) {
        if outcome.verdict == Verdict::Returned {
            self.returned = true;
        } else {
            *self.reasons.entry(in_words(outcome)).or_default() += 1;
        }
    }

    fn end(self) -> Reached {
        let mut reasons: Vec<(String, usize)> = self.reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Reached {
            section: self.id,
            calls: self.tried.len(),
            returned: self.returned,
            closed: None,
            reasons,
        }
    }
}

/// How a call ended, on one line.
fn in_words(outcome: &Outcome) -> String {
    let line = match (&outcome.exception, &outcome.reason) {
        (Some(raised), _) => {
            let kind = raised.kind.strip_prefix("builtins.").unwrap_or(&raised.kind);
            let place = raised.frames.iter().rev().find(|frame| frame.own);
            let place = place.map_or(String::new(), |frame| format!(" (line {})", frame.line));
            format!("{:?}: {kind}: {}{place}", outcome.stage, raised.message)
        }
        (None, Some(reason)) => format!("{}: {reason}", outcome.verdict),
        (None, None) => outcome.verdict.to_string(),
    };
    line.chars().map(|char| if char.is_control() { ' ' } else { char }).take(160).collect()
}
