//! How to get an instance of a class: which constructors, in which order.

use serde::{Deserialize, Serialize};

use crate::{SectionId, SignatureParam};

/// Why no instance can be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum ConstructionBlocker {
    /// Abstract, and the repository has no concrete subclass.
    Abstract { methods: Vec<String> },
    /// A protocol, and nothing in the repository names it as a base.
    Protocol,
    /// Defined inside a function; only a call of that one can reach it.
    Local { function: SectionId },
    /// Building it needs, in the end, an instance of itself.
    Recursive,
    /// It takes more constructors, or a longer chain of them, than a plan may have.
    TooDeep,
}

/// One constructor call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstructorCall {
    /// Dotted name of the class to call.
    pub class: String,
    /// The section behind the call; none when Python or a library provides it.
    pub constructor: Option<SectionId>,
    /// Is this the signature? `false` means that the one that counts is, or may be, somewhere
    /// outside of the repository: that of an unknown base. `params` is then at best a guess, and
    /// an empty list does not say that the class takes none.
    pub signature_known: bool,
    /// What the caller has to supply.
    pub params: Vec<SignatureParam>,
    /// Members to choose from instead of calling, for an enumeration.
    pub members: Vec<String>,
}

/// The constructor calls that lead to an instance, innermost first; the last one builds it.
///
/// Only parameters without a default and with the type of a class of the repository lead to
/// further steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstructionPlan {
    pub steps: Vec<ConstructorCall>,
    pub blocker: Option<ConstructionBlocker>,
}
