//! A repository of its own for each test, a backend around it, and short ways to ask for calls.
//!
//! Written against `dyn SandboxBackend`; what only the host's own processes and directories can
//! show is in `host.rs`. Invariant: a [`ContractBench`] that is dropped has checked that its
//! repository is as it was and that no trace is left.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use menace_model::{Call, CallLimits, CallTarget, ModuleRef, Outcome, TargetKind, Value, Verdict};
use menace_sandbox::interpreter::{HarnessSource, InterpreterSearch, PythonInterpreter};
use menace_sandbox::{
    BackendOptions, CallSession, SandboxBackend, SandboxError, SandboxSpec, Tier,
};
use tempfile::TempDir;

use crate::backends::{self, BackendFactory};
use crate::host::HostTraces;
use crate::process;

/// The text of a Python file from `guests/`.
macro_rules! guest {
    ($name:literal) => {
        include_str!(concat!("guests/", $name))
    };
}
pub(crate) use guest;

/// What every repository has beside the guest.
const REPOSITORY_FILES: [(&str, &str); 8] = [
    ("data.txt", "some data\n"),
    ("old.txt", "to be deleted\n"),
    ("package/__init__.py", ""),
    ("package/inner.py", "def where():\n    return __name__\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\tbare = false\n"),
    (".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n"),
    (".git/objects/ab/cdef", "blob"),
];

pub(crate) fn interpreter() -> PythonInterpreter {
    static INTERPRETER: OnceLock<PythonInterpreter> = OnceLock::new();
    let system = Path::new("/usr/bin/python3");
    let cache = process::cache();
    let find = || find_interpreter(Some(system), Path::new("/nonexistent"), Some(&cache));
    INTERPRETER.get_or_init(find).clone()
}

/// The one that is named, or that of the repository.
pub(crate) fn find_interpreter(
    python: Option<&Path>,
    repository: &Path,
    cache: Option<&Path>,
) -> PythonInterpreter {
    let sources: Vec<HarnessSource> = menace_sandbox::harness_sources()
        .iter()
        .map(|(name, text)| HarnessSource { name: (*name).to_owned(), text: (*text).to_owned() })
        .collect();
    let search = InterpreterSearch {
        python,
        repository,
        path: OsStr::new("/usr/bin:/bin"),
        home: None,
        sources: &sources,
        cache,
    };
    PythonInterpreter::find(&search).expect("a Python can be found")
}

#[derive(Debug)]
pub(crate) struct ContractBench {
    /// There until the bench goes away.
    backend: Option<Box<dyn SandboxBackend>>,
    options: BackendOptions,
    repo: TempDir,
    before: BTreeMap<PathBuf, FileSnapshot>,
    traces: HostTraces,
}

impl ContractBench {
    /// With `guest` as the module `guest`.
    pub(crate) fn new(tier: Tier, guest: &str) -> Self {
        Self::with_options(tier, guest, |_| {})
    }

    pub(crate) fn with_options(
        tier: Tier,
        guest: &str,
        change: impl FnOnce(&mut BackendOptions),
    ) -> Self {
        Self::with_factory(backends::factory_for(tier), tier, guest, change)
    }

    /// Around whatever backend the factory makes.
    pub(crate) fn with_factory(
        factory: BackendFactory,
        tier: Tier,
        guest: &str,
        change: impl FnOnce(&mut BackendOptions),
    ) -> Self {
        let repo = TempDir::with_prefix("repo-").expect("a repository can be made");
        for (name, text) in REPOSITORY_FILES.into_iter().chain([("guest.py", guest)]) {
            let file = repo.path().join(name);
            fs::create_dir_all(file.parent().expect("in the repository")).expect("writable");
            fs::write(file, text).expect("writable");
        }
        let traces = HostTraces::new(tier, repo.path());
        let mut options = BackendOptions::new(repo.path().to_owned(), interpreter());
        options.tier = Some(tier);
        options.init = process::init();
        traces.workspaces().clone_into(&mut options.workspace_parent);
        change(&mut options);
        let backend = factory(options.clone())
            .unwrap_or_else(|error| panic!("the tier `{tier}` must be had here: {error}"));
        let before = snapshot_files(repo.path());
        Self { backend: Some(backend), options, repo, before, traces }
    }

    pub(crate) fn backend(&self) -> &dyn SandboxBackend {
        self.backend.as_deref().expect("it is there until the end")
    }

    /// What the backend was made with.
    pub(crate) fn options(&self) -> &BackendOptions {
        &self.options
    }

    pub(crate) fn repo(&self) -> &Path {
        self.repo.path()
    }

    /// The usual: module `guest`, level 3.
    pub(crate) fn spec(&self) -> SandboxSpec {
        let module = ModuleRef { name: "guest".to_owned(), path: None };
        let mut spec = SandboxSpec::new(Some(module));
        spec.environment.push(self.traces.variable());
        spec
    }

