//! One call that is to be made, and what for.

use menace_model::{Call, Conditions, Limits, Target};

use crate::input::Input;

/// Long enough for nearly anything small, short enough to be waited for often.
const LOOK_MS: u64 = 1_000;
/// On a busy machine, what is measured takes longer than what it uses of the processor.
const MEASURE_MS: u64 = 1_500;
/// For runs in company, and for those that have to be sure.
const PATIENT_MS: u64 = 3_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// See what comes of this input.
    Look,
    /// See whether it depends on chance.
    OtherSeed,
    /// See whether it takes larger numbers.
    Stretch,
    /// See how the section copes.
    Trouble,
    /// See how time grows with the size of a part of the input.
    Scale { part: usize, way: usize, size: u64 },
    /// See it once more.
    Again,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    pub input: Input,
    pub conditions: Conditions,
    pub coverage: bool,
    pub seed: u64,
    pub purpose: Purpose,
}

impl Probe {
    pub fn new(input: Input, purpose: Purpose, seed: u64) -> Self {
        Self { input, conditions: Conditions::default(), coverage: false, seed, purpose }
    }

    pub fn call(&self, target: &Target) -> Call {
        let burst = self.conditions.burst.map_or(0, |burst| burst.threads);
        let defaults = Limits::default();
        Call {
            receiver: self.input.receiver.clone(),
            args: self.input.args.clone(),
            kwargs: self.input.kwargs.clone(),
            seed: self.seed,
            limits: Limits {
                timeout_ms: match self.purpose {
                    _ if self.is_patient() => PATIENT_MS,
                    Purpose::Scale { .. } => MEASURE_MS,
                    _ => LOOK_MS,
                },
                processes: defaults.processes + u64::from(burst),
                ..defaults
            },
            conditions: self.conditions.clone(),
            fixtures: self.input.fixtures.clone(),
            intent: self.input.intent,
            coverage: self.coverage,
            ..Call::new(target.clone())
        }
    }

    fn is_patient(&self) -> bool {
        self.purpose == Purpose::Again || self.conditions.burst.is_some()
    }

    pub(super) fn again(&self) -> Self {
        Self { purpose: Purpose::Again, coverage: false, ..self.clone() }
    }

    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        self.seed == other.seed && self.conditions == other.conditions && self.input == other.input
    }

    /// Answers of others are no trouble in themselves.
    pub(super) fn is_in_peace(&self) -> bool {
        let upstream = self.conditions.upstream.clone();
        self.conditions == Conditions { upstream, ..Conditions::default() }
    }
}
