//! Failures: telling them apart, seeing them again, making them smaller.
//!
//! When a section is to blame is decided by `menace_scenario::judge`, which calls are simpler by
//! `menace_scenario::shrink`, keeping failures belongs to `menace-store`.
//! Invariant: two failures are the same exactly when their ids are.

mod identity;
mod repro;
mod shrink;
mod source;
mod trials;
mod written;

pub use identity::{Lines, Seen, id, of, same};
pub use repro::{Repro, confirm, repro};
pub use shrink::{Shrinking, Shrunk, shrink};
pub use source::source;
pub use written::python;

use menace_sandbox::SandboxError;

#[derive(Debug, thiserror::Error)]
pub enum FailureError {
    #[error("`{section}` is not in the repository any more: {why}")]
    Vanished { section: String, why: String },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}
