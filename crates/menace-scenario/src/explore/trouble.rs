//! The same input in trouble: in company, with a failing disk, with unreliable services.

use menace_model::{
    Burst, Conditions, Fault, FaultMode, Outcome, UpstreamFailure, Value, Verdict, When,
};

use super::probe::{Probe, Purpose};
use crate::input::Input;
use crate::judge::{Alone, is_refusal};

pub(super) const ROUNDS: usize = 3;

/// Small enough for a scheduler that tries out orders.
const COMPANY: Burst = Burst { threads: 6, tasks: 6 };
/// Opportunities of a fault that are tried one after the other.
const SWEEP: u64 = 12;
/// Later than the last opportunity: it counts them all and strikes at none.
const NEVER: When = When::Nth(u64::MAX);
/// Runs at once get in each other's way when each wants most of what there is.
const STRETCHES: [i64; 6] = [10, 100, 1000, 10_000, 100_000, 1_000_000];

#[derive(Debug)]
pub(super) struct Trouble {
    talks: bool,
    /// What the same inputs had without trouble.
    peace: Conditions,
    subjects: Vec<Subject>,
    /// Opportunities that the first fault of a kind met.
    offered: Vec<(usize, FaultMode, u64)>,
}

/// Why an input is put into trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Because {
    /// It is the first that returned.
    Ordinary,
    Writes,
    /// It called out, and was not content with what it got.
    Asks,
    /// It was refused: does that leave things as they were?
    Refused,
    /// Its numbers are as large as they may be.
    Stretched,
}

#[derive(Debug)]
struct Subject {
    because: Because,
    input: Input,
    seed: u64,
    /// What came of it in peace.
    alone: Alone,
    /// Another seed gave another result: it depends on chance.
    by_chance: bool,
}

impl Trouble {
    pub(super) fn new(talks: bool, peace: Conditions) -> Self {
        Self { talks, peace, subjects: Vec::new(), offered: Vec::new() }
    }

    pub(super) fn note(&mut self, probe: &Probe, outcome: &Outcome) {
        match probe.purpose {
            Purpose::Look => self.consider(probe, outcome),
            Purpose::OtherSeed => {
                let subject = self.subjects.iter_mut().find(|one| one.input == probe.input);
                if let Some(subject) = subject {
                    subject.by_chance |= hash(outcome) != subject.alone.hash.as_deref();
                }
            }
            // The largest of them stays.
            Purpose::Stretch if outcome.verdict == Verdict::Returned => {
                self.subjects.retain(|subject| subject.because != Because::Stretched);
                self.add(Because::Stretched, probe, outcome);
            }
            Purpose::Trouble => self.count(probe, outcome),
            _ => {}
        }
    }

    /// How many opportunities there were for each fault.
    fn count(&mut self, probe: &Probe, outcome: &Outcome) {
        let Some(at) = self.subjects.iter().position(|one| one.input == probe.input) else {
            return;
        };
        for felt in &outcome.felt {
            let same = |(one, mode, _): &(usize, FaultMode, u64)| (*one, *mode) == (at, felt.mode);
            if !self.offered.iter().any(same) {
                self.offered.push((at, felt.mode, felt.offered));
            }
        }
    }

    /// The first of every kind.
    fn consider(&mut self, probe: &Probe, outcome: &Outcome) {
        let writes = !outcome.files.touched.is_empty();
        let first_writer = !self.subjects.iter().any(|subject| subject.alone.has_touched);
        let returned = outcome.verdict == Verdict::Returned;
        let asked = outcome.upstream.as_ref().is_some_and(|asked| !asked.requests.is_empty());
        let because = [
            (Because::Ordinary, returned),
            (Because::Writes, returned && writes && first_writer),
            (Because::Asks, asked && outcome.verdict == Verdict::Raised),
            (Because::Refused, is_refusal(outcome)),
        ];
        let fitting = because.into_iter().filter(|(_, fits)| *fits);
        let new = |because: &Because| !self.subjects.iter().any(|one| one.because == *because);
        let because = fitting.map(|(because, _)| because).find(new);
        let known = self.subjects.iter().any(|one| one.input == probe.input);
        if let (Some(because), false) = (because, known) {
            self.add(because, probe, outcome);
        }
    }

