//! What is decided once for many calls.

use std::path::PathBuf;

use menace_model::{Limits, ModuleRef};

use super::cancel::Cancel;
use crate::Tier;
use crate::confine::Interpose;
use crate::interpreter::Interpreter;

/// How a backend is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The repository whose code is called.
    pub repo: PathBuf,
    pub interpreter: Interpreter,
    /// The strongest that the machine has, unless somebody wants less.
    pub tier: Option<Tier>,
    /// Run without isolation when none can be had.
    pub unsafe_no_isolation: bool,
    /// Where canaries go and, on machines without mounts, copies of the repository.
    pub workspaces: PathBuf,
    /// Begin with removing what a Menace that was killed left behind.
    pub purge: bool,
    /// The program that becomes the init of a sandbox.
    pub init: PathBuf,
    pub cancel: Cancel,
}

impl Options {
    /// The program that runs, even when its file was replaced meanwhile.
    pub const THIS_PROGRAM: &'static str = "/proc/self/exe";

    pub fn new(repo: PathBuf, interpreter: Interpreter) -> Self {
        Self {
            repo,
            interpreter,
            tier: None,
            unsafe_no_isolation: false,
            workspaces: std::env::temp_dir(),
            purge: true,
            init: PathBuf::from(Self::THIS_PROGRAM),
            cancel: Cancel::default(),
        }
    }
}

/// What decides whether two calls can share an interpreter.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmSpec {
    /// The module to import beforehand; none for calls of module top levels.
    pub module: Option<ModuleRef>,
    /// Directories of the repository that go to the front of `sys.path`, relative to it.
    pub import_roots: Vec<String>,
    /// `SECURITY_LEVEL`, 1 to 5.
    pub security_level: u8,
    /// No network at all.
    pub safe_mode: bool,
    /// Seed of what happens at import; each call has its own.
    pub seed: u64,
    /// Python fixes the order of its sets when it starts, so this is not the single call's.
    pub hash_seed: u32,
    /// The clock stands still at this time (seconds since 1970).
    pub freeze_time: Option<f64>,
    /// Of the import, and the ceiling for open files and processes of the calls.
    pub limits: Limits,
    /// Variables for the guest beside the usual ones.
    pub environment: Vec<(String, String)>,
    pub interpose: Interpose,
}

impl WarmSpec {
    pub const DEFAULT_LEVEL: u8 = 3;

    pub fn new(module: Option<ModuleRef>) -> Self {
        Self {
            module,
            import_roots: vec![String::new()],
            security_level: Self::DEFAULT_LEVEL,
            safe_mode: false,
            seed: 0,
            hash_seed: 0,
            freeze_time: None,
            limits: Limits::default(),
            environment: Vec::new(),
            interpose: Interpose::default(),
        }
    }
}
