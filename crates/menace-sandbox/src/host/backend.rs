//! The trait of all backends, which open sessions that run calls in isolation.

use std::fmt;

use menace_model::{Call, Outcome, SandboxSpec};

use crate::{SandboxError, Tier};

/// A way to run calls in isolation. Every backend passes the contract suite in `tests/contract`.
pub trait SandboxBackend: fmt::Debug + Send + Sync {
    /// How strong its isolation is.
    fn tier(&self) -> Tier;

    /// Whether recording coverage (the lines that a call reaches) costs next to nothing.
    fn has_cheap_coverage(&self) -> bool {
        false
    }

    /// Announces a spec that will be needed soon, so that a sandbox starts while other calls run.
    fn prewarm(&self, _spec: &SandboxSpec) {}

    /// Prepares to call sections of one module repeatedly. Cheap: the sandbox is started by the
    /// first call, and ended when the session is dropped.
    fn open_session(&self, spec: &SandboxSpec) -> Result<Box<dyn CallSession>, SandboxError>;

    /// A session for one of several parallel workers, which keep the processors busy anyway: it
    /// uses at most one sandbox, and when it is dropped, its sandbox may stay idle in the pool for
    /// the next session with this spec.
    fn open_pooled_session(
        &self,
        spec: &SandboxSpec,
    ) -> Result<Box<dyn CallSession>, SandboxError> {
        self.open_session(spec)
    }

    /// Raises the number of sandboxes of ended pooled sessions that may stay idle.
    fn reserve_idle(&self, _sessions: usize) {}

    /// Lowers the number that [`Self::reserve_idle`] has raised, and ends the sandboxes beyond it.
    fn release_idle(&self, _sessions: usize) {}
}

/// A module that is ready to be called.
pub trait CallSession: fmt::Debug + Send {
    /// Runs one call. When it returns, no process of the call is alive, and nothing that it did is
    /// visible to the next. An error means that Menace failed, never that the guest did.
    fn run(&mut self, call: &Call) -> Result<Outcome, SandboxError>;
}
