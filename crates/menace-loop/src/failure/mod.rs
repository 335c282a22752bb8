//! Failures: their ids, their reruns, and their smallest calls.
//!
//! `menace_scenario::judge` decides whether an outcome is a weakness, `menace_scenario::shrink`
//! which calls are smaller; `menace-store` stores failures. Invariant: two failures are the same
//! exactly when their ids are equal.

mod identity;
mod repro;
mod shrink;

pub use identity::{FailureEvidence, SourceLineCache};
pub use repro::{ReproResult, repro};
pub(crate) use repro::{has_faults, repro_until, without_faults};
pub use shrink::{ShrinkRequest, ShrinkResult, shrink};

use menace_sandbox::SandboxError;

#[derive(Debug, thiserror::Error)]
pub enum FailureError {
    #[error("`{section}` is not in the repository any more: {why}")]
    Vanished { section: String, why: String },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}
