//! A section: the unit that Menace calls.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ConstructionPlan, TypeExpr};

/// `pkg/mod.py::Class.method`; stable as long as path and qualified name are.
///
/// The top level of a module is `pkg/mod.py::<module>`. Further definitions of the same name get
/// `#2`, `#3` … in the order of the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SectionId(String);

impl SectionId {
    pub const TOP_LEVEL: &'static str = "<module>";

    pub fn new(path: &str, qualname: &str) -> Self {
        Self(format!("{path}::{qualname}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn path(&self) -> &str {
        self.0.rsplit_once("::").map_or("", |(path, _)| path)
    }

    pub fn qualname(&self) -> &str {
        // No qualified name contains a colon, but a path may.
        self.0.rsplit_once(':').map_or(&*self.0, |(_, qualname)| qualname)
    }
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a section is reached, which determines how it can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionKind {
    Function,
    Method,
    ClassMethod,
    StaticMethod,
    Property,
    /// A function defined inside another one, which only a call of that one can reach.
    Nested,
    /// The code that runs when the module is imported.
    Module,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamKind {
    PositionalOnly,
    PositionalOrKeyword,
    VarPositional,
    KeywordOnly,
    VarKeyword,
}

/// One parameter that a caller supplies; the receiver (`self`, `cls`) is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignatureParam {
    pub name: String,
    pub kind: ParamKind,
    /// The annotation as written.
    pub annotation: Option<String>,
    /// The annotation with every name resolved.
    pub resolved: Option<TypeExpr>,
    /// The default as written.
    pub default: Option<String>,
}

/// A call from a section into another module, through an imported name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallEdge {
    /// Dotted name of the called object, after following re-exports.
    pub target: String,
    /// Path of the module that defines it, if that belongs to the repository.
    pub path: Option<String>,
    pub line: u32,
}

/// A piece of code that can be called on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    pub id: SectionId,
    pub kind: SectionKind,
    pub is_async: bool,
    pub is_generator: bool,
    /// One-based line of `def`, also for decorated functions.
    pub line: u32,
    /// One-based first line, decorators included.
    pub start_line: u32,
    pub end_line: u32,
    /// Decorators as resolved dotted names (`functools.cache`), else as written.
    pub decorators: Vec<String>,
    pub docstring: Option<String>,
    pub params: Vec<SignatureParam>,
    pub returns: Option<TypeExpr>,
    /// Cyclomatic complexity, equal to radon's.
    pub complexity: u32,
    /// Calls into other modules.
    pub calls: Vec<CallEdge>,
    /// How to make the instance that a method needs; `None` for other sections.
    pub construction: Option<Arc<ConstructionPlan>>,
}
