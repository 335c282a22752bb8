//! Which calls to make of a section, and which ones next.
//!
//! Calls come in generations: what is learnt from one decides the next. Making the calls belongs to
//! `menace-loop`. Budgets are counted in calls, never in seconds.
//! Invariant: the same seed and the same outcomes give the same calls, in the same order.

mod budget;
mod corpus;
mod grow;
mod mutating;
pub mod network;
mod probe;
mod scaling;
#[cfg(test)]
mod tests;
mod trouble;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;

use menace_model::{Call, Conditions, Intent, Outcome, Section, Seed, Target, Upstream, Verdict};

use crate::input::drift::Drift;
use crate::input::{Input, Inputs, Lessons, history};
use crate::judge::{Known, Weakness, WeaknessKind, weakness};

pub use budget::Budget;
pub use mutating::hand_on;
pub use probe::{Probe, Purpose, Terms};

use corpus::Corpus;
use mutating::Mutating;
use scaling::Scaling;
use trouble::Trouble;
use watching::Watching;

/// How often a section that never returned is looked at again, with what was learnt meanwhile.
const SECOND_LOOKS: usize = 3;
/// Inputs of each of them.
const SECOND_LOOK: usize = 24;

/// A weakness, and the call that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub weakness: Weakness,
    pub probe: Probe,
    /// What came of that call.
    pub outcome: Outcome,
}

impl Finding {
    /// The same kind in the same place.
    fn is_like(&self, other: &Self) -> bool {
        self.weakness.kind == other.weakness.kind && self.weakness.place == other.weakness.place
    }
}

/// Explores one section.
#[derive(Debug)]
pub struct Explorer<'a> {
    known: Known<'a>,
    target: Target,
    terms: Terms,
    inputs: Inputs<'a>,
    budget: Budget,
    seed: Seed,
    /// What was planned last.
    stage: Stage,
    /// What was asked for last, in the order in which the outcomes come.
    asked: Vec<Probe>,
    /// What belongs to the same stage, and is asked for when this is known.
    later: Vec<Probe>,
    corpus: Corpus,
    watching: Watching,
    mutating: Mutating,
    scaling: Scaling,
    trouble: Trouble,
    suspects: Vec<Finding>,
    findings: Vec<Finding>,
    verdicts: BTreeSet<Verdict>,
    calls: usize,
    /// The last generation reached or showed something new.
    had_yield: bool,
}

/// What a generation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Start,
    /// Ordinary and extreme inputs.
    Look,
    /// The same, as long as nothing has returned.
    LookAgain(usize),
    Attack,
    /// More of what reached something new.
    Mutate(usize),
    Trouble(usize),
    Scale(usize),
    /// Many equal calls in one process.
    Keep,
    /// Suspects once more.
    Confirm,
    Done,
}

impl Stage {
    /// It looks at inputs that are made without knowing what the ones before reached.
    fn is_look(self) -> bool {
        matches!(self, Self::Look | Self::LookAgain(_) | Self::Attack)
    }
}

impl<'a> Explorer<'a> {
    pub fn new(
        section: &'a Section,
        target: Target,
        mut terms: Terms,
        inputs: Inputs<'a>,
        budget: Budget,
        seed: Seed,
    ) -> Self {
        let talks = inputs.talk();
        if talks && terms.conditions.upstream.is_none() {
            // Somebody answers, so that it gets further than the first connection.
            terms.conditions.upstream = Some(Upstream::answering());
        }
        Self {
            known: Known::new(section),
            watching: Watching::new(terms.is_watched_for_free),
            trouble: Trouble::new(talks, terms.conditions.clone()),
            target,
            terms,
            inputs,
            budget,
            seed: seed.of(section.id.as_str()),
            stage: Stage::Start,
            asked: Vec::new(),
            later: Vec::new(),
            corpus: Corpus::default(),
            mutating: Mutating::default(),
            scaling: Scaling::default(),
            suspects: Vec::new(),
            findings: Vec::new(),
            verdicts: BTreeSet::new(),
            calls: 0,
            had_yield: true,
        }
    }

