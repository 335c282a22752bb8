//! Explores every section of a repository: makes the calls that explorers ask for, generation by
//! generation, on as many sandboxes as there are workers.
//!
//! Invariant: which calls are made depends on the seed and on outcomes, not on how many workers there
//! are or who is done first.

use std::collections::BTreeSet;
use std::sync::Arc;

use menace_model::{Call, Hints, Outcome, Section, SectionId, Seed, Target, Verdict};
use menace_sandbox::{Backend, Cancel, Interpose, Job, Pool, SandboxError, WarmSpec};
use menace_scenario::explore::{Budget, Explorer, Finding};
use menace_scenario::input::{Facts, InputSettings, Inputs, Lessons};
use menace_source::{Analysis, SurveyError};

use crate::targets;

/// How far to go.
#[derive(Debug, Clone)]
pub struct Exploration {
    pub seed: Seed,
    pub budget: Budget,
    pub workers: usize,
    pub cancel: Cancel,
    pub inputs: InputSettings,
}

/// What is known about a section afterwards.
#[derive(Debug)]
pub struct Explored {
    pub section: SectionId,
    pub findings: Vec<Finding>,
    pub verdicts: BTreeSet<Verdict>,
    pub calls: usize,
    /// Why it could not be called at all.
    pub closed: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ExploreError {
    #[error(transparent)]
    Survey(#[from] SurveyError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// A section that is being explored.
struct Subject<'a> {
    explorer: Explorer<'a>,
    spec: WarmSpec,
}

/// Explores all sections; `progress` hears of the calls that were made so far.
pub fn explore(
    analysis: &Analysis,
    backend: &dyn Backend,
    exploration: &Exploration,
    progress: &dyn Fn(usize),
) -> Result<Vec<Explored>, ExploreError> {
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
    let mut closed = Vec::new();
    for (module, hints) in analysis.modules.iter().zip(&hints) {
        let module_ref =
            menace_model::ModuleRef { name: module.name.clone(), path: Some(module.path.clone()) };
        let spec = WarmSpec {
            import_roots: targets::import_roots(analysis, module),
            ..WarmSpec::new(Some(module_ref.clone()))
        };
        for (section, hints) in module.sections.iter().zip(hints) {
            match targets::reach(section) {
                Ok((qualname, how)) if how != menace_model::How::Module => {
                    let target = Target { module: module_ref.clone(), qualname, how };
                    let inputs = Inputs::new(section, hints, &facts, &exploration.inputs);
                    let budget = exploration.budget;
                    let explorer = Explorer::new(section, target, inputs, budget, exploration.seed);
                    subjects.push(Subject { explorer, spec: spec.clone() });
                }
                Ok(_) => {}
                Err(why) => closed.push(unreached(section, why.why)),
            }
        }
    }
    run(backend, exploration, &mut subjects, progress)?;
    let explored = subjects.into_iter().map(|subject| Explored {
        section: subject.explorer.section().id.clone(),
        findings: subject.explorer.findings().to_vec(),
        verdicts: subject.explorer.verdicts().clone(),
        calls: subject.explorer.calls(),
        closed: None,
    });
    Ok(explored.chain(closed).collect())
}

fn unreached(section: &Section, why: String) -> Explored {
    Explored {
        section: section.id.clone(),
        findings: Vec::new(),
        verdicts: BTreeSet::new(),
        calls: 0,
        closed: Some(why),
    }
}

fn run(
    backend: &dyn Backend,
    exploration: &Exploration,
    subjects: &mut [Subject<'_>],
    progress: &dyn Fn(usize),
) -> Result<(), SandboxError> {
    let pool = Pool::new(backend, exploration.workers, exploration.cancel.clone());
    let mut made = 0;
    let mut lessons = Lessons::default();
    loop {
        let learnt = Arc::new(lessons.clone());
        for subject in subjects.iter_mut() {
            subject.explorer.hear(&learnt);
        }
        let generations: Vec<Vec<Call>> =
            subjects.iter_mut().map(|subject| subject.explorer.next_generation()).collect();
        let total: usize = generations.iter().map(Vec::len).sum();
        if total == 0 {
            return Ok(());
        }
        let mut jobs: Vec<(usize, usize, Job)> = Vec::with_capacity(total);
        for (at, (subject, calls)) in subjects.iter().zip(generations).enumerate() {
            for (index, call) in calls.into_iter().enumerate() {
                let interpose = Interpose::of(&call.conditions);
                let mut spec = WarmSpec { interpose, ..subject.spec.clone() };
                // The ceiling of what its calls may have.
                spec.limits.processes = spec.limits.processes.max(call.limits.processes);
                jobs.push((at, index, Job { spec, call }));
            }
        }
        // Calls that can share an interpreter one after the other.
        jobs.sort_by_key(|(_, _, job)| {
            let wants = job.spec.interpose;
            (
                job.spec.module.as_ref().map(|module| module.name.clone()),
                (wants.files, wants.memory, wants.sockets),
                job.spec.limits.processes,
            )
        });
        let places: Vec<(usize, usize)> = jobs.iter().map(|(at, index, _)| (*at, *index)).collect();
        let mut outcomes: Vec<Vec<Option<Outcome>>> = vec![Vec::new(); subjects.len()];
        for (at, _) in &places {
            outcomes[*at].push(None);
        }
        let mut failed = None;
        pool.run(jobs.into_iter().map(|(_, _, job)| job), |position, result| {
            let (at, index) = places[position];
            match result {
                Ok(outcome) => outcomes[at][index] = Some(outcome),
                Err(error) => failed = failed.take().or(Some(error)),
            }
            made += 1;
            progress(made);
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if exploration.cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        for (subject, outcomes) in subjects.iter_mut().zip(outcomes) {
            let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
            subject.explorer.teach(&outcomes, &mut lessons);
            subject.explorer.learn(&outcomes);
        }
    }
}
