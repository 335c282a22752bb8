//! Plugins: Python files of the user that add to or replace inputs, run in a sandbox of their own.
//!
//! A plugin has a function `generate_stubs(stubs, context)`. `stubs` is a list of dictionaries from
//! parameters to values, `context` tells the section. What it returns takes the place of what it was
//! shown; `None` leaves everything as it is.
//! Invariant: a plugin that fails costs its own inputs and a warning, nothing else.

use std::path::{Path, PathBuf};

use menace_model::{Call, How, ModuleRef, Outcome, SectionId, Target, Value, Verdict};
use menace_sandbox::interpreter::Interpreter;
use menace_sandbox::{Backend, Cancel, LocalBackend, Options, SandboxError, Tier, WarmSpec};
use menace_scenario::input::{Named, Plugged};

const FUNCTION: &str = "generate_stubs";

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("cannot read `{}`; SANDBOX_STUB_PLUGINS takes Python files and directories", .path.display())]
    Read { path: PathBuf, source: std::io::Error },
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

/// What plugins are shown of a section.
#[derive(Debug, Clone)]
pub struct Shown {
    pub section: SectionId,
    /// `package.module:name`.
    pub target: String,
    pub parameters: Vec<String>,
    pub seed: u64,
    pub stubs: Vec<Named>,
}

#[derive(Debug)]
struct Plugin {
    path: PathBuf,
    backend: LocalBackend,
    target: Target,
}

/// All plugins, in the order in which they were named.
#[derive(Debug)]
pub struct Plugins(Vec<Plugin>);

impl Plugins {
    /// Finds the files: those named, and the ones in directories that are named, sorted.
    pub fn find(paths: &[PathBuf], isolation: &Isolation) -> Result<Self, PluginError> {
        let mut plugins = Vec::new();
        for path in paths {
            for file in files(path)? {
                plugins.push(Plugin::new(&file, isolation)?);
            }
        }
        Ok(Self(plugins))
    }

    /// Shows every plugin what the one before it returned. In the order of `shown`, with warnings.
    pub fn apply(&self, shown: &[Shown]) -> Result<(Vec<Plugged>, Vec<String>), SandboxError> {
        let mut stubs: Vec<Vec<Named>> = shown.iter().map(|one| one.stubs.clone()).collect();
        let mut warnings = Vec::new();
        for plugin in &self.0 {
            let mut warm = plugin.backend.warm(&plugin.spec())?;
            for (one, stubs) in shown.iter().zip(&mut stubs) {
                let outcome = warm.run(&plugin.call(one, stubs))?;
                match returned(&outcome) {
                    Ok(Some(returned)) => *stubs = returned,
                    Ok(None) => {}
                    Err(why) => {
                        let plugin = plugin.path.display();
                        warnings.push(format!("plugin {plugin}, for {}: {why}", one.target));
                    }
                }
            }
        }
        let plugged = shown.iter().zip(stubs);
        Ok((plugged.map(|(one, stubs)| Plugged::between(&one.stubs, stubs)).collect(), warnings))
    }
}

impl Plugin {
    fn new(path: &Path, isolation: &Isolation) -> Result<Self, PluginError> {
        let read = |source| PluginError::Read { path: path.to_owned(), source };
        let path = path.canonicalize().map_err(read)?;
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
        let target = Target { module, qualname: FUNCTION.to_owned(), how: How::Function };
        Ok(Self { backend: LocalBackend::new(options)?, path, target })
    }

    fn spec(&self) -> WarmSpec {
        let import_roots = vec![String::new()];
        WarmSpec { import_roots, ..WarmSpec::new(Some(self.target.module.clone())) }
    }

    fn call(&self, shown: &Shown, stubs: &[Named]) -> Call {
        let text = |text: &str| Value::from(text);
        let names = shown.parameters.iter().map(|name| text(name)).collect();
        let context = vec![
            (text("section"), text(shown.section.as_str())),
            (text("target"), text(&shown.target)),
            (text("parameters"), Value::List(names)),
            (text("seed"), i64::try_from(shown.seed).map_or(Value::None, Value::Int)),
        ];
        let dict = |stub: &Named| {
            let pairs = stub.iter().map(|(name, value)| (text(name), value.clone()));
            Value::Dict(pairs.collect())
        };
        let stubs = Value::List(stubs.iter().map(dict).collect());
        let args = vec![stubs, Value::Dict(context)];
        Call { args, seed: shown.seed, ..Call::new(self.target.clone()) }
    }
}

/// What the function returned; an error says what was wrong with it.
fn returned(outcome: &Outcome) -> Result<Option<Vec<Named>>, String> {
    const SHAPE: &str = "expected a list of dictionaries from parameters to plain values, or None";
    if outcome.verdict != Verdict::Returned {
        let exception = outcome.exception.as_ref();
        let raised = exception.map(|raised| format!("{}: {}", raised.kind, raised.message));
        let why = raised.or_else(|| outcome.reason.clone());
        return Err(why.unwrap_or_else(|| outcome.verdict.to_string()));
    }
    let value = outcome.value.as_ref().and_then(|value| value.value.as_ref());
    let items = match value {
        Some(Value::None) => return Ok(None),
        Some(Value::List(items)) => items,
        _ => return Err(SHAPE.to_owned()),
    };
    let mut stubs = Vec::with_capacity(items.len());
    for item in items {
        let Value::Dict(pairs) = item else { return Err(SHAPE.to_owned()) };
        let named = pairs.iter().map(|(name, value)| match name {
            Value::Str(name) => Some((name.as_str()?.to_owned(), value.clone())),
            _ => None,
        });
        stubs.push(named.collect::<Option<Named>>().ok_or(SHAPE)?);
    }
    Ok(Some(stubs))
}

fn files(path: &Path) -> Result<Vec<PathBuf>, PluginError> {
    let read = |source| PluginError::Read { path: path.to_owned(), source };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
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

/// The name of the file's module, if it can be one.
fn module_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".py")?;
    let is_name = name.chars().all(|char| char.is_alphanumeric() || char == '_');
    (is_name && !name.is_empty()).then_some(name)
}
