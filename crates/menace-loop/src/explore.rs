//! Explores every section of a repository: makes the calls that explorers ask for, generation by
//! generation, on as many sandboxes as there are workers.
//!
//! Invariant: which calls are made depends on the seed and on outcomes, not on how many workers there
//! are or who is done first. Sections that yield go on before those that do not: when the time is up, it
//! was spent where it paid.

use std::collections::BTreeSet;
use std::sync::Arc;

use menace_model::{Call, How, Outcome, Section, SectionId, Seed, Target, Verdict};
use menace_sandbox::{Backend, Cancel, SandboxError, WarmSpec};
use menace_scenario::explore::{Budget, Explorer, Finding, Terms, hand_on};
use menace_scenario::input::{InputSettings, Inputs, Lessons};
use menace_source::{Analysis, SurveyError};

use crate::calls::{Caller, job};
use crate::survey::Surveyed;
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
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub explorer: Explorer<'a>,
    pub spec: WarmSpec,
}

/// A call that was made.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    pub section: &'a SectionId,
    /// Which call of the section this is, counted from 0.
    pub number: usize,
    /// It measures time, and is made as often as that takes.
    pub is_timing: bool,
    pub call: &'a Call,
    pub outcome: &'a Outcome,
}

/// Who hears of calls while sections are explored.
pub(crate) trait Witness {
    /// As soon as it has ended, in whatever order.
    fn ended(&mut self, _made: Made<'_>) {}

    /// Of the same calls, when all of a generation have ended, in an order that does not depend on who
    /// was done first.
    fn made(&mut self, made: Made<'_>);

    /// A weakness was seen twice, the second time by the call of that number, where it is known.
    fn found(&mut self, _explorer: &Explorer<'_>, _finding: &Finding, _number: Option<usize>) {}
}

impl<F: FnMut(Made<'_>)> Witness for F {
    fn made(&mut self, made: Made<'_>) {
        self(made);
    }
}

/// What there was no time for.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Subjects that would have gone on, by their position.
    pub subjects: Vec<usize>,
    /// Weaknesses that were seen, and could not be looked at again.
    pub unproven: usize,
}

/// Explores all sections; `witness` hears of every call, generation after generation, in an order
/// that does not depend on who was done first.
pub fn explore(
    analysis: &Analysis,
    backend: &dyn Backend,
    exploration: &Exploration,
    mut witness: &mut dyn FnMut(Made<'_>),
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
                let is_watched_for_free = backend.watches_for_free();
                let terms = Terms { is_watched_for_free, ..Terms::default() };
                let explorer = Explorer::new(section, target, terms, inputs, budget, seed);
                subjects.push(Subject { explorer, spec });
            }
            Ok(_) => {}
            Err(why) => closed.push(unreached(section, why.why)),
        }
    }
    let (workers, cancel) = (exploration.workers, exploration.cancel.clone());
    let caller = Caller::new(backend, workers, cancel, None);
    deepen(&caller, &mut subjects, &mut Lessons::default(), &mut witness)?;
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

/// Makes generation after generation until nobody asks for more. When the time is up, what was made
/// counts, and suspects are looked at once more.
pub(crate) fn deepen(
    caller: &Caller<'_>,
    subjects: &mut [Subject<'_>],
    lessons: &mut Lessons,
    witness: &mut dyn Witness,
) -> Result<Left, SandboxError> {
    let mut left = Left::default();
    loop {
        let turn = turn(subjects);
        match generation(caller, subjects, &turn, lessons, witness)? {
            Progress::Whole => {}
            Progress::Done => return Ok(left),
            Progress::Cut => break,
        }
    }
    for (at, subject) in subjects.iter_mut().enumerate() {
        if !subject.explorer.is_done() {
            left.subjects.push(at);
        }
        subject.explorer.conclude();
    }
    let all = vec![true; subjects.len()];
    generation(&caller.patient(), subjects, &all, lessons, witness)?;
    left.unproven = subjects.iter().map(|subject| subject.explorer.unproven()).sum();
    Ok(left)
}

/// The same input in the same trouble, however closely it was looked at.
fn is_same(one: &Call, other: &Call) -> bool {
    one.args == other.args
        && one.kwargs == other.kwargs
        && one.receiver == other.receiver
        && one.conditions == other.conditions
}

/// What became of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Whole,
    /// The time was up.
    Cut,
    /// Nobody asks for anything any more.
    Done,
}

/// Whose turn it is: those whose last generation showed something new, or else everybody who does not wait
/// for what others leave.
fn turn(subjects: &[Subject<'_>]) -> Vec<bool> {
    let wishes: [fn(&Explorer<'_>) -> bool; 3] = [
        |explorer| explorer.is_yielding(),
        |explorer| !explorer.is_done() && !explorer.wants_more(),
        |explorer| !explorer.is_done(),
    ];
    let these = |wish: fn(&Explorer<'_>) -> bool| -> Vec<bool> {
        subjects.iter().map(|subject| wish(&subject.explorer)).collect()
    };
    wishes.into_iter().map(these).find(|turn| turn.contains(&true)).unwrap_or_default()
}

/// The next calls of those whose turn it is.
fn generation(
    caller: &Caller<'_>,
    subjects: &mut [Subject<'_>],
    turn: &[bool],
    lessons: &mut Lessons,
    witness: &mut dyn Witness,
) -> Result<Progress, SandboxError> {
    hand_on(subjects.iter_mut().map(|subject| &mut subject.explorer));
    let learnt = Arc::new(lessons.clone());
    for subject in subjects.iter_mut() {
        subject.explorer.hear(&learnt);
    }
    let numbers: Vec<usize> = subjects.iter().map(|one| one.explorer.calls()).collect();
    let found: Vec<usize> = subjects.iter().map(|one| one.explorer.findings().len()).collect();
    let has_turn = |at: usize| turn.get(at).copied().unwrap_or(false);
    let generations: Vec<Vec<Call>> = subjects
        .iter_mut()
        .enumerate()
        .map(
            |(at, subject)| {
                if has_turn(at) { subject.explorer.next_generation() } else { Vec::new() }
            },
        )
        .collect();
    let places: Vec<(usize, usize)> = (0..subjects.len())
        .flat_map(|at| (0..generations[at].len()).map(move |index| (at, index)))
        .collect();
    let jobs = places.iter().map(|&(at, index)| {
        let call = generations[at][index].clone();
        job(&subjects[at].spec, call)
    });
    let asked = |position: usize| {
        let (at, index) = places[position];
        let explorer = &subjects[at].explorer;
        let section = &explorer.section().id;
        (section, numbers[at] + index, explorer.is_timing(), &generations[at][index])
    };
    let outcomes = caller.make(jobs.collect(), |position, outcome| {
        let (section, number, is_timing, call) = asked(position);
        witness.ended(Made { section, number, is_timing, call, outcome });
    })?;
    for (position, outcome) in outcomes.iter().enumerate() {
        let (section, number, is_timing, call) = asked(position);
        if let Some(outcome) = outcome {
            witness.made(Made { section, number, is_timing, call, outcome });
        }
    }
    let mut rest = outcomes.as_slice();
    for (at, subject) in subjects.iter_mut().enumerate() {
        let (own, others) = rest.split_at(generations[at].len());
        rest = others;
        if !has_turn(at) {
            continue;
        }
        subject.explorer.teach(own, lessons);
        subject.explorer.learn(own);
        for finding in &subject.explorer.findings()[found[at]..] {
            let shown = subject.explorer.call_of(finding);
            let index = generations[at].iter().rposition(|call| is_same(call, &shown));
            let number = index.map(|index| numbers[at] + index);
            witness.found(&subject.explorer, finding, number);
        }
    }
    Ok(match &outcomes {
        // Those whose turn it was may be done, and others not.
        outcomes if outcomes.is_empty() && subjects.iter().all(|one| one.explorer.is_done()) => {
            Progress::Done
        }
        outcomes if outcomes.iter().all(Option::is_some) => Progress::Whole,
        _ => Progress::Cut,
    })
}
