//! The classes of a repository, with the information that is needed to make instances.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ConstructionPlan, SignatureParam, TypeExpr};

/// Classes by dotted name, as in resolved annotations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClassIndex(pub BTreeMap<String, ClassInfo>);

impl ClassIndex {
    pub fn get(&self, dotted: &str) -> Option<&ClassInfo> {
        self.0.get(dotted)
    }
}

/// Types that names of the repository stand for, by dotted name: the base of a `NewType`, and the
/// bound or the constraints of a `TypeVar` (`typing.Any` without one).
///
/// Plain aliases (`Pair = tuple[int, int]`) are resolved where they are used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NamedTypeIndex(pub BTreeMap<String, TypeExpr>);

impl NamedTypeIndex {
    pub fn get(&self, dotted: &str) -> Option<&TypeExpr> {
        self.0.get(dotted)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassInfo {
    /// Module and qualified name, which form a reference.
    pub module: String,
    pub qualname: String,
    pub kind: ClassKind,
    /// Dotted names, resolved if possible.
    pub bases: Vec<String>,
    /// For a typed dictionary its keys, for a data class or named tuple the parameters of its
    /// constructor, for a protocol its attributes.
    pub fields: Vec<ClassField>,
    /// The members of an enumeration.
    pub members: Vec<String>,
    /// Public and abstract methods, including inherited ones that the repository defines.
    pub methods: Vec<ClassMethod>,
    /// The methods that a stub of an abstract class or protocol must have.
    pub abstract_methods: Vec<String>,
    pub construction: Arc<ConstructionPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassKind {
    Plain,
    DataClass,
    NamedTuple,
    TypedDict,
    Enum,
    Protocol,
    Abstract,
    Exception,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassField {
    pub name: String,
    pub annotation: Option<TypeExpr>,
    /// Whether the constructor requires it.
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassMethod {
    pub name: String,
    pub is_async: bool,
    pub is_property: bool,
    pub params: Vec<SignatureParam>,
    pub returns: Option<TypeExpr>,
}
