//! The backend whose promises are tried.

use menace_sandbox::{BackendOptions, LocalBackend, SandboxBackend, SandboxError, Tier};

pub(crate) type BackendFactory =
    fn(BackendOptions) -> Result<Box<dyn SandboxBackend>, SandboxError>;

pub(crate) fn factory_for(_tier: Tier) -> BackendFactory {
    |options| Ok(Box::new(LocalBackend::new(options)?))
}
