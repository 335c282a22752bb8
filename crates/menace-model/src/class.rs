//! The classes of a repository, as far as it takes to make instances of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ConstructionPlan, SignatureParam, TypeExpr};

/// By dotted name, as annotations have it after resolution.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClassIndex(pub BTreeMap<String, ClassInfo>);

impl ClassIndex {
    pub fn get(&self, dotted: &str) -> Option<&ClassInfo> {
        self.0.get(dotted)
    }
}

/// Names of the repository that are no classes but stand for a type, by dotted name: what a
/// `NewType` is made of, and the bound or the choices of a `TypeVar` (`typing.Any` without one).
///
/// Plain aliases (`Pair = tuple[int, int]`) are resolved wherever they are used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NamedTypeIndex(pub BTreeMap<String, TypeExpr>);

impl NamedTypeIndex {
    pub fn get(&self, dotted: &str) -> Option<&TypeExpr> {
        self.0.get(dotted)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassInfo {
    /// Module and qualified name, as a value refers to it.
    pub module: String,
    pub qualname: String,
    pub kind: ClassKind,
    /// Dotted names, resolved where that is possible.
    pub bases: Vec<String>,
    /// Of a typed dictionary: its keys; of a data class or named tuple: what its constructor takes;
    /// of a protocol: its attributes.
    pub fields: Vec<ClassField>,
    /// Of an enumeration.
    pub members: Vec<String>,
    /// Public ones and abstract ones, inherited ones of the repository included.
    pub methods: Vec<ClassMethod>,
    /// What a stub of an abstract class or protocol has to have.
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
    /// Without it there would be no instance.
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
