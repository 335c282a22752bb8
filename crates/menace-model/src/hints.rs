//! What the source tells about a section beyond its signature: how its parameters are used, what
//! they are compared with, what callers pass.
//!
//! `menace-source` finds it, `menace-scenario` makes inputs from it.

use serde::{Deserialize, Serialize};

/// Of one section.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SectionHints {
    /// In the order of the section's parameters.
    pub params: Vec<ParamHints>,
    pub literals: SourceLiterals,
    /// Whole calls found in the repository and its tests, most frequent first.
    pub call_sites: Vec<CallSite>,
    /// The same for calls that tests expect to fail (`with pytest.raises(…)`).
    pub failing_call_sites: Vec<CallSite>,
    /// Dotted names of what it raises explicitly.
    pub raises: Vec<String>,
    /// What it calls, as written: `eval`, `subprocess.run`, `.execute` of an unnamed object.
    pub callees: Vec<String>,
    /// Lines on which a statement of it begins, in ascending order.
    pub lines: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ParamHints {
    pub name: String,
    /// What the body does with it, each only once.
    pub uses: Vec<ParamUse>,
    /// What the docstring says its type is, as written there.
    pub documented_type: Option<String>,
    /// Literals that callers pass for it, most frequent first, as in [`CallSite`]. Not all of
    /// them come from whole calls.
    pub passed_literals: Vec<String>,
}

/// Something that is done with a parameter, or with a name that stands for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamUse {
    /// `x.name`, read.
    Attribute(String),
    /// `x.name(…)` with so many arguments.
    Method {
        name: String,
        arguments: u32,
    },
    /// `x.name("text", …)`: the first argument is a literal, as Python source. Comes with a
    /// [`ParamUse::Method`] for the same call.
    MethodWith {
        name: String,
        argument: String,
    },
    /// `x.name = …`, `del x.name`.
    SetAttribute(String),
    /// `x[…] = …`, `del x[…]`: the key as Python source, when it is a literal.
    SetItem(Option<String>),
    /// `x["key"]`, `x.get("key")`, `"key" in x`.
    Key(String),
    /// `x[0]`.
    Index(i64),
    /// `x[a:b]`.
    Slice,
    /// `x[anything else]`.
    Subscript,
    /// `y in x`, where y is not text.
    Contains,
    /// `for … in x`, `*x`, `list(x)`.
    Iterated,
    /// `async for … in x`.
    IteratedAsync,
    /// `for a, b in x`: items come apart into so many.
    IteratedTuples(u32),
    /// `a, b = x`: comes apart into so many.
    Unpacked(u32),
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
    /// `%` or `+` with text, `x in "text"`, an item for `", ".join(…)`.
    Text,
    /// As [`ParamUse::Text`], with bytes.
    Bytes,
    /// `x / "text"`, as paths can.
    PathJoined,
    /// Searched for, or compared with, a regular expression.
    Matched(String),
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
    /// Passed to a function: dotted name and position or keyword; `*` or `**` for one that is
    /// spread out. A method of something unknown is named as it is written: `cursor.execute`.
    PassedTo {
        function: String,
        argument: String,
    },
    /// Done with a part of it, at most three levels down: `x.name.strip()`, `x["a"] + 1`,
    /// `for item in x: item()`. Comes with the use that leads to the part.
    Inside {
        part: ParamPart,
        inner_use: Box<ParamUse>,
    },
}

/// What of a parameter something is done with.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamPart {
    /// `x.name`.
    Attribute(String),
    /// What `x.name(…)` returns.
    Method(String),
    /// `x["key"]`, `x.get("key")`.
    Key(String),
    /// `x[0]`, and what stands in that place of `a, b = x`.
    Index(i64),
    /// `x[anything else]`.
    Element,
    /// What `for … in x` gives, one after the other.
    Item,
    /// What `x(…)` returns.
    Returned,
    /// `len(x)`.
    Length,
    /// What `await x` gives.
    Awaited,
    /// What `with x as …` gives.
    Entered,
}

/// Constants of the body that an input could be made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SourceLiterals {
    pub strings: Vec<String>,
    pub bytes: Vec<Vec<u8>>,
    /// Integers and floats, as Python source.
    pub numbers: Vec<String>,
    /// Patterns given to `re`.
    pub patterns: Vec<String>,
}

/// A call of the section whose arguments are literals, as Python source.
///
/// Literals are plain ones, containers of them, arithmetic with them (`('ab' * 100)`), dotted names
/// (`shop.models.Genre.NOVEL`), and calls of classes and of the repository's functions
/// (`decimal.Decimal('1.5')`, `shop.testing.make_order(3)`); strings are in single quotes, names
/// absolute.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSite {
    pub args: Vec<String>,
    pub kwargs: Vec<(String, String)>,
    /// For a method whose instance is made in the same place: the call that makes it,
    /// `shop.parser.Parser('x', strict=True)`.
    pub receiver: Option<String>,
}
