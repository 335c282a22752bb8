//! A Python file of the user's that is called in a sandbox of its own.
//!
//! What its functions are called, what they get and what may come of it belongs to those who know
//! what it is for. Invariant: of the machine it sees no more than the directory that it lies in.

use std::path::{Path, PathBuf};

use menace_model::{How, ModuleRef, Outcome, Target, Verdict};
use menace_sandbox::interpreter::Interpreter;
use menace_sandbox::{Backend, Cancel, LocalBackend, Options, SandboxError, Tier, Warm, WarmSpec};

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("cannot read `{}`; {setting} takes {takes}", .path.display())]
    Read { path: PathBuf, setting: &'static str, takes: &'static str, source: std::io::Error },
    #[error("{}: this is no Python file, whose name would be a module's", .path.display())]
    Name { path: PathBuf },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// How the sandboxes of plugins are made.
#[derive(Debug, Clone)]
pub struct Isolation {
    pub interpreter: Interpreter,
    pub tier: Option<Tier>,
    pub unsafe_no_isolation: bool,
    pub cancel: Cancel,
}

/// Who named a path, and what they may name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedBy {
    pub setting: &'static str,
    pub takes: &'static str,
}

impl NamedBy {
    fn read(self, path: &Path, source: std::io::Error) -> PluginError {
        let Self { setting, takes } = self;
        PluginError::Read { path: path.to_owned(), setting, takes, source }
    }
}

/// One file, and how it is reached.
#[derive(Debug)]
pub(crate) struct Plugin {
    pub path: PathBuf,
    pub module: ModuleRef,
    backend: LocalBackend,
}

impl Plugin {
    pub(crate) fn new(
        path: &Path,
        named_by: NamedBy,
        isolation: &Isolation,
    ) -> Result<Self, PluginError> {
        let path = path.canonicalize().map_err(|source| named_by.read(path, source))?;
        let name = module_name(&path);
        let (Some(name), Some(directory), Some(file)) = (name, path.parent(), path.file_name())
        else {
            return Err(PluginError::Name { path });
        };
        let options = Options {
            tier: isolation.tier,
            unsafe_no_isolation: isolation.unsafe_no_isolation,
            cancel: isolation.cancel.clone(),
            ..Options::new(directory.to_owned(), isolation.interpreter.clone())
        };
        let file = file.to_string_lossy().into_owned();
        let module = ModuleRef { name: name.to_owned(), path: Some(file) };
        Ok(Self { backend: LocalBackend::new(options)?, path, module })
    }

    /// An interpreter that has imported it, once it is needed.
    pub(crate) fn warm(&self) -> Result<Box<dyn Warm>, SandboxError> {
        self.backend.warm(&WarmSpec::new(Some(self.module.clone())))
    }

    /// A function of its.
    pub(crate) fn target(&self, function: &str) -> Target {
        Target { module: self.module.clone(), qualname: function.to_owned(), how: How::Function }
    }
}

/// The Python files that a path leads to: itself, or those in it, sorted.
pub(crate) fn files(path: &Path, named_by: NamedBy) -> Result<Vec<PathBuf>, PluginError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let read = |source| named_by.read(path, source);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(read)? {
        let file = entry.map_err(read)?.path();
        if module_name(&file).is_some_and(|name| !name.starts_with('_')) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Why a call of a plugin has come to nothing, if it has.
pub(crate) fn failure(outcome: &Outcome) -> Option<String> {
    if outcome.verdict == Verdict::Returned {
        return None;
    }
    let exception = outcome.exception.as_ref();
    let raised = exception.map(|raised| format!("{}: {}", raised.kind, raised.message));
    let why = raised.or_else(|| outcome.reason.clone());
    Some(why.unwrap_or_else(|| outcome.verdict.to_string()))
}

/// The name of the file's module, if it can be one.
fn module_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".py")?;
    let is_name = name.chars().all(|char| char.is_alphanumeric() || char == '_');
    (is_name && !name.is_empty()).then_some(name)
}
