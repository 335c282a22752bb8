//! Failures: their ids, their reruns, and their smallest calls.
//!
//! Whether an outcome is a weakness is decided by `menace_scenario::judge`, which calls are smaller
//! by `menace_scenario::shrink`; storing failures belongs to `menace-store`.
//! Invariant: two failures are the same exactly when their ids are.

mod identity;
mod repro;
mod shrink;

pub use identity::{FailureEvidence, SourceLineCache};
pub use repro::{ReproResult, repro};
pub(crate) use repro::{has_faults, repro_until};
pub use shrink::{ShrinkRequest, ShrinkResult, shrink};

use menace_sandbox::SandboxError;

#[derive(Debug, thiserror::Error)]
pub enum FailureError {
    #[error("`{section}` is not in the repository any more: {why}")]
    Vanished { section: String, why: String },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}
