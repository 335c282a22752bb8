//! Several sections in one process: what each is called with, and what came of it.

use serde::{Deserialize, Serialize};

use crate::{Intent, Raised, Returned, Stage, Target, Value, Verdict};

/// One section among others that share a process, and so the state of their modules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub target: Target,
    /// How to get the instance that a method or property needs.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub intent: Intent,
}

impl Step {
    /// Without arguments.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            receiver: None,
            args: Vec::new(),
            kwargs: Vec::new(),
            intent: Intent::default(),
        }
    }
}

/// What came of one step.
///
/// A step whose module cannot be imported is `unreachable`, unless importing it is the call. The one
/// that was under way when the process ended has the verdict of that end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    pub verdict: Verdict,
    /// The verdict in a sentence, when there is more to say than the word does.
    pub reason: Option<String>,
    /// How far it came.
    pub stage: Stage,
    /// Cut shorter than for a call of its own; a typed copy only of what is small.
    pub value: Option<Returned>,
    pub exception: Option<Raised>,
    pub wall_ms: f64,
    pub user_cpu_ms: f64,
    pub system_cpu_ms: f64,
    /// What Python held in memory when it began, once the results before it had been let go of; told
    /// of calls that are made again ([`crate::Call::again`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
}

impl StepReport {
    /// Nothing is known but this.
    pub fn of(verdict: Verdict, stage: Stage) -> Self {
        Self {
            verdict,
            reason: None,
            stage,
            value: None,
            exception: None,
            wall_ms: 0.0,
            user_cpu_ms: 0.0,
            system_cpu_ms: 0.0,
            held_bytes: None,
        }
    }
}
