//! Errors of Menace itself. What a guest does is never an error.

use std::io;
use std::path::PathBuf;

use menace_model::{CallResult, CallStage, Outcome, Verdict, format_error_chain};

use crate::Tier;

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("cannot find the repository `{path}`")]
    Repository { path: PathBuf, source: io::Error },
    #[error("cannot start a sandbox")]
    Start { source: io::Error },
    /// Without isolation, nothing is run.
    #[error("cannot build a sandbox: {0}; `menace doctor` tells what this machine lacks")]
    BuildFailed(String),
    #[error(
        "this machine gives no isolation ({why}); `menace doctor` tells what to do, and \
         --unsafe-no-isolation runs the code as you, with all your rights"
    )]
    NoIsolation { why: String },
    #[error("the tier `{tier}` cannot be had here: {why}")]
    TierUnavailable { tier: Tier, why: String },
    #[error("a sandbox process ended without a report")]
    ConnectionLost(#[source] io::Error),
    #[error("a sandbox gave up: {0}")]
    GaveUp(String),
    #[error("the init of a sandbox stopped answering")]
    Stalled,
    #[error("a sandbox broke the protocol: {0}")]
    Protocol(&'static str),
    #[error("cancelled")]
    Cancelled,
}

impl SandboxError {
    /// Whether the sandbox was gone, or could not be built, before it received the call.
    pub(crate) fn failed_before_call(&self) -> bool {
        match self {
            Self::ConnectionLost(source) => source.kind() == io::ErrorKind::BrokenPipe,
            Self::BuildFailed(_) | Self::GaveUp(_) => true,
            _ => false,
        }
    }

    /// Whether a sandbox that had been started was lost. The guest or the machine may have caused
    /// it: another sandbox may do better.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::ConnectionLost(_) | Self::GaveUp(_) | Self::Stalled | Self::Protocol(_)
        )
    }

    /// What losing its sandbox means for a call: it crashed, with the reason. Other errors stay
    /// errors.
    pub fn lost_to_crash(self) -> Result<Outcome, Self> {
        if !self.is_loss() {
            return Err(self);
        }
        let reason = Some(format!("its sandbox was lost: {}", format_error_chain(&self)));
        let result = CallResult { reason, ..CallResult::new(Verdict::Crashed, CallStage::Call) };
        Ok(Outcome::of_result(result))
    }

    /// Whether the sandbox was lost before or during an import. An import leaves nothing outside of
    /// the sandbox, so that it can be made again.
    pub(crate) fn failed_before_import(&self) -> bool {
        let is_gone =
            |kind| matches!(kind, io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof);
        matches!(self, Self::ConnectionLost(source) if is_gone(source.kind()))
            || self.failed_before_call()
    }

    pub(crate) fn start_error(source: io::Error) -> Self {
        Self::Start { source }
    }
}