    fn add(&mut self, because: Because, probe: &Probe, outcome: &Outcome) {
        self.subjects.push(Subject {
            because,
            input: probe.input.clone(),
            seed: probe.seed,
            alone: Alone::from(outcome),
            by_chance: false,
        });
    }

    /// What the same input did in peace.
    pub(super) fn alone(&self, probe: &Probe) -> Option<&Alone> {
        let troubled = matches!(probe.purpose, Purpose::Trouble | Purpose::Again);
        let subject = self.subjects.iter().find(|one| one.input == probe.input);
        subject.filter(|_| troubled).map(|subject| &subject.alone)
    }

    pub(super) fn plan(&self, round: usize) -> Vec<Probe> {
        let mut probes = Vec::new();
        for (at, subject) in self.subjects.iter().enumerate() {
            match round {
                0 => self.first(subject, &mut probes),
                1 => self.second(subject, &mut probes),
                _ => self.sweep(at, subject, &mut probes),
            }
        }
        probes
    }

    /// Does it depend on chance, what does it write, how far can it be stretched?
    fn first(&self, subject: &Subject, probes: &mut Vec<Probe>) {
        if subject.alone.verdict != Verdict::Returned {
            return;
        }
        let (input, seed) = (subject.input.clone(), subject.seed ^ 1);
        probes.push(self.probe(input, Purpose::OtherSeed, seed));
        if subject.alone.has_touched {
            for mode in [FaultMode::Disk, FaultMode::Timeout] {
                probes.push(self.faulty(subject, mode, NEVER));
            }
        }
        if subject.because == Because::Ordinary && subject.input.receiver.is_some() {
            let stretched =
                STRETCHES.iter().filter_map(|factor| stretched(&subject.input, *factor));
            let probe = |input| self.probe(input, Purpose::Stretch, subject.seed);
            probes.extend(stretched.map(probe));
        }
    }

    fn second(&self, subject: &Subject, probes: &mut Vec<Probe>) {
        let by_chance = self.subjects.iter().any(|subject| subject.by_chance);
        if !by_chance && subject.because != Because::Asks {
            let mut company = self.probe(subject.input.clone(), Purpose::Trouble, subject.seed);
            company.conditions.burst = Some(COMPANY);
            probes.push(company);
        }
        let asks = matches!(subject.because, Because::Ordinary | Because::Asks);
        if self.talks && asks {
            for failure in UpstreamFailure::ALL {
                let mut probe = self.faulty(subject, FaultMode::FlakyUpstream, When::Rate(1.0));
                if let Some(upstream) = &mut probe.conditions.upstream {
                    upstream.failure = Some(failure);
                }
                probes.push(probe);
            }
        }
    }

    /// Every opportunity that there was.
    fn sweep(&self, at: usize, subject: &Subject, probes: &mut Vec<Probe>) {
        for &(_, mode, offered) in self.offered.iter().filter(|(one, ..)| *one == at) {
            if matches!(mode, FaultMode::Disk | FaultMode::Timeout) {
                for nth in 1..=offered.min(SWEEP) {
                    probes.push(self.faulty(subject, mode, When::Nth(nth)));
                }
            }
        }
    }

    fn faulty(&self, subject: &Subject, mode: FaultMode, when: When) -> Probe {
        let mut probe = self.probe(subject.input.clone(), Purpose::Trouble, subject.seed);
        probe.conditions.faults = vec![Fault { mode, when }];
        probe
    }

    fn probe(&self, input: Input, purpose: Purpose, seed: u64) -> Probe {
        Probe { conditions: self.peace.clone(), ..Probe::new(input, purpose, seed) }
    }
}

/// The input with all its counts so many times as large; none without counts.
fn stretched(input: &Input, factor: i64) -> Option<Input> {
    let mut input = input.clone();
    let mut changed = false;
    let kwargs = input.kwargs.iter_mut().map(|(_, value)| value);
    for value in input.args.iter_mut().chain(kwargs) {
        if let Value::Int(number) = value
            && *number > 0
        {
            *number = number.saturating_mul(factor);
            changed = true;
        }
    }
    changed.then_some(input)
}

fn hash(outcome: &Outcome) -> Option<&str> {
    outcome.value.as_ref()?.hash.as_deref()
}
