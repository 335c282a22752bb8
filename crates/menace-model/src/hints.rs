//! What the source reveals about a section beyond its signature: how its parameters are used, what
//! they are compared with, what callers pass.
//!
//! `menace-source` collects hints, `menace-scenario` makes inputs from them.

use serde::{Deserialize, Serialize};

/// The hints of one section.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SectionHints {
    /// In the order of the section's parameters.
    pub params: Vec<ParamHints>,
    pub literals: SourceLiterals,
    /// Whole calls found in the repository and its tests, most frequent first.
    pub call_sites: Vec<CallSite>,
    /// Calls that tests expect to fail (`with pytest.raises(…)`), most frequent first.
    pub failing_call_sites: Vec<CallSite>,
    /// Dotted names of exceptions that it raises explicitly.
    pub raises: Vec<String>,
    /// The functions it calls, as written: `eval`, `subprocess.run`, `.execute` of an unnamed
    /// object.
    pub callees: Vec<String>,
    /// Lines on which its statements begin, in ascending order.
    pub lines: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ParamHints {
    pub name: String,
    /// Its uses in the body, each only once.
    pub uses: Vec<ParamUse>,
    /// Its type according to the docstring, as written there.
    pub documented_type: Option<String>,
    /// Literals that callers pass for it, most frequent first, as in [`CallSite`]. Some come from
    /// calls with other arguments that are no literals.
    pub passed_literals: Vec<String>,
}

/// A use of a parameter, or of a variable that has its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamUse {
    /// `x.name`, read.
    Attribute(String),
    /// `x.name(…)` with this number of arguments.
    Method {
        name: String,
        arguments: u32,
    },
    /// `x.name("text", …)`: the first argument is a literal, given as Python source. Recorded
    /// beside [`ParamUse::Method`] for the same call.
    MethodWith {
        name: String,
        argument: String,
    },
    /// `x.name = …`, `del x.name`.
    SetAttribute(String),
    /// `x[…] = …`, `del x[…]`: the key as Python source, if it is a literal.
    SetItem(Option<String>),
    /// `x["key"]`, `x.get("key")`, `"key" in x`.
    Key(String),
    /// `x[0]`.
    Index(i64),
    /// `x[a:b]`.
    Slice,
    /// `x[anything else]`.
    Subscript,
    /// `y in x`, where y is no text.
    Contains,
    /// `for … in x`, `*x`, `list(x)`.
    Iterated,
    /// `async for … in x`.
    IteratedAsync,
    /// `for a, b in x`: each item is unpacked into this number of values.
    IteratedTuples(u32),
    /// `a, b = x`: unpacked into this number of values.
    Unpacked(u32),
    /// `**x`.
    Mapping,
    /// `x(…)` with this number of arguments.
    Called {
        arguments: u32,
    },
    Awaited,
    /// `with x:`.
    Entered,
    /// `async with x:`.
    EnteredAsync,
    /// `+`, `-`, `*` … with a number, or with an unknown operand.
    Arithmetic,
    /// `%` or `+` with text, `x in "text"`, an item for `", ".join(…)`.
    Text,
    /// Like [`ParamUse::Text`], with bytes.
    Bytes,
    /// `x / "text"`, as with paths.
    PathJoined,
    /// Searched for or matched against this regular expression.
    Matched(String),
    /// `<`, `>` … with a literal, as Python source.
    Ordered(Option<String>),
    /// `==`, `!=`, `in (…)` with a literal, as Python source.
    Equals(String),
    /// `isinstance(x, …)`: the resolved dotted names.
    IsInstance(Vec<String>),
    /// `len(x)`.
    Length,
    /// `x is None`, `if x`.
    MaybeNone,
    /// Passed to a function: its dotted name, and the position or keyword of the argument; `*` or
    /// `**` if it is unpacked. A method of an unknown object is named as written: `cursor.execute`.
    PassedTo {
        function: String,
        argument: String,
    },
    /// A use of a part of it, at most three levels deep: `x.name.strip()`, `x["a"] + 1`, `for item
    /// in x: item()`. Recorded beside the use that leads to the part.
    Inside {
        part: ParamPart,
        inner_use: Box<ParamUse>,
    },
}

/// The part of a parameter that a use concerns.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamPart {
    /// `x.name`.
    Attribute(String),
    /// The result of `x.name(…)`.
    Method(String),
    /// `x["key"]`, `x.get("key")`.
    Key(String),
    /// `x[0]`, and the target at that position of `a, b = x`.
    Index(i64),
    /// `x[anything else]`.
    Element,
    /// An item of `for … in x`.
    Item,
    /// The result of `x(…)`.
    Returned,
    /// `len(x)`.
    Length,
    /// The result of `await x`.
    Awaited,
    /// The value of `with x as …`.
    Entered,
}

/// Constants in the body that inputs can be made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SourceLiterals {
    pub strings: Vec<String>,
    pub bytes: Vec<Vec<u8>>,
    /// Integers and floats, as Python source.
    pub numbers: Vec<String>,
    /// Patterns that are passed to `re`.
    pub patterns: Vec<String>,
    /// The patterns of the section with what is known about their use, those made of several
    /// constants included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pattern_uses: Vec<PatternUse>,
}

/// A regular expression of the source, and its use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PatternUse {
    /// Of a pattern of bytes, one character per byte.
    pub pattern: String,
    /// As Python's `re` numbers them.
    pub flags: u32,
    pub is_bytes: bool,
    pub method: PatternMethod,
}

/// The method or function of `re` that uses a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternMethod {
    Match,
    Fullmatch,
    Search,
    Findall,
    Finditer,
    Split,
    Sub,
    Subn,
    /// A compiled pattern whose use was not found.
    Unknown,
}

impl PatternMethod {
    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "match" => Self::Match,
            "fullmatch" => Self::Fullmatch,
            "search" => Self::Search,
            "findall" => Self::Findall,
            "finditer" => Self::Finditer,
            "split" => Self::Split,
            "sub" => Self::Sub,
            "subn" => Self::Subn,
            _ => return None,
        })
    }

    /// May a match begin after the start of the text?
    pub fn searches(self) -> bool {
        !matches!(self, Self::Match | Self::Fullmatch)
    }
}

/// A call of the section whose arguments are literals, as Python source.
///
/// That includes containers of literals, arithmetic with them (`('ab' * 100)`), dotted names
/// (`shop.models.Genre.NOVEL`), and calls of classes and of the repository's functions
/// (`decimal.Decimal('1.5')`, `shop.testing.make_order(3)`). Strings are in single quotes, names
/// are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallSite {
    pub args: Vec<String>,
    pub kwargs: Vec<(String, String)>,
    /// For a method whose instance is made at the call site: the call that makes it,
    /// `shop.parser.Parser('x', strict=True)`.
    pub receiver: Option<String>,
}
