//! Depth: sections are explored one by one, with inputs that learn from what they reach.
//!
//! Where there is not time for all, the most complex and the most imported come first, and of those that are
//! explored side by side the ones that still yield.

use menace_model::{Call, How, Intent, SectionId, Seed};
use menace_sandbox::SandboxError;
use menace_scenario::explore::{Budget, Explorer, Finding, Terms};
use menace_scenario::input::{Facts, InputSettings, Inputs, Lessons};

use super::grid::Standing;
use super::plan::{BASELINE, Plan, Subject};
use super::seen::Seen;
use super::watch::{Called, Stage, Watch};
use crate::calls::Caller;
use crate::explore::{self, Made, Witness, deepen};
use crate::failure::{self, Lines};

/// Sections that are explored side by side: what is kept in memory.
const CHUNK: usize = 96;
/// What a section takes of calls, for want of anything better to show.
const GUESS: usize = 150;

/// How deep a cycle goes.
#[derive(Debug)]
pub(super) struct Depth<'a, 'p> {
    pub plan: &'p Plan<'a>,
    pub facts: &'p Facts<'p>,
    pub caller: &'p Caller<'p>,
    pub budget: Budget,
    pub seed: Seed,
    pub inputs: &'p InputSettings,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Deepened {
    /// Sections for which there was no time.
    pub left: Vec<SectionId>,
    /// Weaknesses that were seen, and could not be looked at again.
    pub unproven: usize,
}

impl Depth<'_, '_> {
    /// Explores all sections that can be called; `seen` hears of every call in a fixed order.
    pub(super) fn explore(
        &self,
        standings: &[Standing<'_>],
        lessons: &mut Lessons,
        lines: &Lines,
        watch: &mut dyn Watch,
        seen: &mut Seen,
    ) -> Result<Deepened, SandboxError> {
        let order = self.order(standings);
        watch.begins(Stage::Depth, order.len() * GUESS);
        let mut deepened = Deepened::default();
        let mut hearing = Hearing { plan: self.plan, lines, watch, seen };
        for chunk in order.chunks(CHUNK) {
            let id = |&at: &usize| self.plan.subjects[at].section.id.clone();
            if self.caller.is_late() {
                deepened.left.extend(chunk.iter().map(id));
                continue;
            }
            let mut subjects: Vec<explore::Subject<'_>> =
                chunk.iter().map(|&at| self.subject(&self.plan.subjects[at])).collect();
            let left = deepen(self.caller, &mut subjects, lessons, &mut hearing)?;
            deepened.left.extend(left.subjects.iter().map(|&at| id(&chunk[at])));
            deepened.unproven += left.unproven;
            let kept = subjects.iter().flat_map(|subject| subject.explorer.worth_keeping());
            hearing.seen.worth_keeping.extend(kept);
        }
        Ok(deepened)
    }

    fn order(&self, standings: &[Standing<'_>]) -> Vec<usize> {
        let subjects = &self.plan.subjects;
        let is_open =
            |at: &usize| !standings[*at].is_shut && subjects[*at].target.how != How::Module;
        let mut order: Vec<usize> = (0..subjects.len()).filter(is_open).collect();
        order.sort_by_key(|&at| {
            let Subject { section, module, .. } = &subjects[at];
            std::cmp::Reverse(u64::from(section.complexity) * (1 + module.imported_by.len() as u64))
        });
        order
    }

    fn subject<'s>(&'s self, subject: &'s Subject<'_>) -> explore::Subject<'s> {
        let inputs = Inputs::new(subject.section, subject.hints, self.facts, self.inputs);
        let target = subject.target.clone();
        let (budget, seed) = (self.budget, self.seed);
        let baseline = &self.plan.scenarios[0];
        let is_watched_for_free = self.caller.watches_for_free();
        let terms = Terms { is_watched_for_free, ..subject.terms(baseline) };
        let explorer = Explorer::new(subject.section, target, terms, inputs, budget, seed);
        explore::Subject { explorer, spec: baseline.spec(&subject.spec) }
    }
}

/// Passes on what exploring does while it does it: who is killed loses nothing but what was under way.
struct Hearing<'h> {
    plan: &'h Plan<'h>,
    lines: &'h Lines,
    watch: &'h mut dyn Watch,
    seen: &'h mut Seen,
}

impl Witness for Hearing<'_> {
    fn ended(&mut self, made: Made<'_>) {
        let Made { section, number, is_timing, call, outcome } = made;
        let counts = !is_timing;
        self.watch.called(Called { section, scenario: None, number, counts, call, outcome });
    }

    fn made(&mut self, made: Made<'_>) {
        if made.is_timing {
            self.seen.timing_calls += 1;
        } else {
            self.seen.count(made.outcome);
        }
        self.seen.reach(made.outcome);
    }

    fn found(&mut self, explorer: &Explorer<'_>, finding: &Finding, number: Option<usize>) {
        if let Some(lacking) = self.plan.lacking(explorer.section(), &finding.outcome) {
            self.seen.lacking.insert(lacking);
            return;
        }
        let call = explorer.call_of(finding);
        let seen = failure::Seen {
            section: explorer.section(),
            weakness: &finding.weakness,
            call: &call,
            outcome: &finding.outcome,
            scenario: scenario_of(&call),
        };
        let failure = failure::of(&seen, self.lines);
        self.watch.failed(&failure);
        if let Some(number) = number {
            self.watch.confirmed(&failure.section, number, &failure.id);
        }
        self.seen.fail_beyond_breadth(failure, 1);
    }
}

/// The scenario that a call in depth would belong to.
fn scenario_of(call: &Call) -> &'static str {
    let conditions = &call.conditions;
    if conditions.burst.is_some() {
        return "concurrency_spike";
    }
    if let Some(fault) = conditions.faults.first() {
        return fault.mode.as_str();
    }
    if conditions.upstream.as_ref().is_some_and(|upstream| upstream.failure.is_some()) {
        return "flaky_upstream";
    }
    match call.intent {
        Intent::Hostile => "hostile_input",
        Intent::Misuse => "user_misuse",
        Intent::Drifted => "schema_drift",
        Intent::Valid | Intent::Boundary => BASELINE,
    }
}
