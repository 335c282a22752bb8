//! The analysis of one module of a repository.

use serde::{Deserialize, Serialize};

use crate::{CodeMetrics, LintWarning, ModuleImport, Section, StaticFinding};

/// Whether a file has tests or only test helpers, judged by its name and directories.
pub fn is_test_path(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    name.starts_with("test_")
        || name.ends_with("_test.py")
        || name == "conftest.py"
        || directories.split('/').any(|directory| directory == "tests" || directory == "test")
}

/// Why a file could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleError {
    pub file: String,
    /// One-based; `None` when the reason has no position in the text.
    pub line: Option<u32>,
    pub reason: String,
}

/// The analysis of one `.py` file, as far as it could be parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnalyzedModule {
    /// Path below the repository, with `/` on every system.
    pub path: String,
    /// Dotted name under which Python would import it.
    pub name: String,
    pub sections: Vec<Section>,
    pub imports: Vec<ModuleImport>,
    /// Paths of the modules that import this one at run time.
    pub imported_by: Vec<String>,
    #[serde(rename = "numbers")]
    pub code_metrics: CodeMetrics,
    /// Dangerous constructs.
    pub findings: Vec<StaticFinding>,
    /// Mistakes and doubtful style.
    pub lints: Vec<LintWarning>,
    pub error: Option<ModuleError>,
}

/// Totals over a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RepositoryTotals {
    pub modules: usize,
    pub sections: usize,
    pub errors: usize,
    pub findings: usize,
    pub sloc: u64,
}

impl RepositoryTotals {
    /// Totals over these modules.
    pub fn sum_modules<'m>(modules: impl IntoIterator<Item = &'m AnalyzedModule>) -> Self {
        let mut totals = Self::default();
        for module in modules {
            totals.modules += 1;
            totals.sections += module.sections.len();
            totals.errors += usize::from(module.error.is_some());
            totals.findings += module.findings.len();
            totals.sloc += u64::from(module.code_metrics.lines.sloc);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_path() {
        for path in ["tests/x.py", "a/test/b.py", "a/test_b.py", "b_test.py", "shop/conftest.py"] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["shop/testing.py", "latest/cart.py", "contest.py", "tests.py"] {
            assert!(!is_test_path(path), "{path}");
        }
    }
}
