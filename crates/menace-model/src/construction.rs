//! How to make an instance of a class: the constructor calls, in their order.

use serde::{Deserialize, Serialize};

use crate::{SectionId, SignatureParam};

/// Why no instance can be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum ConstructionBlocker {
    /// It is abstract, and the repository has no concrete subclass.
    Abstract { methods: Vec<String> },
    /// It is a protocol, and no class of the repository has it as a base.
    Protocol,
    /// It is defined inside a function, and only a call of that function can reach it.
    Local { function: SectionId },
    /// Making it needs an instance of the class itself.
    Recursive,
    /// The plan would have too many constructor calls, or too long a chain of them.
    TooDeep,
}

/// One constructor call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstructorCall {
    /// Dotted name of the class to call.
    pub class: String,
    /// The section that the call runs; `None` when Python or a library defines it.
    pub constructor: Option<SectionId>,
    /// Whether `params` is the signature. `false` means that an unknown base class outside of the
    /// repository may define the constructor: `params` is then a guess at best, and may be empty
    /// although there are parameters.
    pub signature_known: bool,
    /// The parameters that the caller has to supply.
    pub params: Vec<SignatureParam>,
    /// For an enumeration: the members to choose from, instead of calling.
    pub members: Vec<String>,
}

/// The constructor calls that lead to an instance, innermost first; the last one makes it.
///
/// Only parameters without a default whose type is a class of the repository lead to further steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstructionPlan {
    pub steps: Vec<ConstructorCall>,
    pub blocker: Option<ConstructionBlocker>,
}
