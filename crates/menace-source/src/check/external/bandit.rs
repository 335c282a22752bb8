//! Runs Bandit, whose numbers and ranks are taken as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use menace_model::{Confidence, Finding, Severity};
use serde::Deserialize;

use super::tool::{self, Deadline, Failure};
use super::{Scan, Scanner, Targets};

/// Bandit leaves out files whose path contains an excluded text, by default `.git` and others. The
/// caller has chosen the files, so exclude a text that no full path contains.
const ARGUMENTS: [&str; 6] = ["--quiet", "--format", "json", "--exclude", "//none//", "--"];

#[derive(Debug, Deserialize)]
struct Answer {
    results: Vec<Issue>,
}

#[derive(Debug, Deserialize)]
struct Issue {
    filename: String,
    test_id: String,
    #[serde(rename = "issue_severity")]
    severity: Rank,
    #[serde(rename = "issue_confidence")]
    confidence: Rank,
    #[serde(rename = "issue_text")]
    text: String,
    line_number: u32,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Rank {
    Undefined,
    Low,
    Medium,
    High,
}

pub(super) fn scan(
    executable: &Path,
    targets: &Targets,
    deadline: Deadline,
) -> Result<Scan, Failure> {
    let version = tool::version(executable, "bandit", deadline)?;
    let mut findings: BTreeMap<PathBuf, Vec<Finding>> = BTreeMap::new();
    for files in tool::chunks(&targets.full) {
        let mut command = tool::command(executable);
        command.args(ARGUMENTS).args(files);
        // 1 means that there are findings.
        let answer = tool::run(&mut command, &[0, 1], deadline)?;
        for issue in serde_json::from_slice::<Answer>(&answer)?.results {
            if let Some(path) = targets.given(&issue.filename) {
                findings.entry(path.clone()).or_default().push(issue.into());
            }
        }
    }
    let scanner = Scanner::Bandit { version };
    Ok(Scan { scanner, findings, lints: None, warning: None })
}

impl From<Issue> for Finding {
    fn from(issue: Issue) -> Self {
        Self {
            rule: issue.test_id,
            severity: match issue.severity {
                Rank::Undefined | Rank::Low => Severity::Low,
                Rank::Medium => Severity::Medium,
                Rank::High => Severity::High,
            },
            confidence: match issue.confidence {
                Rank::Undefined | Rank::Low => Confidence::Low,
                Rank::Medium => Confidence::Medium,
                Rank::High => Confidence::High,
            },
            line: issue.line_number,
            message: issue.text,
        }
    }
}
