//! Which calls to make of a section, and which ones next.
//!
//! Calls come in generations: what is learnt from one decides the next. Making the calls belongs to
//! `menace-loop`. Budgets are counted in calls, never in seconds.
//! Invariant: the same seed and the same outcomes give the same calls, in the same order.

mod corpus;
mod grow;
mod network;
mod probe;
mod scaling;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use menace_model::{Call, Intent, Outcome, Section, Seed, Target, Verdict};

use crate::input::drift::Drift;
use crate::input::{Input, Inputs, Lessons, Strategy};
use crate::judge::{Shape, Weakness, Witness, weakness};

pub use probe::{Probe, Purpose};

use corpus::Corpus;
use scaling::Scaling;
use trouble::Trouble;

/// How many calls a section gets at most, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Inputs of all intents.
    pub inputs: usize,
    /// Parameters at the edges of their types, one at a time.
    pub edges: usize,
    /// Inputs of words that the source spells out.
    pub words: usize,
    /// Inputs whose data has another schema.
    pub drifted: u64,
    /// Mutations in each generation.
    pub mutations: usize,
    /// Generations of mutations at most: a section whose last one reached nothing new gets no other.
    pub generations: usize,
    /// Weaknesses after which a section is known well enough.
    pub weaknesses: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            inputs: 60,
            edges: 40,
            words: 12,
            drifted: 4,
            mutations: 12,
            generations: 8,
            weaknesses: 4,
        }
    }
}

/// How often a section that never returned is looked at again, with what was learnt meanwhile.
const SECOND_LOOKS: usize = 3;
/// Inputs of each of them.
const SECOND_LOOK: usize = 24;

/// A weakness, and the call that shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub weakness: Weakness,
    pub probe: Probe,
}

/// Explores one section.
#[derive(Debug)]
pub struct Explorer<'a> {
    section: &'a Section,
    params: Vec<String>,
    target: Target,
    inputs: Inputs<'a>,
    budget: Budget,
    seed: Seed,
    stage: Stage,
    /// What was asked for last, in the order in which the outcomes come.
    asked: Vec<Probe>,
    corpus: Corpus,
    accepted: HashSet<Shape>,
    /// Shapes that inputs of the declared types have.
    declared: HashSet<Shape>,
    /// A generator came to its end.
    ends: bool,
    scaling: Scaling,
    trouble: Trouble,
    suspects: Vec<Finding>,
    findings: Vec<Finding>,
    verdicts: BTreeSet<Verdict>,
    calls: usize,
}

/// What the next generation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Ordinary and extreme inputs.
    Look,
    /// The same, as long as nothing has returned.
    LookAgain(usize),
    Attack,
    /// More of what reached something new.
    Mutate(usize),
    Trouble(usize),
    Scale(usize),
    /// Suspects once more.
    Confirm,
    Done,
}

impl<'a> Explorer<'a> {
    pub fn new(
        section: &'a Section,
        target: Target,
        inputs: Inputs<'a>,
        budget: Budget,
        seed: Seed,
    ) -> Self {
        Self {
            params: section.params.iter().map(|param| param.name.clone()).collect(),
            trouble: Trouble::new(network::is_used_by(section)),
            section,
            target,
            inputs,
            budget,
            seed: seed.of(section.id.as_str()),
            stage: Stage::Look,
            asked: Vec::new(),
            corpus: Corpus::default(),
            accepted: HashSet::new(),
            declared: HashSet::new(),
            ends: false,
            scaling: Scaling::default(),
            suspects: Vec::new(),
            findings: Vec::new(),
            verdicts: BTreeSet::new(),
            calls: 0,
        }
    }

    pub fn section(&self) -> &'a Section {
        self.section
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How many calls were asked for so far.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Every verdict that was met.
    pub fn verdicts(&self) -> &BTreeSet<Verdict> {
        &self.verdicts
    }

    /// The next generation; empty when there is nothing left to find out.
    pub fn next_generation(&mut self) -> Vec<Call> {
        self.asked.clear();
        while self.asked.is_empty() && self.stage != Stage::Done {
            self.asked = self.plan();
            self.stage = self.following();
        }
        self.calls += self.asked.len();
        let target = &self.target;
        self.asked.iter().map(|probe| probe.call(target)).collect()
    }

    /// Adds what came of the last generation to what is known of all sections; before
    /// [`Explorer::learn`].
    pub fn teach(&self, outcomes: &[Outcome], lessons: &mut Lessons) {
        for (probe, outcome) in self.asked.iter().zip(outcomes) {
            if probe.is_in_peace() {
                self.inputs.teach(lessons, &probe.input, outcome);
            }
        }
    }

    /// Makes better inputs from now on.
    pub fn hear(&mut self, lessons: &Arc<Lessons>) {
        self.inputs.hear(lessons);
    }

    /// What came of the last generation, in its order.
    pub fn learn(&mut self, outcomes: &[Outcome]) {
        let asked = std::mem::take(&mut self.asked);
        for (probe, outcome) in asked.into_iter().zip(outcomes) {
            self.verdicts.insert(outcome.verdict);
            self.note(probe, outcome);
        }
    }

