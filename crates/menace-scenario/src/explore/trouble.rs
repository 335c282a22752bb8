//! The same input in trouble: in company, with a failing disk, with unreliable services.

use menace_model::{Burst, Fault, FaultMode, Outcome, Seed, Upstream, Verdict, When};

use super::probe::{Probe, Purpose};
use crate::input::Input;

pub(super) const ROUNDS: usize = 3;

/// Small enough for a scheduler that tries out orders.
const COMPANY: Burst = Burst { threads: 6, tasks: 6 };
/// Opportunities of a fault that are tried one after the other.
const SWEEP: u64 = 12;
/// Ways in which a service fails.
const FAILURES: u64 = 10;

#[derive(Debug)]
pub(super) struct Trouble {
    talks: bool,
    /// Inputs that returned in peace, with what came of them: an ordinary one and one that wrote.
    subjects: Vec<Subject>,
    /// Opportunities that the first fault of a kind met.
    offered: Vec<(usize, FaultMode, u64)>,
}

#[derive(Debug)]
struct Subject {
    input: Input,
    seed: u64,
    alone: Outcome,
    /// Another seed gave another result: it depends on chance.
    by_chance: bool,
}

impl Trouble {
    pub(super) fn new(talks: bool) -> Self {
        Self { talks, subjects: Vec::new(), offered: Vec::new() }
    }

    /// Answers for those who call out, so that they get further than the first connection.
    pub(super) fn upstream(&self) -> Option<Upstream> {
        self.talks.then(|| Upstream { mocks: Vec::new(), answer_all: true })
    }

    pub(super) fn note(&mut self, probe: &Probe, outcome: &Outcome) {
        match probe.purpose {
            Purpose::Look if outcome.verdict == Verdict::Returned && probe.is_in_peace() => {
                self.consider(probe, outcome);
            }
            Purpose::OtherSeed => {
                let subject = self.subjects.iter_mut().find(|one| one.input == probe.input);
                if let Some(subject) = subject {
                    subject.by_chance |= hash(outcome) != hash(&subject.alone);
                }
            }
            Purpose::Trouble => {
                let at = self.subjects.iter().position(|one| one.input == probe.input);
                for felt in &outcome.felt {
                    if let Some(at) = at
                        && !self
                            .offered
                            .iter()
                            .any(|(one, mode, _)| (*one, *mode) == (at, felt.mode))
                    {
                        self.offered.push((at, felt.mode, felt.offered));
                    }
                }
            }
            _ => {}
        }
    }

    /// The first that returned, and the first that wrote files.
    fn consider(&mut self, probe: &Probe, outcome: &Outcome) {
        let writes = |outcome: &Outcome| !outcome.files.touched.is_empty();
        let first = self.subjects.is_empty();
        let first_writer =
            writes(outcome) && !self.subjects.iter().any(|subject| writes(&subject.alone));
        if first || first_writer {
            self.subjects.push(Subject {
                input: probe.input.clone(),
                seed: probe.seed,
                alone: outcome.clone(),
                by_chance: false,
            });
        }
    }

    /// What the same input did in peace.
    pub(super) fn alone(&self, probe: &Probe) -> Option<&Outcome> {
        let troubled = matches!(probe.purpose, Purpose::Trouble | Purpose::Again);
        let subject = self.subjects.iter().find(|one| one.input == probe.input);
        subject.filter(|_| troubled).map(|subject| &subject.alone)
    }

    pub(super) fn plan(&self, round: usize, seed: Seed) -> Vec<Probe> {
        let mut probes = Vec::new();
        for (at, subject) in self.subjects.iter().enumerate() {
            match round {
                0 => self.first(subject, &mut probes),
                1 => self.second(subject, seed, &mut probes),
                _ => self.sweep(at, subject, &mut probes),
            }
        }
        probes
    }

    /// Does it depend on chance, and what does it write?
    fn first(&self, subject: &Subject, probes: &mut Vec<Probe>) {
        let mut other = Probe::new(subject.input.clone(), Purpose::OtherSeed, subject.seed ^ 1);
        other.conditions.upstream = self.upstream();
        probes.push(other);
        if !subject.alone.files.touched.is_empty() {
            for mode in [FaultMode::Disk, FaultMode::Timeout] {
                probes.push(self.faulty(subject, mode, When::Nth(1), subject.seed));
            }
        }
    }

    fn second(&self, subject: &Subject, seed: Seed, probes: &mut Vec<Probe>) {
        if !subject.by_chance {
            let mut company = Probe::new(subject.input.clone(), Purpose::Trouble, subject.seed);
            company.conditions.burst = Some(COMPANY);
            company.conditions.upstream = self.upstream();
            probes.push(company);
        }
        if self.talks {
            for way in 0..FAILURES {
                let seed = seed.nth(way).0;
                probes.push(self.faulty(subject, FaultMode::FlakyUpstream, When::Rate(1.0), seed));
            }
        }
    }

    /// Every opportunity that the first one told of.
    fn sweep(&self, at: usize, subject: &Subject, probes: &mut Vec<Probe>) {
        for &(_, mode, offered) in self.offered.iter().filter(|(one, ..)| *one == at) {
            if matches!(mode, FaultMode::Disk | FaultMode::Timeout) {
                for nth in 2..=offered.min(SWEEP) {
                    probes.push(self.faulty(subject, mode, When::Nth(nth), subject.seed));
                }
            }
        }
    }

    fn faulty(&self, subject: &Subject, mode: FaultMode, when: When, seed: u64) -> Probe {
        let mut probe = Probe::new(subject.input.clone(), Purpose::Trouble, seed);
        probe.conditions.faults = vec![Fault { mode, when }];
        probe.conditions.upstream = self.upstream();
        probe
    }
}

fn hash(outcome: &Outcome) -> Option<&str> {
    outcome.value.as_ref()?.hash.as_deref()
}
