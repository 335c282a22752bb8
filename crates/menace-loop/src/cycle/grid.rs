//! Breadth: every section, in peace first, then under every scenario of its module.
//!
//! Invariant: which calls are made depends on the plan and on outcomes, not on who was done first.

use std::collections::BTreeMap;
use std::sync::Arc;

use menace_model::{Call, How, Outcome, Verdict};
use menace_sandbox::{Job, SandboxError};
use menace_scenario::input::{Facts, Input, Inputs, Lessons};
use menace_scenario::judge::{Alone, Known, Weakness, weakness};

use super::court::Court;
use super::plan::{Plan, Scenario, Subject};
use super::watch::{Called, Stage, Watch};
use crate::calls::{Caller, job};

/// Calls that are planned, made and weighed at once: what is kept in memory, and how often the clock
/// is looked at.
const CHUNK: usize = 1_024;
/// How often a section that never returned is tried again, with what was learnt meanwhile.
const SECOND_LOOKS: usize = 2;
/// A section that ran out of time so often gets no more than as many calls in every other cell.
const PATIENCE: usize = 2;

/// Inputs of a section that runs in company: each such call is hundreds of runs, and depth makes more.
const BURSTS: usize = 1;

/// How broad a cycle is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a, 'p> {
    pub plan: &'p Plan<'a>,
    pub facts: &'p Facts<'p>,
    pub caller: &'p Caller<'p>,
    pub calls_per_cell: usize,
}

/// What is known of a section once it was called in peace.
#[derive(Debug)]
pub(super) struct Standing<'a> {
    pub known: Known<'a>,
    pub tried: Vec<Tried>,
    /// Its module cannot be imported: nothing of it was called.
    pub is_shut: bool,
    /// Inputs were looked for.
    pub is_asked: bool,
}

/// An input and what came of it in peace.
#[derive(Debug)]
pub(super) struct Tried {
    pub input: Input,
    pub outcome: Alone,
}

/// A call of a cell, weighed.
#[derive(Debug)]
pub(super) struct Weighed<'w> {
    pub subject: usize,
    pub scenario: usize,
    /// Which call of its cell.
    pub number: usize,
    pub call: &'w Call,
    pub outcome: &'w Outcome,
    /// What it says against its section.
    pub weakness: Option<Weakness>,
}

/// A call of a cell that is to be made.
struct Asked {
    subject: usize,
    scenario: usize,
    number: usize,
    input: Option<Input>,
    /// The same input in peace, by its position.
    alone: Option<usize>,
    call: Call,
}

impl<'a> Standing<'a> {
    pub(super) fn new(subject: &Subject<'a>) -> Self {
        Self {
            known: Known::new(subject.section),
            tried: Vec::new(),
            is_shut: false,
            is_asked: false,
        }
    }

    pub(super) fn has_returned(&self) -> bool {
        self.tried.iter().any(|tried| tried.outcome.verdict == Verdict::Returned)
    }

    fn is_slow(&self) -> bool {
        let late = self.tried.iter().filter(|tried| tried.outcome.verdict == Verdict::TimedOut);
        late.count() >= PATIENCE
    }
}

