//! The same checks by an installed tool: Ruff first, else Bandit.
//!
//! The tool reads files by their full path, gets no configuration from the repository and writes
//! nothing to it. Menace's own `M9xx` rules are in neither tool: ask [`check`](super::check) for
//! them.
//!
//! Invariant: a tool that is missing, old, slow or broken is no error. The answer then is
//! [`Scanner::Builtin`] with a warning, and the caller uses the built-in checks.

mod bandit;
mod ruff;
mod tool;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::{Finding, Lint};
use serde::Serialize;

use self::tool::{Deadline, Failure};

/// Where to look for tools and how long to let them work.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// The value of `PATH`. Relative entries and those inside of the repository are passed over:
    /// an analysis runs nothing that the repository brings along.
    pub path: &'a OsStr,
    /// For the whole scan, whatever the number of files.
    pub timeout: Duration,
    /// Which tools to try, best first.
    pub tools: &'a [Tool],
}

/// A tool that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Ruff,
    Bandit,
}

impl Tool {
    pub const ALL: &'static [Self] = &[Self::Ruff, Self::Bandit];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ruff => "ruff",
            Self::Bandit => "bandit",
        }
    }
}

/// Who made the findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum Scanner {
    Ruff { version: String },
    Bandit { version: String },
    Builtin,
}

impl fmt::Display for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ruff { version } => write!(f, "ruff {version}"),
            Self::Bandit { version } => write!(f, "bandit {version}"),
            Self::Builtin => f.write_str("built-in check"),
        }
    }
}

/// What a tool said about each file.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    pub scanner: Scanner,
    /// By the path as the caller gave it; a file without findings has no entry. Empty for
    /// [`Scanner::Builtin`].
    pub findings: BTreeMap<PathBuf, Vec<Finding>>,
    /// Lint, when the tool has any to tell: only Ruff does. `None` asks for the built-in lint.
    pub lints: Option<BTreeMap<PathBuf, Vec<Lint>>>,
    /// Why an installed tool was not used.
    pub warning: Option<String>,
}

impl Scan {
    /// The answer when no tool was asked: the built-in checks stand.
    pub fn builtin() -> Self {
        Self { scanner: Scanner::Builtin, findings: BTreeMap::new(), lints: None, warning: None }
    }

    /// Puts what the tool said in place of the built-in results of one module.
    ///
    /// What the tool has no rule for stays as the built-in check has it, so that the choice of
    /// the tool changes who looks, not what is looked for.
    pub fn replace(&mut self, path: &Path, findings: &mut Vec<Finding>, lints: &mut Vec<Lint>) {
        let knows = match self.scanner {
            Scanner::Builtin => return,
            Scanner::Bandit { .. } => Finding::is_bandit_class,
            Scanner::Ruff { .. } => ruff::knows,
        };
        findings.retain(|finding| !knows(finding));
        findings.extend(self.findings.remove(path).unwrap_or_default());
        findings.sort_by(|a, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
        if let Some(by_path) = &mut self.lints {
            *lints = by_path.remove(path).unwrap_or_default();
        }
    }
}

/// Scans `files`, which are relative to `root` or absolute, with the first tool that works.
pub fn scan(search: &Search<'_>, root: &Path, files: &[PathBuf]) -> Scan {
    let deadline = Deadline::after(search.timeout);
    let mut warnings: Vec<String> = Vec::new();
    for tool in search.tools {
        let Some(executable) = tool::find(search.path, tool.name(), root) else { continue };
        let scanned = Targets::new(root, files)
            .map_err(|source| Failure::Root { root: root.to_owned(), source })
            .and_then(|targets| match tool {
                Tool::Ruff => ruff::scan(&executable, &targets, deadline),
                Tool::Bandit => bandit::scan(&executable, &targets, deadline),
            });
        match scanned {
            Ok(scan) => return Scan { warning: join(&warnings), ..scan },
            Err(failure) => {
                warnings.push(format!("`{}` was not used: {failure}", executable.display()));
            }
        }
    }
    Scan { warning: join(&warnings), ..Scan::builtin() }
}

fn join(warnings: &[String]) -> Option<String> {
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

/// The files by the full path that a tool is given and repeats in its answer.
#[derive(Debug)]
struct Targets {
    given: BTreeMap<String, PathBuf>,
    full: Vec<PathBuf>,
}

impl Targets {
    fn new(root: &Path, files: &[PathBuf]) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let full: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
        let keys = full.iter().map(|path| path.to_string_lossy().into_owned());
        let given = keys.zip(files.iter().cloned()).collect();
        Ok(Self { given, full })
    }

    /// The caller's path for a path in the answer.
    fn given(&self, full: &str) -> Option<&PathBuf> {
        self.given.get(full)
    }
}

#[cfg(test)]
mod tests;
