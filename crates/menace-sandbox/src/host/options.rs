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
    /// The requested tier; without one, the strongest that the machine supports.
    pub tier: Option<Tier>,
    /// Whether to run without isolation when the machine supports none.
    pub unsafe_no_isolation: bool,
    /// The directory for canaries and, in the `landlock` tier, for copies of the repository.
    pub workspace_parent: PathBuf,
    /// Whether to begin with removing what a killed Menace left behind.
    pub purge_leftovers: bool,
    /// The program that becomes the init of a sandbox.
    pub init: PathBuf,
    pub cancel: CancelToken,
}

impl BackendOptions {
    /// The running program, even when its file was replaced meanwhile.
    pub const THIS_PROGRAM: &'static str = "/proc/self/exe";

    pub fn new(repo: PathBuf, interpreter: PythonInterpreter) -> Self {
        Self {
            repo,
            interpreter,
            tier: None,
            unsafe_no_isolation: false,
            workspace_parent: std::env::temp_dir(),
            purge_leftovers: true,
            init: PathBuf::from(Self::THIS_PROGRAM),
            cancel: CancelToken::default(),
        }
    }
}
