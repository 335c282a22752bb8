//! A repository of its own for each test, a backend around it, and short ways to ask for calls.
//!
//! Written against `dyn Backend`; what only the host's own processes and directories can tell is in
//! [`Traces`]. Invariant: a [`Bench`] that goes away has checked that its repository is as it was and
//! that no trace is left.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use menace_model::{Call, How, Limits, ModuleRef, Outcome, Target, Value, Verdict};
use menace_sandbox::interpreter::{Interpreter, Search, Source};
use menace_sandbox::{Backend, Options, SandboxError, Tier, Warm, WarmSpec};
use tempfile::TempDir;

use crate::backends::{self, Factory};
use crate::host::Traces;
use crate::process;

/// The text of a Python file from `guests/`.
macro_rules! guest {
    ($name:literal) => {
        include_str!(concat!("guests/", $name))
    };
}
pub(crate) use guest;

/// What every repository has beside the guest.
const FILES: [(&str, &str); 8] = [
    ("data.txt", "some data\n"),
    ("old.txt", "to be deleted\n"),
    ("package/__init__.py", ""),
    ("package/inner.py", "def where():\n    return __name__\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\tbare = false\n"),
    (".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n"),
    (".git/objects/ab/cdef", "blob"),
];

pub(crate) fn interpreter() -> Interpreter {
    static FOUND: OnceLock<Interpreter> = OnceLock::new();
    let system = Path::new("/usr/bin/python3");
    let cache = process::cache();
    let find = || found(Some(system), Path::new("/nonexistent"), Some(&cache));
    FOUND.get_or_init(find).clone()
}

/// The one that is named, or that of the repository.
pub(crate) fn found(python: Option<&Path>, repository: &Path, cache: Option<&Path>) -> Interpreter {
    let sources: Vec<Source> = menace_sandbox::harness_sources()
        .iter()
        .map(|(name, text)| Source { name: (*name).to_owned(), text: (*text).to_owned() })
        .collect();
    let search = Search {
        python,
        repository,
        path: OsStr::new("/usr/bin:/bin"),
        home: None,
        sources: &sources,
        cache,
    };
    Interpreter::find(&search).expect("a Python can be found")
}

#[derive(Debug)]
pub(crate) struct Bench {
    /// There until the bench goes away.
    backend: Option<Box<dyn Backend>>,
    options: Options,
    repo: TempDir,
    before: BTreeMap<PathBuf, Entry>,
    traces: Traces,
}

impl Bench {
    /// With `guest` as the module `guest`.
    pub(crate) fn new(tier: Tier, guest: &str) -> Self {
        Self::with_options(tier, guest, |_| {})
    }

    pub(crate) fn with_options(tier: Tier, guest: &str, change: impl FnOnce(&mut Options)) -> Self {
        Self::around(backends::of(tier), tier, guest, change)
    }

    /// Around whatever backend the factory makes.
    pub(crate) fn around(
        factory: Factory,
        tier: Tier,
        guest: &str,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let repo = TempDir::with_prefix("repo-").expect("a repository can be made");
        for (name, text) in FILES.into_iter().chain([("guest.py", guest)]) {
            let file = repo.path().join(name);
            fs::create_dir_all(file.parent().expect("in the repository")).expect("writable");
            fs::write(file, text).expect("writable");
        }
        let traces = Traces::new(tier, repo.path());
        let mut options = Options::new(repo.path().to_owned(), interpreter());
        options.tier = Some(tier);
        options.init = process::init();
        traces.workspaces().clone_into(&mut options.workspaces);
        change(&mut options);
        let backend = factory(options.clone())
            .unwrap_or_else(|error| panic!("the tier `{tier}` must be had here: {error}"));
        let before = entries(repo.path());
        Self { backend: Some(backend), options, repo, before, traces }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        self.backend.as_deref().expect("it is there until the end")
    }

