//! Runs Ruff: its `S` rules are Bandit's by number, its `E` and `F` rules are the lint.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_model::{FindingSeverity, LintWarning, StaticFinding};
use serde::Deserialize;

use super::tool::{self, ScanDeadline, ScannerToolError};
use super::{ScanResults, ScanTargets, ScannerInfo};
use crate::check::rules;

/// `--isolated` keeps the settings of the repository out, `--` keeps file names from being options.
/// Comments such as `# noqa` still count.
const RUFF_ARGUMENTS: [&str; 8] = [
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
struct RuffDiagnostic {
    /// Null for a syntax error in some versions.
    code: Option<String>,
    filename: String,
    location: RuffLocation,
    message: String,
}

#[derive(Debug, Deserialize)]
struct RuffLocation {
    row: u32,
}

pub(super) fn scan_with_ruff(
    executable: &Path,
    targets: &ScanTargets,
    deadline: ScanDeadline,
) -> Result<ScanResults, ScannerToolError> {
    let version = tool::query_version(executable, "ruff", deadline)?;
    let mut findings: BTreeMap<PathBuf, Vec<StaticFinding>> = BTreeMap::new();
    let mut lints: BTreeMap<PathBuf, Vec<LintWarning>> = BTreeMap::new();
    for files in tool::split_arguments(&targets.absolute_paths) {
        let mut command = tool::build_command(executable);
        command.args(RUFF_ARGUMENTS).arg("--").args(files);
        let answer = tool::run_tool(&mut command, &[0], deadline)?;
        for diagnostic in serde_json::from_slice::<Vec<RuffDiagnostic>>(&answer)? {
            let Some(path) = targets.original_path(&diagnostic.filename) else { continue };
            match convert_diagnostic(diagnostic) {
                Some(RuffResult::Finding(finding)) => {
                    findings.entry(path.clone()).or_default().push(finding);
                }
                Some(RuffResult::Lint(lint)) => lints.entry(path.clone()).or_default().push(lint),
                None => {}
            }
        }
    }
    let scanner = ScannerInfo::Ruff { version };
    Ok(ScanResults { scanner, findings, lints: Some(lints), warning: None })
}

/// Whether Ruff has this rule. Those for imports are in preview only.
pub(super) fn has_rule_for(finding: &StaticFinding) -> bool {
    let number = finding.rule.strip_prefix('B').and_then(|number| number.parse::<u32>().ok());
    number.is_some_and(|number| !matches!(number, 401..=415 | 613..=615 | 703))
}

enum RuffResult {
    Finding(StaticFinding),
    Lint(LintWarning),
}

/// Syntax errors are left out: Menace's own parser decides whether a file is Python, without a
/// target version.
fn convert_diagnostic(diagnostic: RuffDiagnostic) -> Option<RuffResult> {
    let RuffDiagnostic { code, location: RuffLocation { row: line }, message, .. } = diagnostic;
    let code = code.filter(|code| code != "invalid-syntax")?;
    let number = code.strip_prefix('S').filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let Some(number) = number else {
        return Some(RuffResult::Lint(LintWarning { code, line, message }));
    };
    let rule = rules::find_by_id(&format!("B{number}"))?;
    // Ruff has no severities, but this message corresponds to Bandit's lower severity for a
    // constant command.
    let severity = match rule.id {
        "B602" | "B605" if message.contains("seems safe") => FindingSeverity::Low,
        _ => rule.severity,
    };
    let confidence = rule.confidence;
    Some(RuffResult::Finding(StaticFinding {
        rule: rule.id.into(),
        severity,
        confidence,
        line,
        message,
    }))
}
