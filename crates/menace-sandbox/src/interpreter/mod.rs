//! Finds and describes the Python interpreter that guests run with.
//!
//! It is the one of `--python`, else of the repository's virtual environment, else on the PATH,
//! behind the shims of version managers. The sandbox decides how to mount and start it.
//!
//! Invariant: nothing that the repository could have written runs on the host, be it a `python`, a
//! `.pth` file or a standard library that a `pyvenv.cfg` points to, and nothing that it merely
//! points to is shown to guests; only the user's flag can change that.

mod cache;
mod find;
mod probe;
mod readable_paths;
mod run;
mod shim;
mod trust;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use find::find_base_of;

#[cfg(test)]
mod real_tests;

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use serde::Serialize;

use find::FoundInterpreter;
use probe::InterpreterDescription;

/// The newest Python that the tests run with.
const NEWEST_TESTED_VERSION: (u8, u8) = (3, 13);

/// Where to search, and the harness to compile.
#[derive(Debug, Clone, Copy)]
pub struct InterpreterSearch<'a> {
    /// `--python`: a path, a name on the PATH, or the directory of a virtual environment.
    pub python: Option<&'a Path>,
    pub repository: &'a Path,
    pub path: &'a OsStr,
    /// Version managers find their files there.
    pub home: Option<&'a Path>,
    /// The files of the guest harness.
    pub sources: &'a [HarnessSource],
    /// The directory of cached answers; without one every search runs the interpreter.
    pub cache: Option<&'a Path>,
}

/// A Python file of the guest harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarnessSource {
    /// The name that tracebacks show, with `.py` at the end.
    pub name: String,
    pub text: String,
}

/// How the interpreter was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InterpreterOrigin {
    Flag,
    Venv,
    Path,
}

/// An interpreter that the guest harness can run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PythonInterpreter {
    /// The interpreter as guests see it (`sys.executable`): for a virtual environment its own path,
    /// beside which Python finds `pyvenv.cfg`. Only guests start it: the repository may have
    /// written it.
    pub executable: PathBuf,
    /// The program that a sandbox starts: for a virtual environment, the Python that it was made
    /// from.
    pub program: PathBuf,
    /// `executable` with all links resolved.
    pub real: PathBuf,
    pub version: (u8, u8, u8),
    pub implementation: String,
    pub prefix: PathBuf,
    pub base_prefix: PathBuf,
    /// `sys.path` of `python -I`.
    pub paths: Vec<PathBuf>,
    pub stdlib: PathBuf,
    /// Paths that the guest must be able to read besides the system's directories and the
    /// repository.
    #[serde(rename = "needs")]
    pub readable_paths: Vec<PathBuf>,
    /// Paths that Python or `.pth` files refer to and that are not in `readable_paths`: too broad,
    /// or referred to by the repository.
    pub withheld: Vec<PathBuf>,
    pub soabi: String,
    pub cache_tag: String,
    /// The magic number of its byte code, as hexadecimal digits.
    pub magic: String,
    pub origin: InterpreterOrigin,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// The repository has no part in what `site` runs: `.pth` files, `sitecustomize`.
    #[serde(skip)]
    pub(crate) site_excludes_repository: bool,
    #[serde(skip)]
    compiled: Vec<(String, Vec<u8>)>,
}

impl PythonInterpreter {
    /// Whether it has `sys.monitoring`, which can report each line only once. Tracing in older
    /// versions slows down everything.
    pub fn has_monitoring(&self) -> bool {
        self.version >= (3, 12, 0)
    }

    /// The directory of its virtual environment.
    pub(crate) fn environment(&self) -> Option<&Path> {
        (self.prefix != self.base_prefix).then_some(&self.prefix)
    }

