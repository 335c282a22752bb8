//! One import of a module, as written and as resolved.

use serde::{Deserialize, Serialize};

/// The construct that imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
    /// `import a.b` or `from a import b`.
    Statement,
    /// `importlib.import_module("a.b")`.
    ImportModule,
    /// `__import__("a.b")`.
    DunderImport,
}

/// One imported module, with the circumstances under which it is imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleImport {
    /// Absolute dotted name of the module that is imported; relative imports are resolved.
    pub module: String,
    /// Path of that module when it belongs to the repository.
    pub path: Option<String>,
    /// The package whose `__init__` passes the imported name on, for a re-export.
    pub reexported_by: Option<String>,
    pub line: u32,
    pub kind: ImportKind,
    /// Below `if`, `try`, `match` or a loop: it may not happen.
    pub conditional: bool,
    /// Below `if TYPE_CHECKING:`: it never happens at run time.
    pub type_checking: bool,
    /// Inside a function: it happens when that is called.
    pub deferred: bool,
}
