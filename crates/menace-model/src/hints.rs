//! What the source tells about a section beyond its signature: how its parameters are used, what
//! they are compared with, what callers pass.
//!
//! `menace-source` finds it, `menace-scenario` makes inputs from it.

use serde::{Deserialize, Serialize};

/// Of one section.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Hints {
    /// In the order of the section's parameters.
    pub params: Vec<ParamHints>,
    pub literals: Literals,
    /// Whole calls found in the repository and its tests, most frequent first.
    pub sites: Vec<CallSite>,
    /// Dotted names of what it raises explicitly.
    pub raises: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ParamHints {
    pub name: String,
    /// What the body does with it, each only once.
    pub uses: Vec<Use>,
    /// What the docstring says its type is, as written there.
    pub documented: Option<String>,
}

/// Something that is done with a parameter, or with a name that stands for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// `x.name`, read.
    Attribute(String),
    /// `x.name(…)` with so many arguments.
    Method {
        name: String,
        arguments: u32,
    },
    /// `x["key"]`, `x.get("key")`, `"key" in x`.
    Key(String),
    /// `x[0]`.
    Index(i64),
    /// `x[a:b]`.
    Slice,
    /// `x[anything else]`.
    Subscript,
    /// `for … in x`, `*x`, `list(x)`.
    Iterated,
    /// `for a, b in x`: items come apart into so many.
    IteratedTuples(u32),
    /// `**x`.
    Mapping,
    /// `x(…)` with so many arguments.
    Called {
        arguments: u32,
    },
    Awaited,
    /// `with x:`.
    Entered,
    /// `async with x:`.
    EnteredAsync,
    /// `+`, `-`, `*` … with a number, or with something unknown.
    Arithmetic,
    /// `%` or `+` with text.
    Text,
    /// `<`, `>` … with a literal, as Python source.
    Ordered(Option<String>),
    /// `==`, `!=`, `in (…)` with a literal, as Python source.
    Equals(String),
    /// `isinstance(x, …)`: resolved dotted names.
    IsInstance(Vec<String>),
    /// `len(x)`.
    Length,
    /// `x is None`, `if x`.
    MaybeNone,
    /// Passed to a function: dotted name and position or keyword.
    PassedTo {
        function: String,
        argument: String,
    },
}

/// Constants of the body that an input could be made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Literals {
    pub strings: Vec<String>,
    pub bytes: Vec<Vec<u8>>,
    /// Integers and floats, as Python source.
    pub numbers: Vec<String>,
    /// Patterns given to `re`.
    pub patterns: Vec<String>,
}

/// A call of the section whose arguments are literals, as Python source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSite {
    pub args: Vec<String>,
    pub kwargs: Vec<(String, String)>,
    /// Of the constructor, for a method whose instance is made in the same place.
    pub receiver: Option<String>,
}