    pub fn section(&self) -> &'a Section {
        self.known.section()
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Inputs that are worth beginning with the next time, as lines of a history; the best comes last.
    pub fn worth_keeping(&self) -> Vec<String> {
        let section = &self.section().id;
        let kept = self.corpus.worth_keeping().into_iter();
        kept.filter_map(|(input, lines)| history::line(section, input, Verdict::Returned, lines))
            .collect()
    }

    /// How many calls were asked for so far.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Every verdict that was met.
    pub fn verdicts(&self) -> &BTreeSet<Verdict> {
        &self.verdicts
    }

    /// The call that shows a finding.
    pub fn call_of(&self, finding: &Finding) -> Call {
        finding.probe.call(&self.target, &self.terms)
    }

    /// The next generation; empty when there is nothing left to find out.
    pub fn next_generation(&mut self) -> Vec<Call> {
        self.asked = std::mem::take(&mut self.later);
        while self.asked.is_empty() && self.stage != Stage::Done {
            self.stage = self.following();
            self.asked = self.plan();
        }
        if self.stage.is_look() {
            self.watching.choose(&mut self.asked);
        }
        self.calls += self.asked.len();
        self.asked.iter().map(|probe| probe.call(&self.target, &self.terms)).collect()
    }

    /// Does the last generation measure time? How many calls that takes depends on the machine: they
    /// are none of those that the same seed makes again.
    pub fn is_timing(&self) -> bool {
        matches!(self.stage, Stage::Scale(_))
    }

    /// Is there nothing left to find out?
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Is it worth going on with before others? Whoever waits for what others leave is not.
    pub fn is_yielding(&self) -> bool {
        !self.is_done() && self.had_yield && !self.wants_more()
    }

    /// There is no time for more: what is suspected is seen once more, and that is all.
    pub fn conclude(&mut self) {
        // The one before.
        self.stage = Stage::Keep;
        self.later.clear();
    }

    /// How many weaknesses were seen once, and not yet again.
    pub fn unproven(&self) -> usize {
        self.suspects.len()
    }

    /// Adds what came of the last generation to what is known of all sections; before
    /// [`Explorer::learn`].
    pub fn teach(&self, outcomes: &[Option<Outcome>], lessons: &mut Lessons) {
        if self.is_timing() {
            return;
        }
        for (probe, outcome) in self.asked.iter().zip(outcomes) {
            if let Some(outcome) = outcome
                && probe.is_in_peace(&self.terms.conditions)
            {
                self.inputs.teach(lessons, &probe.input, outcome);
            }
        }
    }

    /// Makes better inputs from now on.
    pub fn hear(&mut self, lessons: &Arc<Lessons>) {
        self.inputs.hear(lessons);
    }

    /// What came of the last generation, in its order; nothing of calls that were not made.
    pub fn learn(&mut self, outcomes: &[Option<Outcome>]) {
        let asked = std::mem::take(&mut self.asked);
        let made = asked.len();
        let known = self.suspects.len() + self.findings.len();
        for (probe, outcome) in asked.into_iter().zip(outcomes) {
            let Some(outcome) = outcome else { continue };
            self.verdicts.insert(outcome.verdict);
            self.note(probe, outcome);
        }
        let has_news = self.corpus.take_news();
        self.had_yield = has_news || self.suspects.len() + self.findings.len() > known;
        if let Stage::Mutate(_) = self.stage {
            self.mutating.note(made, has_news);
        }
    }