    /// Finds the interpreter of a repository and runs the probe with it.
    pub fn find(search: &InterpreterSearch<'_>) -> Result<Self, InterpreterError> {
        // The canonical path, which shows whether other canonical paths lie in it.
        let real = menace_files::resolve_named_path(search.repository);
        let repository = real.as_deref().unwrap_or(search.repository);
        let search = &InterpreterSearch { repository, ..*search };
        let mut first_error: Option<InterpreterError> = None;
        let mut skipped = Vec::new();
        for candidate in find::list_candidates(search)? {
            match candidate.inspect(search).and_then(|found| Self::describe(search, found)) {
                Ok(mut interpreter) => {
                    interpreter.warnings.extend(skipped);
                    return Ok(interpreter);
                }
                Err(error) => {
                    skipped.push(format!("passed by: {error}"));
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.unwrap_or(InterpreterError::NotFound { tried: Vec::new() }))
    }

    /// The guest harness, each file as `.pyc` with an unchecked hash, which Python never compares
    /// with a source.
    pub fn compiled_harness(&self) -> &[(String, Vec<u8>)] {
        &self.compiled
    }

    fn describe(
        search: &InterpreterSearch<'_>,
        found: FoundInterpreter,
    ) -> Result<Self, InterpreterError> {
        let slot = search.cache.and_then(|directory| {
            cache::InterpreterCacheSlot::new(directory, &found, search.sources)
        });
        let kept = slot
            .as_ref()
            .and_then(cache::InterpreterCacheSlot::load)
            .and_then(|answer| probe::parse_answer(&found, &answer).ok());
        if let Some(described) = kept {
            return Ok(Self::new(search, found, described));
        }
        let answer = probe::run_probe(&found, search.sources)?;
        let described = probe::parse_answer(&found, &answer)?;
        let mut warnings = Vec::new();
        if let Some(Err(error)) = slot.map(|slot| slot.store(answer, &described)) {
            warnings.push(format!("the answer of Python could not be kept: {error}"));
        }
        let mut interpreter = Self::new(search, found, described);
        interpreter.warnings.extend(warnings);
        Ok(interpreter)
    }

    fn new(
        search: &InterpreterSearch<'_>,
        found: FoundInterpreter,
        described: InterpreterDescription,
    ) -> Self {
        let has_own_program = found.venv.is_none()
            && (found.origin == InterpreterOrigin::Flag
                || !trust::leads_through_repository(search, &found.executable));
        let paths = readable_paths::compute(&found, &described, search.repository, search.home);
        let mut warnings = found.warnings;
        let (major, minor, _) = described.version;
        if (major, minor) > NEWEST_TESTED_VERSION {
            let (tested_major, tested_minor) = NEWEST_TESTED_VERSION;
            warnings.push(format!(
                "Python {major}.{minor} is newer than {tested_major}.{tested_minor}, \
                 the newest that Menace was tested with"
            ));
        }
        for path in &paths.withheld {
            warnings.push(format!(
                "guests are not shown `{}`, to which Python, a .pth file or a link leads",
                path.display()
            ));
        }
        Self {
            program: if has_own_program { found.executable.clone() } else { found.base_executable },
            executable: found.executable,
            real: found.real_path,
            version: described.version,
            implementation: described.implementation,
            site_excludes_repository: !found.venv.as_ref().is_some_and(|venv| venv.untrusted),
            prefix: described.prefix,
            base_prefix: described.base_prefix,
            paths: described.paths,
            stdlib: described.stdlib,
            readable_paths: paths.shown,
            withheld: paths.withheld,
            soabi: described.soabi,
            cache_tag: described.cache_tag,
            magic: described.magic,
            origin: found.origin,
            warnings,
            compiled: described
                .compiled
                .into_iter()
                .map(|(name, content)| (name, content.0))
                .collect(),
        }
    }
}

/// Why no interpreter can be used.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    #[error(
        "found no Python to run the repository with; tried {}. \
         Install python3, or name one with `--python PATH`", .tried.join(", ")
    )]
    NotFound { tried: Vec<String> },
    #[error("there is no Python at `{path}`; `--python` takes the path of an interpreter")]
    NoSuchExecutable { path: PathBuf },
    #[error("cannot read `{path}`")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("`{path}` may not be executed; `--python` takes the path of an interpreter")]
    NotExecutable { path: PathBuf },
    #[error(
        "the virtual environment of `{executable}` is broken: {why}. \
         Make it anew with `python3 -m venv`, or name another Python with `--python PATH`"
    )]
    BrokenVenv { executable: PathBuf, why: String },
    #[error(
        "`{executable}` is not used: it would run `{base}` outside of the sandbox, which the \
         repository may have brought along: it is not of the system, of a version manager or on \
         the PATH. If you trust it, name it with `--python {executable}`"
    )]
    Untrusted { executable: PathBuf, base: PathBuf },
    #[error(
        "the virtual environment `{directory}` is not used: a link of the repository leads out of \
         it or to its pyvenv.cfg. If you trust it, name it with `--python {directory}/bin/python`"
    )]
    LinkedVenv { directory: PathBuf },
    #[error("`{shim}` is a script that does not lead to a Python: it answered {answer:?}")]
    Shim { shim: PathBuf, answer: String },
    #[error("failed to start `{program}`")]
    Start { program: PathBuf, source: io::Error },
    #[error("`{program}` did not answer within {seconds} seconds")]
    Deadline { program: PathBuf, seconds: f64 },
    #[error(
        "`{program}` failed ({status}): {}; `--python PATH` names a Python that starts",
        if .stderr.is_empty() { "it gave no reason" } else { .stderr }
    )]
    Failed { program: PathBuf, status: ExitStatus, stderr: String },
    #[error("`{program}` wrote more than {limit} bytes")]
    TooMuchOutput { program: PathBuf, limit: u64 },
    #[error("`{program}` does not answer like a Python: {text:?}")]
    UnreadableAnswer { program: PathBuf, text: String, source: Option<serde_json::Error> },
    #[error(
        "`{executable}` is {implementation}; Menace needs CPython. Name one with `--python PATH`"
    )]
    NotCpython { executable: PathBuf, implementation: String },
    #[error(
        "`{executable}` is Python {version}; Menace needs {}.{} or newer. \
         Name one with `--python PATH`",
        probe::MIN_PYTHON_VERSION.0, probe::MIN_PYTHON_VERSION.1
    )]
    TooOld { executable: PathBuf, version: String },
    #[error("`{executable}` cannot compile `{name}` of the guest harness: {message}")]
    HarnessUncompilable { executable: PathBuf, name: String, message: String },
    #[error("failed to write the question for Python")]
    Request { source: serde_json::Error },
}
