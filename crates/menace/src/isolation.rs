//! How commands that call code are told to isolate it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use menace_loop::inputs::Isolation;
use menace_sandbox::interpreter::Interpreter;
use menace_sandbox::{Backend, Cancel, LocalBackend, Options, SandboxError, Tier, WarmSpec};

use crate::cache;
use crate::context::Context;
use crate::exit::Failure;
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
    tier: Option<TierArg>,

    /// Where there is no isolation, run the code as you, with all your rights.
    #[arg(long)]
    unsafe_no_isolation: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum TierArg {
    Root,
    UserNamespaces,
    Landlock,
}

impl From<TierArg> for Tier {
    fn from(tier: TierArg) -> Self {
        match tier {
            TierArg::Root => Self::Root,
            TierArg::UserNamespaces => Self::UserNamespaces,
            TierArg::Landlock => Self::Landlock,
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
    pub(crate) fn interpreter(&self, context: &Context) -> Result<Interpreter, Failure> {
        let cache = cache::directory(context);
        let found = python::find(context, self.python.as_deref(), cache.as_deref());
        let interpreter = found.map_err(Failure::request)?;
        for warning in &interpreter.warnings {
            tracing::warn!("{warning}");
        }
        Ok(interpreter)
    }

    /// Both of the below, made while something else is done that takes a while; and a first sandbox
    /// that suits `spec`, whatever module it is for.
    pub(crate) fn backend_beside<T>(
        &self,
        context: &Context,
        cancel: &Cancel,
        spec: &WarmSpec,
        work: impl FnOnce() -> T,
    ) -> (T, Result<(Interpreter, LocalBackend), Failure>) {
        std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                let interpreter = self.interpreter(context)?;
                let backend = self.backend(context, &interpreter, cancel)?;
                backend.anticipate(spec);
                Ok((interpreter, backend))
            });
            let done = work();
            (done, made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// The same isolation for plugins of the user.
    pub(crate) fn of_plugins(&self, interpreter: Interpreter, cancel: &Cancel) -> Isolation {
        Isolation {
            interpreter,
            tier: self.tier.map(Tier::from),
            unsafe_no_isolation: self.unsafe_no_isolation,
            cancel: cancel.clone(),
        }
    }

    /// A way to call the repository's code; it ends when `cancel` says so.
    pub(crate) fn backend(
        &self,
        context: &Context,
        interpreter: &Interpreter,
        cancel: &Cancel,
    ) -> Result<LocalBackend, Failure> {
        let options = Options {
            tier: self.tier.map(Tier::from),
            unsafe_no_isolation: self.unsafe_no_isolation,
            purge: !context.settings.general.light_imports.value,
            cancel: cancel.clone(),
            ..Options::new(context.settings.general.repo_path.value.clone(), interpreter.clone())
        };
        let backend = LocalBackend::new(options).map_err(failure)?;
        if backend.tier() == Tier::Unsafe {
            tracing::warn!("no isolation: the code runs as you, with all your rights");
        }
        Ok(backend)
    }
}

/// What the user can mend, and what not.
pub(crate) fn failure(error: SandboxError) -> Failure {
    match error {
        SandboxError::Repository { .. }
        | SandboxError::NoIsolation { .. }
        | SandboxError::Tier { .. } => Failure::request(error),
        SandboxError::Cancelled => Failure::Interrupted,
        SandboxError::Start { .. }
        | SandboxError::Refused(_)
        | SandboxError::Lost(_)
        | SandboxError::Protocol(_) => Failure::from(error),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        isolation: IsolationArgs,
    }

    #[test]
    fn there_is_one_worker_per_core_unless_the_user_wants_another_number() {
        let workers = |line: &[&str]| Line::try_parse_from(line).unwrap().isolation.workers();
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(workers(&["menace"]), cores);
        assert_eq!(workers(&["menace", "--jobs", "7"]), 7);
    }
}