    fn plan(&mut self) -> Vec<Probe> {
        match self.stage {
            Stage::Start | Stage::Done => Vec::new(),
            Stage::Look => {
                let seed = self.seed.of("inputs");
                let mut probes = self.made(self.budget.inputs, seed, |intent| !is_attack(intent));
                let first = probes.len();
                for input in self.inputs.at_edges(self.budget.edges, self.seed.of("edges")) {
                    self.push(&mut probes, input);
                }
                for input in self.inputs.of_words(self.budget.words, self.seed.of("words")) {
                    self.push(&mut probes, input);
                }
                if let Some(input) = self.inputs.largest(self.seed.of("largest")) {
                    self.push(&mut probes, input);
                }
                if first > 0 {
                    // Whether these are worth watching is known when the first were made.
                    self.later = probes.split_off(first);
                }
                probes
            }
            Stage::LookAgain(_) if self.verdicts.contains(&Verdict::Returned) => Vec::new(),
            Stage::LookAgain(round) => {
                let seed = self.seed.of("again").nth(round as u64);
                self.made(SECOND_LOOK, seed, |intent| !is_attack(intent))
            }
            Stage::Attack => {
                let mut probes = self.made(self.budget.inputs, self.seed.of("inputs"), is_attack);
                for input in self.inputs.attacks(self.seed.of("attack")) {
                    self.push(&mut probes, input);
                }
                self.drift(&mut probes);
                probes
            }
            Stage::Mutate(generation) => self.mutated(generation),
            Stage::Trouble(round) => self.trouble.plan(round),
            Stage::Scale(round) => {
                let mut probes = self.scaling.plan(round, self.corpus.best_for(scaling::can_grow));
                for probe in &mut probes {
                    probe.conditions = self.peace();
                }
                probes
            }
            Stage::Keep => {
                // All was measured by now, and what is steep more than once.
                self.findings.extend(self.scaling.findings().into_iter().take(1));
                self.keeping()
            }
            Stage::Confirm => self.suspects.iter().map(|finding| finding.probe.again()).collect(),
        }
    }

    /// What comes after the last generation, now that its outcomes are known.
    fn following(&mut self) -> Stage {
        match self.stage {
            Stage::Start => Stage::Look,
            Stage::Look => Stage::LookAgain(0),
            Stage::LookAgain(round) if round + 1 < SECOND_LOOKS => Stage::LookAgain(round + 1),
            Stage::LookAgain(_) => Stage::Attack,
            Stage::Attack => Stage::Mutate(0),
            Stage::Mutate(generation) => {
                if self.mutating.goes_on(&self.budget) && !self.is_known_well() {
                    Stage::Mutate(generation + 1)
                } else {
                    self.mutating.end();
                    Stage::Trouble(0)
                }
            }
            Stage::Trouble(round) if round + 1 < trouble::ROUNDS => Stage::Trouble(round + 1),
            Stage::Trouble(_) => Stage::Scale(0),
            Stage::Scale(round) if round + 1 < scaling::ROUNDS => Stage::Scale(round + 1),
            Stage::Scale(_) => Stage::Keep,
            Stage::Keep => Stage::Confirm,
            Stage::Confirm | Stage::Done => Stage::Done,
        }
    }

    fn is_known_well(&self) -> bool {
        self.findings.len() + self.suspects.len() >= self.budget.weaknesses
    }

    /// The best input, many times in one process; not one that needs files of its own.
    fn keeping(&self) -> Vec<Probe> {
        let best = self.corpus.best_for(|input| input.fixtures.is_empty());
        let keep = |input: &Input| Probe {
            again: probe::KEEP,
            conditions: self.peace(),
            ..Probe::new(input.clone(), Purpose::Keep, 1)
        };
        best.filter(|input| input.fixtures.is_empty()).map(keep).into_iter().collect()
    }

    /// Nothing but what every call has, and the answers of others.
    fn peace(&self) -> Conditions {
        self.terms.conditions.clone()
    }

    fn made(&mut self, count: usize, seed: Seed, wanted: impl Fn(Intent) -> bool) -> Vec<Probe> {
        let mut probes = Vec::new();
        for input in self.inputs.take(count, seed) {
            if wanted(input.intent) {
                self.push(&mut probes, input);
            }
        }
        probes
    }

    fn mutated(&mut self, generation: usize) -> Vec<Probe> {
        let seed = self.seed.of("mutate").nth(generation as u64);
        let mut random = seed.random();
        let mut probes = Vec::new();
        for index in 0..self.mutating.size(&self.budget) {
            let Some(parent) = self.corpus.pick(&mut random) else { break };
            let input = self.inputs.mutated(parent, seed.nth(index as u64));
            self.push(&mut probes, input);
        }
        if probes.is_empty() {
            self.mutating.note(0, false);
        }
        probes
    }

