//! Flags for isolation, of the commands that call code.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use menace_loop::inputs::PluginIsolation;
use menace_sandbox::interpreter::PythonInterpreter;
use menace_sandbox::{
    BackendOptions, CancelToken, LocalBackend, SandboxBackend, SandboxError, SandboxSpec, Tier,
};

use crate::cache;
use crate::context::CommandContext;
use crate::exit::CommandError;
use crate::python;

#[derive(Debug, Args)]
pub(crate) struct IsolationArgs {
    /// The interpreter or virtual environment [default: the repository's own, else the PATH's].
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,

    /// Sandboxes at once [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// The kind of isolation [default: the strongest that the machine has].
    #[arg(long, value_enum)]
    tier: Option<IsolationTierArg>,

    /// Where there is no isolation, run the code as you, with all your rights.
    #[arg(long)]
    unsafe_no_isolation: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum IsolationTierArg {
    Root,
    UserNamespaces,
    Landlock,
}

impl From<IsolationTierArg> for Tier {
    fn from(tier: IsolationTierArg) -> Self {
        match tier {
            IsolationTierArg::Root => Self::Root,
            IsolationTierArg::UserNamespaces => Self::UserNamespaces,
            IsolationTierArg::Landlock => Self::Landlock,
        }
    }
}

impl IsolationArgs {
    /// How many calls are made at once.
    pub(crate) fn workers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or(cores, usize::from)
    }

    /// The interpreter that the repository is called with.
    pub(crate) fn interpreter(
        &self,
        context: &CommandContext,
    ) -> Result<PythonInterpreter, CommandError> {
        let cache = cache::cache_dir(context);
        let found = python::find_interpreter(context, self.python.as_deref(), cache.as_deref());
        let interpreter = found.map_err(CommandError::request)?;
        for warning in &interpreter.warnings {
            tracing::warn!("{warning}");
        }
        Ok(interpreter)
    }

    /// [`Self::interpreter`] and [`Self::backend`], made in parallel to `work`, since they take a
    /// while; also prewarms a sandbox for `spec` without its module.
    pub(crate) fn backend_while<T>(
        &self,
        context: &CommandContext,
        cancel: &CancelToken,
        spec: &SandboxSpec,
        work: impl FnOnce() -> T,
    ) -> (T, Result<(PythonInterpreter, LocalBackend), CommandError>) {
        std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                let interpreter = self.interpreter(context)?;
                let backend = self.backend(context, &interpreter, cancel)?;
                backend.prewarm(spec);
                Ok((interpreter, backend))
            });
            let done = work();
            (done, made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// The same isolation for the user's plugins.
    pub(crate) fn plugin_isolation(
        &self,
        interpreter: PythonInterpreter,
        cancel: &CancelToken,
    ) -> PluginIsolation {
        PluginIsolation {
            interpreter,
            tier: self.tier.map(Tier::from),
            unsafe_no_isolation: self.unsafe_no_isolation,
            cancel: cancel.clone(),
        }
    }

    /// The backend for calls of the repository; it ends when `cancel` is cancelled.
    pub(crate) fn backend(
        &self,
        context: &CommandContext,
        interpreter: &PythonInterpreter,
        cancel: &CancelToken,
    ) -> Result<LocalBackend, CommandError> {
        let options = BackendOptions {
            tier: self.tier.map(Tier::from),
            unsafe_no_isolation: self.unsafe_no_isolation,
            purge_leftovers: !context.settings.general.skip_purge.value,
            cancel: cancel.clone(),
            ..BackendOptions::new(
                context.settings.general.repo_path.value.clone(),
                interpreter.clone(),
            )
        };
        let backend = LocalBackend::new(options).map_err(command_error)?;
        if backend.tier() == Tier::Unsafe {
            tracing::warn!("no isolation: the code runs as you, with all your rights");
        }
        Ok(backend)
    }
}

/// Distinguishes errors that the user can fix from others.
pub(crate) fn command_error(error: SandboxError) -> CommandError {
    match error {
        SandboxError::Repository { .. }
        | SandboxError::NoIsolation { .. }
        | SandboxError::TierUnavailable { .. } => CommandError::request(error),
        SandboxError::Cancelled => CommandError::Interrupted,
        SandboxError::Start { .. }
        | SandboxError::BuildFailed(_)
        | SandboxError::ConnectionLost(_)
        | SandboxError::GaveUp(_)
        | SandboxError::Stalled
        | SandboxError::Protocol(_) => CommandError::from(error),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct IsolationTestArgs {
        #[command(flatten)]
        isolation: IsolationArgs,
    }

    #[test]
    fn there_is_one_worker_per_core_unless_the_user_wants_another_number() {
        let workers =
            |line: &[&str]| IsolationTestArgs::try_parse_from(line).unwrap().isolation.workers();
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(workers(&["menace"]), cores);
        assert_eq!(workers(&["menace", "--jobs", "7"]), 7);
    }
}
