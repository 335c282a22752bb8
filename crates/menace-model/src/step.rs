//! Several sections in one process: what each is called with, and what came of it.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::{CallResult, CallStage, CallTarget, InputIntent, Value, Verdict};

/// One section among others that share a process, and so the state of their modules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallStep {
    pub target: CallTarget,
    /// How the instance is made that a method or property is called on.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub intent: InputIntent,
}

impl CallStep {
    /// Without arguments.
    pub fn new(target: CallTarget) -> Self {
        Self {
            target,
            receiver: None,
            args: Vec::new(),
            kwargs: Vec::new(),
            intent: InputIntent::default(),
        }
    }
}

/// The result of one step.
///
/// A step whose module cannot be imported is `unreachable`, unless importing it is the call. The
/// step that was running when the process ended has the verdict of that end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallStepReport {
    /// Its fields stand beside the others in JSON.
    #[serde(flatten)]
    pub result: CallResult,
    pub wall_ms: f64,
    pub user_cpu_ms: f64,
    pub system_cpu_ms: f64,
    /// Memory that Python held when the step began, after the results before it were dropped. Known
    /// for repeated calls ([`crate::Call::repeats`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

impl CallStepReport {
    /// A report of which only verdict and stage are known.
    pub fn new(verdict: Verdict, stage: CallStage) -> Self {
        Self {
            result: CallResult::new(verdict, stage),
            wall_ms: 0.0,
            user_cpu_ms: 0.0,
            system_cpu_ms: 0.0,
            held_bytes: None,
        }
    }
}

impl Deref for CallStepReport {
    type Target = CallResult;

    fn deref(&self) -> &CallResult {
        &self.result
    }
}

impl DerefMut for CallStepReport {
    fn deref_mut(&mut self) -> &mut CallResult {
        &mut self.result
    }
}