    /// What worked, with its data changed.
    fn drift(&mut self, probes: &mut Vec<Probe>) {
        let Some(input) = self.corpus.best().cloned() else { return };
        for index in 0..self.budget.drifted {
            let seed = self.seed.of("drift").nth(index);
            let how = if index % 2 == 0 { Drift::One } else { Drift::Half };
            if let Some(input) = self.inputs.drifted(&input, how, seed) {
                self.push(probes, input);
            }
        }
    }

    fn push(&mut self, probes: &mut Vec<Probe>, input: Input) {
        let seed = self.seed.nth(self.calls as u64 + probes.len() as u64).0;
        let mut probe = Probe::new(input, Purpose::Look, seed);
        if probe.input.strategy.follows_types() {
            self.known.declare(&probe.call(&self.target, &self.terms));
        }
        probe.coverage = true;
        probe.conditions = self.peace();
        if !probes.iter().any(|other| other.input == probe.input) {
            probes.push(probe);
        }
    }

    fn note(&mut self, probe: Probe, outcome: &Outcome) {
        let call = probe.call(&self.target, &self.terms);
        if probe.purpose == Purpose::Again {
            self.confirm(&probe, outcome);
            return;
        }
        if let Purpose::Scale { size, .. } = probe.purpose {
            self.scaling.note(&probe, size, outcome);
            if matches!(outcome.verdict, Verdict::TimedOut | Verdict::Crashed)
                && let Some(weakness) = self.judged(&call, &probe, outcome)
            {
                self.suspect(Finding { weakness, probe, outcome: outcome.clone() });
            }
            return;
        }
        if probe.purpose == Purpose::Keep {
            // That so many calls take long says nothing of one.
            let found = self.judged(&call, &probe, outcome);
            if let Some(weakness) = found.filter(|found| found.kind == WeaknessKind::Leak) {
                self.suspect(Finding { weakness, probe, outcome: outcome.clone() });
            }
            return;
        }
        let in_peace = probe.is_in_peace(&self.terms.conditions);
        self.known.note(&call, outcome, in_peace);
        self.trouble.note(&probe, outcome);
        let found = self.judged(&call, &probe, outcome);
        if let Some(weakness) = found {
            let (probe, outcome) = (probe.clone(), outcome.clone());
            self.suspect(Finding { weakness, probe, outcome });
        }
        if in_peace {
            let is_watched = probe.coverage;
            let has_news = self.corpus.note(probe.input, outcome);
            if is_watched {
                self.watching.note(has_news);
            }
        }
    }

    fn judged(&self, call: &Call, probe: &Probe, outcome: &Outcome) -> Option<Weakness> {
        weakness(&self.known.witness(call, outcome, self.trouble.alone(probe)))
    }

    /// One of a kind and place is enough.
    fn suspect(&mut self, finding: Finding) {
        let is_known = |other: &Finding| other.is_like(&finding);
        if !self.suspects.iter().any(is_known) && !self.findings.iter().any(is_known) {
            self.suspects.push(finding);
        }
    }

    fn confirm(&mut self, probe: &Probe, outcome: &Outcome) {
        let at = self.suspects.iter().position(|finding| finding.probe.is_same_call(probe));
        let Some(at) = at else { return };
        let mut finding = self.suspects.remove(at);
        let call = probe.call(&self.target, &self.terms);
        let again = self.judged(&call, &finding.probe, outcome);
        let Some(again) = again.filter(|again| finding.weakness.kind.is_shown_by(again.kind))
        else {
            return;
        };
        if !finding.weakness.kind.stands_against(again.kind) {
            finding.weakness = again;
            finding.outcome = outcome.clone();
        }
        if !self.findings.iter().any(|other| other.is_like(&finding)) {
            self.findings.push(finding);
        }
    }
}

fn is_attack(intent: Intent) -> bool {
    matches!(intent, Intent::Hostile | Intent::Misuse)
}
