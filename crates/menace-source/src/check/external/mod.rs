//! The same checks by an installed tool: Ruff first, else Bandit.
//!
//! The tool reads files by their full path, gets no configuration from the repository and writes
//! nothing to it. Menace's own `M9xx` rules are in neither tool: ask [`super::check_module`] for
//! them.
//!
//! Invariant: a tool that is missing, old, slow or broken is no error. The answer then is
//! [`ScannerInfo::Builtin`] with a warning, and the caller uses the built-in checks.

mod bandit;
mod ruff;
mod tool;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use menace_model::{LintWarning, StaticFinding};
use serde::Serialize;

use self::tool::{ScanDeadline, ScannerToolError};

/// Where to look for tools and how long to let them work.
#[derive(Debug, Clone, Copy)]
pub struct ScannerSearch<'a> {
    /// The value of `PATH`. Relative entries and those inside of the repository are passed over:
    /// an analysis runs nothing that the repository brings along.
    pub path: &'a OsStr,
    /// For the whole scan, whatever the number of files.
    pub timeout: Duration,
    /// Which tools to try, best first.
    pub tools: &'a [ScannerTool],
}

/// A tool that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScannerTool {
    Ruff,
    Bandit,
}

impl ScannerTool {
    pub const ALL: &'static [Self] = &[Self::Ruff, Self::Bandit];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ruff => "ruff",
            Self::Bandit => "bandit",
        }
    }
}

/// The scanner that made the findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum ScannerInfo {
    Ruff { version: String },
    Bandit { version: String },
    Builtin,
}

impl fmt::Display for ScannerInfo {
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
pub struct ScanResults {
    pub scanner: ScannerInfo,
    /// By the path as the caller gave it; a file without findings has no entry. Empty for
    /// [`ScannerInfo::Builtin`].
    pub findings: BTreeMap<PathBuf, Vec<StaticFinding>>,
    /// Lint, when the tool has any to tell: only Ruff does. `None` asks for the built-in lint.
    pub lints: Option<BTreeMap<PathBuf, Vec<LintWarning>>>,
    /// Why an installed tool was not used.
    pub warning: Option<String>,
}

impl ScanResults {
    /// The answer when no tool was asked: the built-in checks stand.
    pub fn builtin() -> Self {
        Self {
            scanner: ScannerInfo::Builtin,
            findings: BTreeMap::new(),
            lints: None,
            warning: None,
        }
    }

    /// Puts what the tool said in place of the built-in results of one module.
    ///
    /// What the tool has no rule for stays as the built-in check has it, so that the choice of
    /// the tool does not change what is looked for.
    pub fn replace_builtin_results(
        &mut self,
        path: &Path,
        findings: &mut Vec<StaticFinding>,
        lints: &mut Vec<LintWarning>,
    ) {
        let knows = match self.scanner {
            ScannerInfo::Builtin => return,
            ScannerInfo::Bandit { .. } => StaticFinding::is_bandit_rule,
            ScannerInfo::Ruff { .. } => ruff::has_rule_for,
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
pub fn scan(search: &ScannerSearch<'_>, root: &Path, files: &[PathBuf]) -> ScanResults {
    let deadline = ScanDeadline::after(search.timeout);
    let mut warnings: Vec<String> = Vec::new();
    for tool in search.tools {
        let Some(executable) = tool::find_executable(search.path, tool.name(), root) else {
            continue;
        };
        let scanned = ScanTargets::new(root, files)
            .map_err(|source| ScannerToolError::RootNotFound { root: root.to_owned(), source })
            .and_then(|targets| match tool {
                ScannerTool::Ruff => ruff::scan_with_ruff(&executable, &targets, deadline),
                ScannerTool::Bandit => bandit::scan_with_bandit(&executable, &targets, deadline),
            });
        match scanned {
            Ok(scan) => return ScanResults { warning: join_warnings(&warnings), ..scan },
            Err(failure) => {
                warnings.push(format!("`{}` was not used: {failure}", executable.display()));
            }
        }
    }
    ScanResults { warning: join_warnings(&warnings), ..ScanResults::builtin() }
}

fn join_warnings(warnings: &[String]) -> Option<String> {
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

/// The files by the full path that a tool is given and repeats in its answer.
#[derive(Debug)]
struct ScanTargets {
    original_paths: BTreeMap<String, PathBuf>,
    absolute_paths: Vec<PathBuf>,
}

impl ScanTargets {
    fn new(root: &Path, files: &[PathBuf]) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let full: Vec<PathBuf> = files.iter().map(|file| root.join(file)).collect();
        let keys = full.iter().map(|path| path.to_string_lossy().into_owned());
        let original_paths = keys.zip(files.iter().cloned()).collect();
        Ok(Self { original_paths, absolute_paths: full })
    }

    /// The caller's path for a path in the answer.
    fn original_path(&self, full: &str) -> Option<&PathBuf> {
        self.original_paths.get(full)
    }
}

#[cfg(test)]
mod tests;