impl<'a> Grid<'a, '_> {
    /// Calls every section in peace; false when the time was up first.
    pub(super) fn baseline(
        &self,
        standings: &mut [Standing<'a>],
        lessons: &mut Lessons,
        watch: &mut dyn Watch,
        court: &mut Court<'_, '_>,
    ) -> Result<bool, SandboxError> {
        let open = self.order(standings);
        watch.begins(Stage::Baseline, open.len() * self.calls_per_cell);
        for chunk in open.chunks((CHUNK / self.calls_per_cell.max(1)).max(1)) {
            if self.caller.is_late() {
                return Ok(false);
            }
            let is_whole = self.in_peace(chunk, standings, lessons, watch, court)?
                && self.once_more(chunk, standings, watch, court)?;
            court.confirm(self, standings, watch)?;
            if !is_whole {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Calls some sections in peace; those that never returned again, with what was learnt.
    fn in_peace(
        &self,
        chunk: &[usize],
        standings: &mut [Standing<'a>],
        lessons: &mut Lessons,
        watch: &mut dyn Watch,
        court: &mut Court<'_, '_>,
    ) -> Result<bool, SandboxError> {
        for round in 0..=SECOND_LOOKS {
            let learnt = Arc::new(lessons.clone());
            let again = |at: &usize| round == 0 || !standings[*at].has_returned();
            let these = chunk.iter().copied().filter(again);
            let inputs: BTreeMap<usize, Inputs<'_>> =
                these.map(|at| (at, self.inputs(at, &self.plan.scenarios[0], &learnt))).collect();
            let mut asked = Vec::new();
            for (&at, inputs) in &inputs {
                self.ask_in_peace(at, round, inputs, &mut standings[at], &mut asked);
            }
            if asked.is_empty() {
                break;
            }
            let outcomes = self.make(&asked, watch)?;
            let is_whole = outcomes.iter().all(Option::is_some);
            for (asked, outcome) in asked.into_iter().zip(outcomes) {
                let Some(outcome) = outcome else {
                    court.leave(asked.subject, asked.scenario);
                    continue;
                };
                if let (Some(inputs), Some(input)) = (inputs.get(&asked.subject), &asked.input) {
                    inputs.teach(lessons, input, &outcome);
                }
                weigh_in_peace(asked, &outcome, standings, court);
            }
            if !is_whole {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One call of each section that returned, made again as it was: equal calls should be equal.
    fn once_more(
        &self,
        chunk: &[usize],
        standings: &[Standing<'a>],
        watch: &mut dyn Watch,
        court: &mut Court<'_, '_>,
    ) -> Result<bool, SandboxError> {
        let mut asked = Vec::new();
        for &at in chunk {
            let tried = &standings[at].tried;
            let returned = |one: &Tried| one.outcome.verdict == Verdict::Returned;
            let Some(number) = tried.iter().position(returned) else { continue };
            let input = Some(&tried[number].input);
            let mut call = self.plan.subjects[at].call(&self.plan.scenarios[0], number, input);
            call.coverage = true;
            let number = tried.len();
            asked.push(Asked { subject: at, scenario: 0, number, input: None, alone: None, call });
        }
        let outcomes = self.make(&asked, watch)?;
        for (asked, outcome) in asked.iter().zip(&outcomes) {
            let Some(outcome) = outcome else { return Ok(false) };
            let Asked { subject, scenario, number, call, .. } = asked;
            let (subject, scenario, number) = (*subject, *scenario, *number);
            court.weigh(&Weighed { subject, scenario, number, call, outcome, weakness: None });
        }
        Ok(true)
    }

    /// Sections that can be called: the most complex and most imported modules first, since time may
    /// be short; sections of one module follow each other, so that its interpreters stay warm.
    fn order(&self, standings: &[Standing<'_>]) -> Vec<usize> {
        let mut weights: BTreeMap<&str, u64> = BTreeMap::new();
        for subject in &self.plan.subjects {
            let importers = 1 + subject.module.imported_by.len() as u64;
            let weight = weights.entry(&subject.module.path).or_default();
            *weight += u64::from(subject.section.complexity) * importers;
        }
        let mut open: Vec<usize> =
            (0..standings.len()).filter(|&at| !standings[at].is_shut).collect();
        open.sort_by_key(|&at| {
            let path = self.plan.subjects[at].module.path.as_str();
            (std::cmp::Reverse(weights.get(path).copied().unwrap_or_default()), path, at)
        });
        open
    }

    /// Calls every section under every other scenario of its module; false when the time was up.
    pub(super) fn scenarios(
        &self,
        standings: &mut [Standing<'a>],
        lessons: &Lessons,
        watch: &mut dyn Watch,
        court: &mut Court<'_, '_>,
    ) -> Result<bool, SandboxError> {
        let learnt = Arc::new(lessons.clone());
        let cells: Vec<(usize, usize)> = self.cells(standings);
        watch.begins(Stage::Scenarios, cells.len() * self.calls_per_cell);
        for chunk in cells.chunks((CHUNK / self.calls_per_cell.max(1)).max(1)) {
            if self.caller.is_late() {
                return Ok(false);
            }
            let mut asked = Vec::new();
            for &(subject, scenario) in chunk {
                self.ask_under(subject, scenario, &learnt, &mut standings[subject], &mut asked);
            }
            let outcomes = self.make(&asked, watch)?;
            let is_whole = outcomes.iter().all(Option::is_some);
            for (asked, outcome) in asked.iter().zip(&outcomes) {
                let Some(outcome) = outcome else {
                    court.leave(asked.subject, asked.scenario);
                    continue;
                };
                let standing = &mut standings[asked.subject];
                let in_peace = is_peaceful(&asked.call);
                standing.known.note(&asked.call, outcome, in_peace);
                let alone = asked.alone.map(|at| &standing.tried[at].outcome);
                let witness = standing.known.witness(&asked.call, outcome, alone);
                let is_import = self.plan.subjects[asked.subject].target.how == How::Module;
                court.weigh(&Weighed {
                    subject: asked.subject,
                    scenario: asked.scenario,
                    number: asked.number,
                    call: &asked.call,
                    outcome,
                    weakness: if is_import { None } else { weakness(&witness) },
                });
            }
            court.confirm(self, standings, watch)?;
            if !is_whole {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn cells(&self, standings: &[Standing<'_>]) -> Vec<(usize, usize)> {
        let cells = self.order(standings).into_iter().flat_map(|at| {
            let subject = &self.plan.subjects[at];
            let scenarios = self.plan.scenarios_of(&subject.module.path);
            // Importing takes no inputs: other ones change nothing.
            let wanted = scenarios.filter(|(number, scenario)| {
                *number != 0 && !(subject.target.how == How::Module && scenario.has_own_inputs)
            });
            wanted.map(move |(number, _)| (at, number)).collect::<Vec<_>>()
        });
        cells.collect()
    }

    fn inputs<'i>(
        &'i self,
        at: usize,
        scenario: &'i Scenario,
        lessons: &Arc<Lessons>,
    ) -> Inputs<'i> {
        let Subject { section, hints, .. } = &self.plan.subjects[at];
        let mut inputs = Inputs::new(section, hints, self.facts, &scenario.inputs);
        if !lessons.is_empty() {
            inputs.hear(lessons);
        }
        inputs
    }

    fn ask_in_peace(
        &self,
        at: usize,
        round: usize,
        inputs: &Inputs<'_>,
        standing: &mut Standing<'_>,
        asked: &mut Vec<Asked>,
    ) {
        let (subject, scenario) = (&self.plan.subjects[at], &self.plan.scenarios[0]);
        if subject.target.how == How::Module {
            return;
        }
        standing.is_asked = true;
        let seed = subject.seed.of("baseline").nth(round as u64);
        let made = inputs.take(self.calls_per_cell, seed).into_iter();
        let is_new = |input: &Input| !standing.tried.iter().any(|tried| tried.input == *input);
        let new: Vec<Input> = made.filter(is_new).collect();
        for (index, input) in new.into_iter().enumerate() {
            let number = standing.tried.len() + index;
            let mut call = subject.call(scenario, number, Some(&input));
            call.coverage = true;
            if input.strategy.follows_types() {
                standing.known.declare(&call);
            }
            asked.push(Asked {
                subject: at,
                scenario: 0,
                number,
                input: Some(input),
                alone: None,
                call,
            });
        }
    }

    fn ask_under(
        &self,
        at: usize,
        number: usize,
        lessons: &Arc<Lessons>,
        standing: &mut Standing<'_>,
        asked: &mut Vec<Asked>,
    ) {
        let (subject, scenario) = (&self.plan.subjects[at], &self.plan.scenarios[number]);
        if subject.target.how == How::Module {
            let call = subject.call(scenario, 0, None);
            asked.push(Asked {
                subject: at,
                scenario: number,
                number: 0,
                input: None,
                alone: None,
                call,
            });
            return;
        }
        let has_burst = scenario.preset.conditions(0).1.burst.is_some();
        let count = match (standing.is_slow(), has_burst) {
            (true, _) => self.calls_per_cell.min(PATIENCE),
            (false, true) => self.calls_per_cell.min(BURSTS),
            (false, false) => self.calls_per_cell,
        };
        let inputs = self.inputs(at, scenario, lessons);
        let mut chosen: Vec<(Input, Option<usize>)> = Vec::new();
        if scenario.has_own_inputs {
            let seed = subject.seed.of(&scenario.label());
            chosen.extend(inputs.take(count, seed).into_iter().map(|input| (input, None)));
        } else {
            let known = standing.tried.iter().enumerate();
            // What works in peace tells most about trouble.
            let mut known: Vec<(usize, &Tried)> = known.collect();
            known.sort_by_key(|(_, tried)| tried.outcome.verdict != Verdict::Returned);
            let known = known.into_iter().take(count);
            chosen.extend(known.map(|(at, tried)| (tried.input.clone(), Some(at))));
        }
        if let Some(how) = scenario.preset.drift() {
            let seed = subject.seed.of("drift").of(&scenario.label());
            for (index, (input, alone)) in chosen.iter_mut().enumerate() {
                if let Some(other) = inputs.drifted(input, how, seed.nth(index as u64)) {
                    (*input, *alone) = (other, None);
                }
            }
        }
        for (index, (input, alone)) in chosen.into_iter().enumerate() {
            // In peace and in trouble, the same input has the same chance.
            let mut call = subject.call(scenario, alone.unwrap_or(index), Some(&input));
            // What only trouble or other inputs reach is seen by the first call; looking costs the rest.
            call.coverage = index == 0 && !has_burst && reaches_other_lines(scenario, &call);
            if scenario.has_own_inputs && input.strategy.follows_types() {
                standing.known.declare(&call);
            }
            let asks =
                Asked { subject: at, scenario: number, number: index, input: None, alone, call };
            asked.push(asks);
        }
    }

    fn make(
        &self,
        asked: &[Asked],
        watch: &mut dyn Watch,
    ) -> Result<Vec<Option<Outcome>>, SandboxError> {
        let jobs = asked.iter().map(|one| self.job(one.subject, one.scenario, one.call.clone()));
        let labels: Vec<String> = self.plan.scenarios.iter().map(Scenario::label).collect();
        self.caller.make(jobs.collect(), |position, outcome| {
            let Asked { subject, scenario, number, call, .. } = &asked[position];
            let section = &self.plan.subjects[*subject].section.id;
            let scenario = Some(labels[*scenario].as_str());
            let number = *number;
            watch.called(Called { section, scenario, number, counts: true, call, outcome });
        })
    }

    /// The job of a call under a scenario.
    pub(super) fn job(&self, subject: usize, scenario: usize, call: Call) -> Job {
        job(&self.plan.scenarios[scenario].spec(&self.plan.subjects[subject].spec), call)
    }
}

fn weigh_in_peace(
    asked: Asked,
    outcome: &Outcome,
    standings: &mut [Standing<'_>],
    court: &mut Court<'_, '_>,
) {
    let Asked { subject, scenario, number, call, input, .. } = asked;
    let standing = &mut standings[subject];
    standing.known.note(&call, outcome, true);
    let found = weakness(&standing.known.witness(&call, outcome, None));
    let call = &call;
    court.weigh(&Weighed { subject, scenario, number, call, outcome, weakness: found });
    let outcome = Alone::from(outcome);
    standing.tried.extend(input.map(|input| Tried { input, outcome }));
}

/// It may come to lines that the same section does not come to in peace.
fn reaches_other_lines(scenario: &Scenario, call: &Call) -> bool {
    scenario.has_own_inputs || scenario.preset.drift().is_some() || !is_peaceful(call)
}

/// Nothing troubles it: answers of others are no trouble in themselves.
fn is_peaceful(call: &Call) -> bool {
    let conditions = &call.conditions;
    let upstream = conditions.upstream.clone();
    *conditions == menace_model::Conditions { upstream, ..menace_model::Conditions::default() }
}
