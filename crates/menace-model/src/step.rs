//! The steps of a shared-process run: the arguments of each, and its result.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::{CallResult, CallStage, CallTarget, InputIntent, Value, Verdict};

/// One section of a run that shares a process, and so the state of modules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallStep {
    pub target: CallTarget,
    /// The receiver on which a method or property is called.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub intent: InputIntent,
}

impl CallStep {
    /// A step without arguments.
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
    /// Flattened in JSON.
    #[serde(flatten)]
    pub result: CallResult,
    pub wall_ms: f64,
    pub user_cpu_ms: f64,
    pub system_cpu_ms: f64,
    /// Memory that Python held when the step began, after releasing earlier results. Only for
    /// repeated calls ([`crate::Call::repeats`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

impl CallStepReport {
    /// A report with verdict and stage only.
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