    /// What the backend was made with.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn repo(&self) -> &Path {
        self.repo.path()
    }

    /// The usual: module `guest`, level 3.
    pub(crate) fn spec(&self) -> WarmSpec {
        let module = ModuleRef { name: "guest".to_owned(), path: None };
        let mut spec = WarmSpec::new(Some(module));
        spec.environment.push(self.traces.variable());
        spec
    }

    pub(crate) fn session(&self) -> Session<'_> {
        self.session_of(&self.spec())
    }

    pub(crate) fn session_of(&self, spec: &WarmSpec) -> Session<'_> {
        Session { bench: self, warm: self.backend().warm(spec).expect("it costs nothing yet") }
    }

    /// One call in a sandbox of its own.
    pub(crate) fn run(&self, ask: Ask) -> Outcome {
        self.session().run(ask)
    }

    /// One call that has to return.
    pub(crate) fn value(&self, ask: Ask) -> Value {
        self.session().value(ask)
    }

    fn check_repository(&self) {
        let now = entries(self.repo.path());
        assert_eq!(self.before, now, "the repository of the host was changed");
    }
}

impl Drop for Bench {
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
pub(crate) struct Session<'a> {
    bench: &'a Bench,
    warm: Box<dyn Warm + 'a>,
}

impl Session<'_> {
    /// Whatever the guest does, there is an outcome, and no process but the sandbox's own.
    pub(crate) fn run(&mut self, ask: Ask) -> Outcome {
        let outcome = self.try_run(ask).expect("a guest is never an error");
        self.bench.traces.assert_idle();
        outcome
    }

    #[expect(clippy::needless_pass_by_value, reason = "an ask is made for one call")]
    pub(crate) fn try_run(&mut self, ask: Ask) -> Result<Outcome, SandboxError> {
        self.warm.run(&ask.0)
    }

    /// What a call returned; anything else is a failure.
    pub(crate) fn value(&mut self, ask: Ask) -> Value {
        let outcome = self.run(ask);
        assert_eq!(outcome.verdict, Verdict::Returned, "{outcome:#?}");
        let returned = outcome.value.expect("it returned");
        returned.value.unwrap_or_else(|| panic!("not a plain value: {}", returned.repr))
    }

    /// Calls that do nothing bad return, and the host's repository is as it was.
    pub(crate) fn still_works(&mut self) {
        // A session may have more than one sandbox.
        for _ in 0..3 {
            assert_eq!(self.value(ask("fine")), Value::from("fine"));
        }
        self.bench.check_repository();
    }
}

/// A call to be made.
#[derive(Debug, Clone)]
pub(crate) struct Ask(pub(crate) Call);

/// Calls a function of the module `guest`, without arguments.
pub(crate) fn ask(qualname: &str) -> Ask {
    let module = ModuleRef { name: "guest".to_owned(), path: None };
    let target = Target { module, qualname: qualname.to_owned(), how: How::Function };
    Ask(Call { seed: 1, ..Call::new(target) })
}

/// The top level of the module `guest`.
pub(crate) fn ask_module() -> Ask {
    ask("").how(How::Module)
}

impl Ask {
    pub(crate) fn with(mut self, args: impl IntoIterator<Item = Value>) -> Self {
        self.0.args.extend(args);
        self
    }

    pub(crate) fn named(mut self, name: &str, value: Value) -> Self {
        self.0.kwargs.push((name.to_owned(), value));
        self
    }

    pub(crate) fn how(mut self, how: How) -> Self {
        self.0.target.how = how;
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

    pub(crate) fn limited(mut self, change: impl FnOnce(&mut Limits)) -> Self {
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
struct Entry {
    content: Option<Vec<u8>>,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
}

fn entries(top: &Path) -> BTreeMap<PathBuf, Entry> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(path) = waiting.pop() {
        let data = fs::symlink_metadata(&path).expect("it was there");
        if data.is_dir() {
            let inner = fs::read_dir(&path).expect("readable");
            waiting.extend(inner.map(|entry| entry.expect("readable").path()));
        }
        let entry = Entry {
            content: data.is_file().then(|| fs::read(&path).expect("readable")),
            mode: data.mode(),
            owner: (data.uid(), data.gid()),
            modified: (data.mtime(), data.mtime_nsec()),
        };
        found.insert(path, entry);
    }
    found
}
