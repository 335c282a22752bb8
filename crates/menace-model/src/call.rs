//! One call of one section: what is called, with what, under which limits.

use serde::{Deserialize, Serialize};

use crate::{Conditions, Fixtures, Intent, Limits, Value};

/// How the harness gets at the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Function,
    Method,
    ClassMethod,
    StaticMethod,
    Property,
    /// The top level of the module: importing it is the call.
    Module,
}

impl How {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::ClassMethod => "class_method",
            Self::StaticMethod => "static_method",
            Self::Property => "property",
            Self::Module => "module",
        }
    }
}

/// A Python module and the file, relative to the repository, that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModuleRef {
    /// Dotted name.
    pub name: String,
    /// Where the file is; needed when Python could not find it under its name.
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    pub module: ModuleRef,
    /// Empty for the top level of a module.
    pub qualname: String,
    pub how: How,
}

/// Everything that decides what a call does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub target: Target,
    /// How to get the instance that a method or property needs.
    pub receiver: Option<Value>,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
    pub seed: u64,
    pub limits: Limits,
    pub conditions: Conditions,
    pub fixtures: Fixtures,
    pub intent: Intent,
    /// Lines and branches that were reached are wanted, at the price of a slower call.
    pub coverage: bool,
}

impl Call {
    /// Without arguments, under the usual limits, in peace.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            receiver: None,
            args: Vec::new(),
            kwargs: Vec::new(),
            seed: 0,
            limits: Limits::default(),
            conditions: Conditions::default(),
            fixtures: Fixtures::default(),
            intent: Intent::default(),
            coverage: false,
        }
    }
}
