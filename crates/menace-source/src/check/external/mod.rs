//! Runs the checks with an installed tool: Ruff if there is one, else Bandit.
//!
//! The tool reads files by their full path, uses no configuration of the repository and writes
//! nothing to it. Neither tool has Menace's own `M9xx` rules, which [`super::check_module`] checks.
//!
//! Invariant: a tool that is missing, old, slow or broken is no error. The result then is
//! [`ScannerInfo::Builtin`] with a warning, and the caller uses the built-in checks.
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

/// Where tools are searched, and how long they may run.
#[derive(Debug, Clone, Copy)]
pub struct ScannerSearch<'a> {
    /// The value of `PATH`. Relative entries and those inside of the repository are skipped: an
    /// analysis runs no program of the repository.
    pub path: &'a OsStr,
    /// Time for the whole scan, whatever the number of files.
    pub timeout: Duration,
    /// Which tools to try, best first.
    pub tools: &'a [ScannerTool],
}

/// An external scanner.
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

/// A tool's results for each file.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanResults {
    pub scanner: ScannerInfo,
    /// Findings by path, as the caller passed it; a file without findings has no entry. Empty for
    /// [`ScannerInfo::Builtin`].
    pub findings: BTreeMap<PathBuf, Vec<StaticFinding>>,
    /// Lint warnings, which only Ruff reports; with `None` the built-in lint is used.
    pub lints: Option<BTreeMap<PathBuf, Vec<LintWarning>>>,
    /// Why an installed tool was not used.
    pub warning: Option<String>,
}

impl ScanResults {
    /// The result when no tool was run: the built-in checks are used.
    pub fn builtin() -> Self {
        Self {
            scanner: ScannerInfo::Builtin,
            findings: BTreeMap::new(),
            lints: None,
            warning: None,
        }
    }

    /// Replaces the built-in results of one module by the tool's.
    ///
    /// Findings of rules that the tool lacks are kept, so that the choice of the tool does not
    /// change what is checked.
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
        let root = menace_files::resolve_named_path(root)?;
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
