//! One planned call of the exploring, and its purpose.

use menace_model::{Call, CallConditions, CallConfinement, CallLimits, CallStep, CallTarget};

use super::scaling::GrowthKey;
use crate::input::CallInput;
use crate::judge::{CONFIRM_TIMEOUT_MS, rerun_call};

/// Long enough for nearly all small inputs, short enough for many hanging calls.
const DEFAULT_TIMEOUT_MS: u64 = 1_000;
/// On a busy machine, a measured call takes longer than its CPU time.
const MEASURE_TIMEOUT_MS: u64 = 1_500;

/// Repetitions of a call in one process that show a leak.
pub(super) const LEAK_PROBE_REPEATS: u32 = 15;

/// The settings that all calls of a section share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallDefaults {
    pub limits: CallLimits,
    /// The timeout that the user set; else the purpose of the call decides.
    pub timeout_ms: Option<u64>,
    /// Network and upstream of baseline calls, without faults and concurrency.
    pub conditions: CallConditions,
    /// Confinement that differs from the default.
    pub confinement: Option<CallConfinement>,
    /// Recording coverage costs next to nothing; else it is sampled.
    pub has_cheap_coverage: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ProbePurpose {
    /// Observe the outcome of this input.
    Baseline,
    /// Check whether the result depends on the seed.
    OtherSeed,
    /// Check whether the section accepts larger counts.
    LargerCounts,
    /// Observe the section under faults.
    Faults,
    /// Measure how time grows with the size of a part of the input.
    Scale { key: GrowthKey, size: u64 },
    /// Check whether equal calls keep memory.
    LeakCheck,
    /// Rerun of a candidate.
    Confirm,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedProbe {
    pub input: CallInput,
    pub conditions: CallConditions,
    pub coverage: bool,
    pub seed: u64,
    pub purpose: ProbePurpose,
    /// How often the call is repeated in the same process.
    pub repeats: u32,
}

impl PlannedProbe {
    pub(super) fn new(input: CallInput, purpose: ProbePurpose, seed: u64) -> Self {
        Self {
            input,
            conditions: CallConditions::default(),
            coverage: false,
            seed,
            purpose,
            repeats: 0,
        }
    }

    pub(super) fn to_call(&self, target: &CallTarget, defaults: &CallDefaults) -> Call {
        let burst = self.conditions.burst.map_or(0, |burst| burst.threads);
        let call = Call {
            seed: self.seed,
            limits: CallLimits {
                timeout_ms: match self.purpose {
                    _ if self.conditions.burst.is_some() => {
                        CONFIRM_TIMEOUT_MS.max(defaults.timeout_ms.unwrap_or(0))
                    }
                    ProbePurpose::Scale { .. } => defaults.timeout_ms.unwrap_or(MEASURE_TIMEOUT_MS),
                    _ => defaults.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
                },
                processes: defaults.limits.processes + u64::from(burst),
                ..defaults.limits
            },
            conditions: self.conditions.clone(),
            confinement: defaults.confinement,
            fixtures: self.input.fixtures.clone(),
            coverage: self.coverage,
            repeats: self.repeats,
            ..Call::of_step(CallStep {
                receiver: self.input.receiver.clone(),
                args: self.input.args.clone(),
                kwargs: self.input.kwargs.clone(),
                intent: self.input.intent,
                ..CallStep::new(target.clone())
            })
        };
        if self.purpose == ProbePurpose::Confirm { rerun_call(&call) } else { call }
    }

    /// Without faults; mocked answers of the upstream are allowed.
    pub(super) fn is_baseline(&self, baseline: &CallConditions) -> bool {
        let upstream = self.conditions.upstream.clone();
        self.conditions == CallConditions { upstream, ..baseline.clone() }
    }
}
