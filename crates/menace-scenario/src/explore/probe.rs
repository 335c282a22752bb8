//! One call that is to be made, and what for.

use menace_model::{Call, Conditions, Confinement, Limits, Target};

use crate::input::Input;

/// Long enough for nearly anything small, short enough to be waited for often.
const LOOK_MS: u64 = 1_000;
/// On a busy machine, what is measured takes longer than what it uses of the processor.
const MEASURE_MS: u64 = 1_500;
/// For runs in company, and for those that have to be sure.
const PATIENT_MS: u64 = 3_000;

/// How often a call is made again to see what it keeps; and how many times as often to be sure.
pub(super) const KEEP: u32 = 15;
const LONGER: u32 = 24;

/// What every call of a section has, whatever it is for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    pub limits: Limits,
    /// How long a call may take, where somebody said so; else what it is for decides.
    pub timeout_ms: Option<u64>,
    /// The link and who answers: there are neither faults nor company in times of peace.
    pub conditions: Conditions,
    /// How they are confined, where that is not the usual way.
    pub confinement: Option<Confinement>,
    /// Seeing which lines a call reaches costs next to nothing; else it is looked for where it pays.
    pub is_watched_for_free: bool,
}

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
    /// See whether equal calls keep memory.
    Keep,
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
    /// How often the call is made again in the same process.
    pub again: u32,
}

impl Probe {
    pub fn new(input: Input, purpose: Purpose, seed: u64) -> Self {
        Self { input, conditions: Conditions::default(), coverage: false, seed, purpose, again: 0 }
    }

    pub fn call(&self, target: &Target, terms: &Terms) -> Call {
        let burst = self.conditions.burst.map_or(0, |burst| burst.threads);
        Call {
            receiver: self.input.receiver.clone(),
            args: self.input.args.clone(),
            kwargs: self.input.kwargs.clone(),
            seed: self.seed,
            limits: Limits {
                timeout_ms: match self.purpose {
                    _ if self.is_patient() => PATIENT_MS.max(terms.timeout_ms.unwrap_or(0)),
                    Purpose::Scale { .. } => terms.timeout_ms.unwrap_or(MEASURE_MS),
                    _ => terms.timeout_ms.unwrap_or(LOOK_MS),
                },
                processes: terms.limits.processes + u64::from(burst),
                ..terms.limits
            },
            conditions: self.conditions.clone(),
            confinement: terms.confinement,
            fixtures: self.input.fixtures.clone(),
            intent: self.input.intent,
            coverage: self.coverage,
            again: self.again,
            ..Call::new(target.clone())
        }
    }

    fn is_patient(&self) -> bool {
        self.purpose == Purpose::Again || self.conditions.burst.is_some()
    }

    pub(super) fn again(&self) -> Self {
        // What is bounded may hold as many as were seen, and stops growing later.
        let again = self.again * LONGER;
        Self { purpose: Purpose::Again, coverage: false, again, ..self.clone() }
    }

    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        self.seed == other.seed
            && self.conditions == other.conditions
            && self.input == other.input
            && (self.again == 0) == (other.again == 0)
    }

    /// Answers of others are no trouble in themselves.
    pub(super) fn is_in_peace(&self, peace: &Conditions) -> bool {
        let upstream = self.conditions.upstream.clone();
        self.conditions == Conditions { upstream, ..peace.clone() }
    }
}
