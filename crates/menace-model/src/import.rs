//! One import of a module, as written and as resolved.

use serde::{Deserialize, Serialize};

/// The form of an import.
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

/// One imported module, and when the import happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleImport {
    /// Absolute dotted name of the module that is imported; relative imports are resolved.
    pub module: String,
    /// Path of that module when it belongs to the repository.
    pub path: Option<String>,
    /// The package whose `__init__` re-exports the imported name.
    pub reexported_by: Option<String>,
    pub line: u32,
    pub kind: ImportKind,
    /// Below `if`, `try`, `match` or a loop: the import may not happen.
    pub conditional: bool,
    /// Below `if TYPE_CHECKING:`: the import never happens at run time.
    pub type_checking: bool,
    /// Inside a function: the import happens when the function is called.
    pub deferred: bool,
}
