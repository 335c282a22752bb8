//! What is known about one module of a repository.

use serde::{Deserialize, Serialize};

use crate::{Finding, Import, Lint, Numbers, Section};

/// Why a file could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleError {
    pub file: String,
    /// One-based; none when the reason has no place in the text.
    pub line: Option<u32>,
    pub reason: String,
}

/// One `.py` file, understood as far as possible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// Path below the repository, with `/` on every system.
    pub path: String,
    /// Dotted name under which Python would import it.
    pub name: String,
    pub sections: Vec<Section>,
    pub imports: Vec<Import>,
    /// Paths of the modules that import this one at run time.
    pub imported_by: Vec<String>,
    pub numbers: Numbers,
    /// Dangerous constructs.
    pub findings: Vec<Finding>,
    /// Mistakes and doubtful style.
    pub lints: Vec<Lint>,
    pub error: Option<ModuleError>,
}

/// Sums over a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    pub modules: usize,
    pub sections: usize,
    pub errors: usize,
    pub findings: usize,
    pub sloc: u64,
}

impl Totals {
    /// Sums over any choice of modules.
    pub fn of<'m>(modules: impl IntoIterator<Item = &'m ModuleReport>) -> Self {
        let mut totals = Self::default();
        for module in modules {
            totals.modules += 1;
            totals.sections += module.sections.len();
            totals.errors += usize::from(module.error.is_some());
            totals.findings += module.findings.len();
            totals.sloc += u64::from(module.numbers.lines.sloc);
        }
        totals
    }
}
