//! What every way to run calls in isolation has in common.

use std::fmt;

use menace_model::{Call, Outcome};

use super::options::WarmSpec;
use crate::{SandboxError, Tier};

/// A way to run calls in isolation. Every backend passes the contract suite in `tests/contract`.
pub trait Backend: fmt::Debug + Send + Sync {
    /// How strong its isolation is.
    fn tier(&self) -> Tier;

    /// Does it cost next to nothing to see which lines a call reaches?
    fn watches_for_free(&self) -> bool {
        false
    }

    /// Says what will be needed soon, so that it can be made ready while other calls run.
    fn anticipate(&self, _spec: &WarmSpec) {}

    /// Prepares to call sections of one module again and again. Cheap: what costs happens with the
    /// first call.
    fn warm(&self, spec: &WarmSpec) -> Result<Box<dyn Warm>, SandboxError>;

    /// The same, with no more than one sandbox: for who keeps the processors busy anyway.
    fn warm_alone(&self, spec: &WarmSpec) -> Result<Box<dyn Warm>, SandboxError> {
        self.warm(spec)
    }
}

/// A module that is ready to be called.
pub trait Warm: fmt::Debug + Send {
    /// Runs one call. When it returns, no process of the call is alive, and nothing that it did is
    /// visible to the next. An error means that Menace failed, never that the guest did.
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError>;
}
