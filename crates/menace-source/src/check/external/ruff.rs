//! Runs Ruff: its `S` rules are Bandit's by number, its `E` and `F` rules are the lint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_model::{Finding, Lint, Severity};
use serde::Deserialize;

use super::tool::{self, Deadline, Failure};
use super::{Scan, Scanner, Targets};
use crate::check::rules;

/// `--isolated` keeps the settings of the repository out, `--` keeps file names from being options.
/// Comments such as `# noqa` still count.
const ARGUMENTS: [&str; 8] = [
    "check",
    "--isolated",
    "--no-cache",
    "--no-fix",
    "--exit-zero",
    "--quiet",
    "--output-format=json",
    "--select=S,E4,E7,E9,F",
];

#[derive(Debug, Deserialize)]
struct Diagnostic {
    /// Null for a syntax error in some versions.
    code: Option<String>,
    filename: String,
    location: Location,
    message: String,
}

#[derive(Debug, Deserialize)]
struct Location {
    row: u32,
}

pub(super) fn scan(
    executable: &Path,
    targets: &Targets,
    deadline: Deadline,
) -> Result<Scan, Failure> {
    let version = tool::version(executable, "ruff", deadline)?;
    let mut findings: BTreeMap<PathBuf, Vec<Finding>> = BTreeMap::new();
    let mut lints: BTreeMap<PathBuf, Vec<Lint>> = BTreeMap::new();
    for files in tool::chunks(&targets.full) {
        let mut command = tool::command(executable);
        command.args(ARGUMENTS).arg("--").args(files);
        let answer = tool::run(&mut command, &[0], deadline)?;
        for diagnostic in serde_json::from_slice::<Vec<Diagnostic>>(&answer)? {
            let Some(path) = targets.given(&diagnostic.filename) else { continue };
            match read(diagnostic) {
                Some(Read::Finding(finding)) => {
                    findings.entry(path.clone()).or_default().push(finding);
                }
                Some(Read::Lint(lint)) => lints.entry(path.clone()).or_default().push(lint),
                None => {}
            }
        }
    }
    let scanner = Scanner::Ruff { version };
    Ok(Scan { scanner, findings, lints: Some(lints), warning: None })
}

/// Does Ruff have a rule for this? Its counterparts of the import rules are in preview only.
pub(super) fn knows(finding: &Finding) -> bool {
    let number = finding.rule.strip_prefix('B').and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| !matches!(number, 401..=415 | 613..=615 | 703))
}

enum Read {
    Finding(Finding),
    Lint(Lint),
}

/// Syntax errors are left out: whether a file is Python is for Menace's own parser to say, which
/// knows no target version.
fn read(diagnostic: Diagnostic) -> Option<Read> {
    let Diagnostic { code, location: Location { row: line }, message, .. } = diagnostic;
    let code = code.filter(|code| code != "invalid-syntax")?;
    let number = code.strip_prefix('S').filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let Some(number) = number else {
        return Some(Read::Lint(Lint { code, line, message }));
    };
    let rule = rules::by_id(&format!("B{number}"))?;
    // Ruff gives no ranks, but says this where Bandit ranks a constant command lower.
    let severity = match rule.id {
        "B602" | "B605" if message.contains("seems safe") => Severity::Low,
        _ => rule.severity,
    };
    let confidence = rule.confidence;
    Some(Read::Finding(Finding { rule: rule.id.into(), severity, confidence, line, message }))
}
