//! Options of a backend, which hold for many calls.

use std::path::PathBuf;

use super::cancel::CancelToken;
use crate::Tier;
use crate::interpreter::PythonInterpreter;

/// How a backend is set up.
#[derive(Debug, Clone)]
pub struct BackendOptions {
    /// The repository whose code is called.
    pub repo: PathBuf,
    pub interpreter: PythonInterpreter,
    /// The strongest that the machine has, unless a weaker one is requested.
    pub tier: Option<Tier>,
    /// Run without isolation when none can be had.
    pub unsafe_no_isolation: bool,
    /// Where canaries go and, on machines without mounts, copies of the repository.
    pub workspaces: PathBuf,
    /// Begin with removing what a Menace that was killed left behind.
    pub purge_leftovers: bool,
    /// The program that becomes the init of a sandbox.
    pub init: PathBuf,
    pub cancel: CancelToken,
}

impl BackendOptions {
    /// The program that runs, even when its file was replaced meanwhile.
    pub const THIS_PROGRAM: &'static str = "/proc/self/exe";

    pub fn new(repo: PathBuf, interpreter: PythonInterpreter) -> Self {
        Self {
            repo,
            interpreter,
            tier: None,
            unsafe_no_isolation: false,
            workspaces: std::env::temp_dir(),
            purge_leftovers: true,
            init: PathBuf::from(Self::THIS_PROGRAM),
            cancel: CancelToken::default(),
        }
    }
}
