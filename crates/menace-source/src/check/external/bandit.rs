//! Runs Bandit, whose numbers and ranks are taken as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_model::{FindingConfidence, FindingSeverity, StaticFinding};
use serde::Deserialize;

use super::tool::{self, ScanDeadline, ScannerToolError};
use super::{ScanResults, ScanTargets, ScannerInfo};

/// Bandit leaves out files whose path contains an excluded text, by default `.git` and others. The
/// caller has chosen the files, so exclude a text that no full path contains.
const BANDIT_ARGUMENTS: [&str; 6] = ["--quiet", "--format", "json", "--exclude", "//none//", "--"];

#[derive(Debug, Deserialize)]
struct BanditOutput {
    results: Vec<BanditIssue>,
}

#[derive(Debug, Deserialize)]
struct BanditIssue {
    filename: String,
    test_id: String,
    #[serde(rename = "issue_severity")]
    severity: BanditRank,
    #[serde(rename = "issue_confidence")]
    confidence: BanditRank,
    #[serde(rename = "issue_text")]
    text: String,
    line_number: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum BanditRank {
    Undefined,
    Low,
    Medium,
    High,
}

pub(super) fn scan_with_bandit(
    executable: &Path,
    targets: &ScanTargets,
    deadline: ScanDeadline,
) -> Result<ScanResults, ScannerToolError> {
    let version = tool::query_version(executable, "bandit", deadline)?;
    let mut findings: BTreeMap<PathBuf, Vec<StaticFinding>> = BTreeMap::new();
    for files in tool::split_arguments(&targets.absolute_paths) {
        let mut command = tool::build_command(executable);
        command.args(BANDIT_ARGUMENTS).args(files);
        // 1 means that there are findings.
        let answer = tool::run_tool(&mut command, &[0, 1], deadline)?;
        for issue in serde_json::from_slice::<BanditOutput>(&answer)?.results {
            if let Some(path) = targets.original_path(&issue.filename) {
                findings.entry(path.clone()).or_default().push(issue.into());
            }
        }
    }
    let scanner = ScannerInfo::Bandit { version };
    Ok(ScanResults { scanner, findings, lints: None, warning: None })
}

impl From<BanditIssue> for StaticFinding {
    fn from(issue: BanditIssue) -> Self {
        Self {
            rule: issue.test_id,
            severity: match issue.severity {
                BanditRank::Undefined | BanditRank::Low => FindingSeverity::Low,
                BanditRank::Medium => FindingSeverity::Medium,
                BanditRank::High => FindingSeverity::High,
            },
            confidence: match issue.confidence {
                BanditRank::Undefined | BanditRank::Low => FindingConfidence::Low,
                BanditRank::Medium => FindingConfidence::Medium,
                BanditRank::High => FindingConfidence::High,
            },
            line: issue.line_number,
            message: issue.text,
        }
    }
}