    fn plan(&mut self) -> Vec<Probe> {
        match self.stage {
            Stage::Look => {
                let seed = self.seed.of("inputs");
                let mut probes = self.made(self.budget.inputs, seed, |intent| !is_attack(intent));
                for input in self.inputs.at_edges(self.budget.edges, self.seed.of("edges")) {
                    self.push(&mut probes, input);
                }
                for input in self.inputs.of_words(self.budget.words, self.seed.of("words")) {
                    self.push(&mut probes, input);
                }
                if let Some(input) = self.inputs.largest(self.seed.of("largest")) {
                    self.push(&mut probes, input);
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
                self.scaling.plan(round, self.corpus.best_for(scaling::can_grow))
            }
            Stage::Confirm => {
                self.findings.extend(self.scaling.findings().into_iter().take(1));
                self.suspects.iter().map(|finding| finding.probe.again()).collect()
            }
            Stage::Done => Vec::new(),
        }
    }

    fn following(&self) -> Stage {
        let known_well = self.findings.len() + self.suspects.len() >= self.budget.weaknesses;
        match self.stage {
            Stage::Look => Stage::LookAgain(0),
            Stage::LookAgain(round) if round + 1 < SECOND_LOOKS => Stage::LookAgain(round + 1),
            Stage::LookAgain(_) => Stage::Attack,
            Stage::Attack => Stage::Mutate(0),
            Stage::Mutate(generation) => {
                let goes_on = generation + 1 < self.budget.generations && self.corpus.has_news();
                if goes_on && !known_well {
                    Stage::Mutate(generation + 1)
                } else {
                    Stage::Trouble(0)
                }
            }
            Stage::Trouble(round) if round + 1 < trouble::ROUNDS => Stage::Trouble(round + 1),
            Stage::Trouble(_) => Stage::Scale(0),
            Stage::Scale(round) if round + 1 < scaling::ROUNDS => Stage::Scale(round + 1),
            Stage::Scale(_) => Stage::Confirm,
            Stage::Confirm | Stage::Done => Stage::Done,
        }
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
        for index in 0..self.budget.mutations {
            let Some(parent) = self.corpus.pick(&mut random) else { break };
            let input = self.inputs.mutated(parent, seed.nth(index as u64));
            self.push(&mut probes, input);
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
        if matches!(probe.input.strategy, Strategy::Signature | Strategy::Smart | Strategy::Random)
        {
            self.declared.insert(Shape::of(&probe.call(&self.target)));
        }
        probe.coverage = true;
        probe.conditions.upstream = self.trouble.upstream();
        if !probes.iter().any(|other| other.input == probe.input) {
            probes.push(probe);
        }
    }

    fn note(&mut self, probe: Probe, outcome: &Outcome) {
        let call = probe.call(&self.target);
        if probe.purpose == Purpose::Again {
            self.confirm(&probe, outcome);
            return;
        }
        if let Purpose::Scale { size, .. } = probe.purpose {
            self.scaling.note(&probe, size, outcome);
            if matches!(outcome.verdict, Verdict::TimedOut | Verdict::Crashed)
                && let Some(weakness) = weakness(&self.witness(&call, &probe, outcome))
            {
                self.suspect(Finding { weakness, probe });
            }
            return;
        }
        let in_peace = probe.is_in_peace();
        let shape = Shape::of(&call);
        let answered = matches!(outcome.verdict, Verdict::Returned | Verdict::Refused);
        if in_peace && answered {
            self.accepted.insert(shape.clone());
        }
        let items = outcome.value.as_ref().filter(|value| !value.more);
        self.ends |= items.and_then(|value| value.items).is_some_and(|items| items > 0);
        self.trouble.note(&probe, outcome);
        let found = weakness(&self.witness(&call, &probe, outcome));
        if let Some(weakness) = found {
            self.suspect(Finding { weakness, probe: probe.clone() });
        }
        if in_peace {
            self.corpus.note(probe.input, outcome);
        }
    }

    fn witness<'w>(&'w self, call: &'w Call, probe: &Probe, outcome: &'w Outcome) -> Witness<'w> {
        let annotated = self.section.params.iter().all(|param| param.resolved.is_some());
        let is_declared = self.declared.contains(&Shape::of(call));
        Witness {
            section: self.section.id.qualname(),
            params: &self.params,
            call,
            outcome,
            alone: self.trouble.alone(probe),
            accepted: self.accepted.contains(&Shape::of(call)) && (is_declared || !annotated),
            ends: self.ends,
            annotated: annotated && is_declared,
        }
    }

    /// One of a kind and place is enough.
    fn suspect(&mut self, finding: Finding) {
        let same = |other: &Finding| {
            other.weakness.kind == finding.weakness.kind
                && other.weakness.place == finding.weakness.place
        };
        if !self.suspects.iter().any(same) && !self.findings.iter().any(same) {
            self.suspects.push(finding);
        }
    }

    fn confirm(&mut self, probe: &Probe, outcome: &Outcome) {
        let at = self.suspects.iter().position(|finding| finding.probe.is_same_call(probe));
        let Some(at) = at else { return };
        let mut finding = self.suspects.remove(at);
        let call = probe.call(&self.target);
        let again = weakness(&self.witness(&call, &finding.probe, outcome));
        if let Some(again) = again.filter(|again| again.kind == finding.weakness.kind) {
            // The second look may have been the longer one.
            finding.weakness = again;
            self.findings.push(finding);
        }
    }
}

fn is_attack(intent: Intent) -> bool {
    matches!(intent, Intent::Hostile | Intent::Misuse)
}
