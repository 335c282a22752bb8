//! A Python file of the user's that is called in a sandbox of its own.
//!
//! The names, arguments and results of its functions belong to the modules that call it
//! (`inputs::plugins`, `metrics::plugins`). Invariant: a plugin sees only its own directory of the
//! host.

use std::path::{Path, PathBuf};

use menace_model::{CallTarget, ModuleRef, Outcome, TargetKind, Verdict};
use menace_sandbox::interpreter::PythonInterpreter;
use menace_sandbox::{
    BackendOptions, CallSession, CancelToken, LocalBackend, SandboxBackend, SandboxError,
    SandboxSpec, Tier,
};

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("cannot read `{}`; {setting} takes {takes}", .path.display())]
    Read { path: PathBuf, setting: &'static str, takes: &'static str, source: std::io::Error },
    #[error("{}: expected a Python file whose name is a module name", .path.display())]
    Name { path: PathBuf },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// How the sandboxes of plugins are made.
#[derive(Debug, Clone)]
pub struct PluginIsolation {
    pub interpreter: PythonInterpreter,
    pub tier: Option<Tier>,
    pub unsafe_no_isolation: bool,
    pub cancel: CancelToken,
}

/// The setting that names the paths of plugins, for error messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PluginOrigin {
    pub setting: &'static str,
    pub takes: &'static str,
}

impl PluginOrigin {
    fn read_error(self, path: &Path, source: std::io::Error) -> PluginError {
        let Self { setting, takes } = self;
        PluginError::Read { path: path.to_owned(), setting, takes, source }
    }
}

/// One plugin and its sandbox.
#[derive(Debug)]
pub(crate) struct PluginFile {
    pub path: PathBuf,
    pub module: ModuleRef,
    backend: LocalBackend,
}

impl PluginFile {
    pub(crate) fn new(
        path: &Path,
        origin: PluginOrigin,
        isolation: &PluginIsolation,
    ) -> Result<Self, PluginError> {
        let path = menace_files::resolve_named_path(path)
            .map_err(|source| origin.read_error(path, source))?;
        let name = module_name(&path);
        let (Some(name), Some(directory), Some(file)) = (name, path.parent(), path.file_name())
        else {
            return Err(PluginError::Name { path });
        };
        let options = BackendOptions {
            tier: isolation.tier,
            unsafe_no_isolation: isolation.unsafe_no_isolation,
            cancel: isolation.cancel.clone(),
            ..BackendOptions::new(directory.to_owned(), isolation.interpreter.clone())
        };
        let file = file.to_string_lossy().into_owned();
        let module = ModuleRef { name: name.to_owned(), path: Some(file) };
        Ok(Self { backend: LocalBackend::new(options)?, path, module })
    }

    /// Opens a sandbox that has imported the plugin.
    pub(crate) fn warm(&self) -> Result<Box<dyn CallSession>, SandboxError> {
        self.backend.open_session(&SandboxSpec::new(Some(self.module.clone())))
    }

    /// The call target of one of its functions.
    pub(crate) fn target(&self, function: &str) -> CallTarget {
        CallTarget {
            module: self.module.clone(),
            qualname: function.to_owned(),
            kind: TargetKind::Function,
        }
    }
}

/// The plugins at a path: the file itself, or the Python files in the directory, sorted.
#[expect(clippy::disallowed_methods, reason = "only the user can name it")]
pub(crate) fn find_files(path: &Path, origin: PluginOrigin) -> Result<Vec<PathBuf>, PluginError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let read = |source| origin.read_error(path, source);
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

/// Why a call of a plugin failed; `None` if it returned.
pub(crate) fn call_error(outcome: &Outcome) -> Option<String> {
    if outcome.verdict == Verdict::Returned {
        return None;
    }
    let exception = outcome.exception.as_ref();
    let raised = exception.map(|raised| format!("{}: {}", raised.kind, raised.message));
    let why = raised.or_else(|| outcome.reason.clone());
    Some(why.unwrap_or_else(|| outcome.verdict.to_string()))
}

/// The module name of a Python file; none for other files.
fn module_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".py")?;
    let is_name = name.chars().all(|char| char.is_alphanumeric() || char == '_');
    (is_name && !name.is_empty()).then_some(name)
}