    pub(crate) fn session(&self) -> ContractSession<'_> {
        self.session_of(&self.spec())
    }

    pub(crate) fn session_of(&self, spec: &SandboxSpec) -> ContractSession<'_> {
        ContractSession {
            bench: self,
            warm: self.backend().open_session(spec).expect("it costs nothing yet"),
        }
    }

    /// One call in a sandbox of its own.
    pub(crate) fn run(&self, ask: CallBuilder) -> Outcome {
        self.session().run(ask)
    }

    /// One call that has to return.
    pub(crate) fn value(&self, ask: CallBuilder) -> Value {
        self.session().value(ask)
    }

    fn check_repository(&self) {
        let now = snapshot_files(self.repo.path());
        assert_eq!(self.before, now, "the repository of the host was changed");
    }
}

impl Drop for ContractBench {
    fn drop(&mut self) {
        drop(self.backend.take());
        if std::thread::panicking() {
            return;
        }
        self.check_repository();
        self.traces.assert_gone();
    }
}

/// A module that is called again and again.
#[derive(Debug)]
pub(crate) struct ContractSession<'a> {
    bench: &'a ContractBench,
    warm: Box<dyn CallSession + 'a>,
}

impl ContractSession<'_> {
    /// Whatever the guest does, there is an outcome, and no process but the sandbox's own.
    pub(crate) fn run(&mut self, ask: CallBuilder) -> Outcome {
        let outcome = self.try_run(ask).expect("a guest is never an error");
        self.bench.traces.assert_idle();
        outcome
    }

    #[expect(clippy::needless_pass_by_value, reason = "an ask is made for one call")]
    pub(crate) fn try_run(&mut self, ask: CallBuilder) -> Result<Outcome, SandboxError> {
        self.warm.run(&ask.0)
    }

    /// What a call returned; anything else is a failure.
    pub(crate) fn value(&mut self, ask: CallBuilder) -> Value {
        let outcome = self.run(ask);
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        let returned = outcome.result.value.expect("it returned");
        returned.value.unwrap_or_else(|| panic!("not a plain value: {}", returned.repr))
    }

    /// Calls that do nothing bad return, and the host's repository is as it was.
    pub(crate) fn assert_still_works(&mut self) {
        // A session may have more than one sandbox.
        for _ in 0..3 {
            assert_eq!(self.value(build_call("fine")), Value::from("fine"));
        }
        self.bench.check_repository();
    }
}

/// A call to be made.
#[derive(Debug, Clone)]
pub(crate) struct CallBuilder(pub(crate) Call);

/// Calls a function of the module `guest`, without arguments.
pub(crate) fn build_call(qualname: &str) -> CallBuilder {
    let module = ModuleRef { name: "guest".to_owned(), path: None };
    let target = CallTarget { module, qualname: qualname.to_owned(), kind: TargetKind::Function };
    CallBuilder(Call { seed: 1, ..Call::new(target) })
}

/// The top level of the module `guest`.
pub(crate) fn build_module_call() -> CallBuilder {
    build_call("").kind(TargetKind::Module)
}

impl CallBuilder {
    pub(crate) fn with(mut self, args: impl IntoIterator<Item = Value>) -> Self {
        self.0.args.extend(args);
        self
    }

    pub(crate) fn named(mut self, name: &str, value: Value) -> Self {
        self.0.kwargs.push((name.to_owned(), value));
        self
    }

    pub(crate) fn kind(mut self, kind: TargetKind) -> Self {
        self.0.target.kind = kind;
        self
    }

    pub(crate) fn on(mut self, receiver: Value) -> Self {
        self.0.receiver = Some(receiver);
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    pub(crate) fn timeout(self, timeout_ms: u64) -> Self {
        self.limited(|limits| limits.timeout_ms = timeout_ms)
    }

    pub(crate) fn limited(mut self, change: impl FnOnce(&mut CallLimits)) -> Self {
        change(&mut self.0.limits);
        self
    }
}

/// The text in a value.
pub(crate) fn text(value: &Value) -> &str {
    match value {
        Value::Str(text) => text.as_str().expect("without surrogates"),
        other => panic!("not a text: {other:?}"),
    }
}

/// The values in a list or tuple.
pub(crate) fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) | Value::Tuple(items) => items,
        other => panic!("not a list: {other:?}"),
    }
}

/// What a dictionary has under a name.
pub(crate) fn entry<'a>(value: &'a Value, name: &str) -> &'a Value {
    let Value::Dict(pairs) = value else { panic!("not a dictionary: {value:?}") };
    let found = pairs.iter().find(|(key, _)| *key == Value::from(name));
    found.map_or_else(|| panic!("no `{name}` in {value:?}"), |(_, value)| value)
}

/// Everything about a file that a guest could change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileSnapshot {
    content: Option<Vec<u8>>,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
}

pub(crate) fn snapshot_files(top: &Path) -> BTreeMap<PathBuf, FileSnapshot> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(path) = waiting.pop() {
        let data = fs::symlink_metadata(&path).expect("it was there");
        if data.is_dir() {
            let inner = fs::read_dir(&path).expect("readable");
            waiting.extend(inner.map(|entry| entry.expect("readable").path()));
        }
        let entry = FileSnapshot {
            content: data.is_file().then(|| fs::read(&path).expect("readable")),
            mode: data.mode(),
            owner: (data.uid(), data.gid()),
            modified: (data.mtime(), data.mtime_nsec()),
        };
        found.insert(path, entry);
    }
    found
}
