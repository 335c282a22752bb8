//! Explores every section of a repository: makes the calls that explorers ask for, generation by
//! generation, on as many sandboxes as there are workers.
//!
//! Invariant: which calls are made depends on the seed and on outcomes, not on how many workers there
//! are or who is done first.

use std::collections::BTreeSet;
use std::sync::Arc;

use menace_model::{Call, How, Outcome, Section, SectionId, Seed, Target, Verdict};
use menace_sandbox::{Backend, Cancel, Interpose, Job, Pool, SandboxError, WarmSpec};
use menace_scenario::explore::{Budget, Explorer, Finding};
use menace_scenario::input::{InputSettings, Inputs, Lessons};
use menace_source::{Analysis, SurveyError};

use crate::survey::Surveyed;
use crate::targets;

/// A sandbox may be lost to the machine's own troubles; a second one is not.
const ATTEMPTS: u32 = 2;

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

/// A call that was made.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    pub section: &'a SectionId,
    /// Which call of the section this is, counted from 0.
    pub number: usize,
    pub call: &'a Call,
    pub outcome: &'a Outcome,
}

/// Explores all sections; `witness` hears of every call, generation after generation, in an order
/// that does not depend on who was done first.
pub fn explore(
    analysis: &Analysis,
    backend: &dyn Backend,
    exploration: &Exploration,
    witness: &mut dyn FnMut(Made<'_>),
) -> Result<Vec<Explored>, ExploreError> {
    let surveyed = Surveyed::new(analysis)?;
    let facts = surveyed.facts();
    let mut subjects = Vec::new();
    let mut closed = Vec::new();
    for (module, section, hints) in surveyed.sections() {
        match targets::reach(section) {
            Ok((qualname, how)) if how != How::Module => {
                let spec = targets::warm_spec(analysis, module);
                let reference = targets::module_ref(module);
                let target = Target { module: reference, qualname, how };
                let inputs = Inputs::new(section, hints, &facts, &exploration.inputs);
                let (budget, seed) = (exploration.budget, exploration.seed);
                let explorer = Explorer::new(section, target, inputs, budget, seed);
                subjects.push(Subject { explorer, spec });
            }
            Ok(_) => {}
            Err(why) => closed.push(unreached(section, why.why)),
        }
    }
    run(backend, exploration, &mut subjects, witness)?;
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
    witness: &mut dyn FnMut(Made<'_>),
) -> Result<(), SandboxError> {
    let pool = Pool::new(backend, exploration.workers, exploration.cancel.clone());
    let mut lessons = Lessons::default();
    loop {
        let learnt = Arc::new(lessons.clone());
        for subject in subjects.iter_mut() {
            subject.explorer.hear(&learnt);
        }
        let numbers: Vec<usize> = subjects.iter().map(|one| one.explorer.calls()).collect();
        let generations: Vec<Vec<Call>> =
            subjects.iter_mut().map(|subject| subject.explorer.next_generation()).collect();
        if generations.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let outcomes = outcomes(&pool, subjects, &generations)?;
        if exploration.cancel.is_cancelled() {
            return Err(SandboxError::Cancelled);
        }
        for (at, subject) in subjects.iter_mut().enumerate() {
            let section = &subject.explorer.section().id;
            for (index, call) in generations[at].iter().enumerate() {
                let number = numbers[at] + index;
                witness(Made { section, number, call, outcome: &outcomes[at][index] });
            }
            subject.explorer.teach(&outcomes[at], &mut lessons);
            subject.explorer.learn(&outcomes[at]);
        }
    }
}

/// Makes the calls of a generation of every section; outcomes in the same order.
fn outcomes(
    pool: &Pool<'_>,
    subjects: &[Subject<'_>],
    generations: &[Vec<Call>],
) -> Result<Vec<Vec<Outcome>>, SandboxError> {
    let mut jobs: Vec<(usize, usize, Job)> = Vec::new();
    for (at, (subject, calls)) in subjects.iter().zip(generations).enumerate() {
        for (index, call) in calls.iter().enumerate() {
            let interpose = Interpose::of(&call.conditions);
            let mut spec = WarmSpec { interpose, ..subject.spec.clone() };
            // The ceiling of what its calls may have.
            spec.limits.processes = spec.limits.processes.max(call.limits.processes);
            jobs.push((at, index, Job { spec, call: call.clone() }));
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
    let jobs: Vec<Job> = jobs.into_iter().map(|(_, _, job)| job).collect();
    let mut outcomes: Vec<Vec<Option<Outcome>>> =
        generations.iter().map(|calls| vec![None; calls.len()]).collect();
    let mut waiting: Vec<usize> = (0..jobs.len()).collect();
    for attempt in 1..=ATTEMPTS {
        let mut failed = Vec::new();
        let these = std::mem::take(&mut waiting);
        pool.run(these.iter().map(|position| jobs[*position].clone()), |number, result| {
            let (at, index) = places[these[number]];
            match result {
                Ok(outcome) => outcomes[at][index] = Some(outcome),
                Err(error) => failed.push((these[number], error)),
            }
        });
        for (position, error) in failed {
            let lost = matches!(error, SandboxError::Lost(_) | SandboxError::Protocol(_));
            if !lost || attempt == ATTEMPTS {
                return Err(error);
            }
            tracing::warn!("a sandbox was lost, and its call is made again: {error}");
            waiting.push(position);
        }
        if waiting.is_empty() {
            break;
        }
    }
    outcomes
        .into_iter()
        .map(|section| section.into_iter().collect::<Option<_>>().ok_or(SandboxError::Cancelled))
        .collect()
}
