//! What a static check found: a dangerous construct or a lint.

use serde::{Deserialize, Serialize};

/// How severe the problem is, if the finding is right. The names are Bandit's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    Low,
    Medium,
    High,
}

/// How certain the check is that the finding is right. The names are Bandit's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingConfidence {
    Low,
    Medium,
    High,
}

/// One construct that should be reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaticFinding {
    /// Bandit's id of the rule (`B602`), whichever scanner reported it, or `M9xx` for a construct
    /// without a rule in Bandit.
    pub rule: String,
    pub severity: FindingSeverity,
    pub confidence: FindingConfidence,
    /// One-based line of the construct.
    pub line: u32,
    pub message: String,
}

impl StaticFinding {
    /// Whether Bandit has a rule for this. Only these count towards `security_score`, so that the
    /// score does not depend on which scanner was installed.
    pub fn is_bandit_rule(&self) -> bool {
        self.rule.starts_with('B')
    }
}

/// One place where a linter would request a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintWarning {
    /// The code as Ruff and pyflakes number it (`F401`).
    pub code: String,
    /// One-based line of the construct.
    pub line: u32,
    pub message: String,
}
