//! The facts of one file, which need no other file.
//!
//! Facts depend on path and content alone, and can therefore be cached. Names in them are
//! [references](mod@reference) until `link` knows every module.

mod aliases;
mod annotation;
mod class;
mod extract;
mod imports;
mod reference;
mod scope;
mod signature;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use menace_model::{CodeMetrics, LintWarning, Section, StaticFinding, TypeExpr};

pub(crate) use annotation::convert_annotation;
pub(crate) use class::{
    BaseFacts, ClassFacts, FieldFacts, is_partial_typed_dict, named_tuple_params,
};
pub(crate) use extract::extract;
pub(crate) use imports::UnlinkedImport;
pub(crate) use reference::{NameReference, is_typing};
pub(crate) use scope::{NameScope, NameScopeKind, ScopeStack, root_name};
pub(crate) use signature::section_kind;

/// Everything that follows from one file alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub sections: Vec<Section>,
    pub classes: Vec<ClassFacts>,
    pub imports: Vec<UnlinkedImport>,
    /// Names of the top level that come from elsewhere, as [references](mod@reference).
    pub imported_names: FxHashMap<String, String>,
    /// Modules of `from m import *`, as written, leading dots included.
    pub star_imports: Vec<String>,
    /// Names that the top level defines itself: functions, classes, variables.
    pub defined_names: Vec<String>,
    /// The names in `__all__`, if it is a plain list.
    pub exports: Option<Vec<String>>,
    /// Top-level aliases of types: `Pair = tuple[int, int]`.
    pub aliases: FxHashMap<String, TypeExpr>,
    #[serde(rename = "numbers")]
    pub code_metrics: CodeMetrics,
    pub findings: Vec<StaticFinding>,
    pub lints: Vec<LintWarning>,
    pub error: Option<SourceFileError>,
}

/// Why a file could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceFileError {
    pub line: Option<u32>,
    pub reason: String,
}
