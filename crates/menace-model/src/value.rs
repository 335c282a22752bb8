//! A Python value as data, for arguments of calls; nothing has to be pickled.
//!
//! [`json`] reads and writes the notation for users, [`python`] prints source that rebuilds the
//! value. `menace-sandbox` sends values to guests, `menace-scenario` generates them. A description
//! may be invalid in Python (a set of lists), which the harness finds out when it builds the value.

mod equality;
mod error;
mod integer;
mod json;
mod labels;
mod python;
mod reference;
mod text;

#[cfg(test)]
mod tests;

pub use error::ValueError;
pub use integer::PyBigInt;
pub use json::decode_base64;
pub use python::{PythonParts, PythonSource};
pub use reference::{PyReference, PyReferenceError};
pub use text::PyString;

/// A value, or, for types without a literal, how to make it.
///
/// Two are equal when their descriptions are: NaN equals NaN, and `0.0` does not equal `-0.0`.
#[derive(Debug, Clone)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    /// An integer that does not fit into [`Value::Int`]; made by [`Value::parse_integer`].
    BigInt(PyBigInt),
    Float(f64),
    Complex {
        re: f64,
        im: f64,
    },
    Str(PyString),
    Bytes(Vec<u8>),
    ByteArray(Vec<u8>),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Set(Vec<Value>),
    FrozenSet(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    Ellipsis,
    /// The object that the reference resolves to.
    Name(PyReference),
    /// The result of calling the referenced object, mostly a class.
    New {
        class: PyReference,
        args: Vec<Value>,
        kwargs: Vec<(String, Value)>,
    },
    /// The result of calling a method of a value.
    Method {
        on: Box<Value>,
        name: String,
        args: Vec<Value>,
        kwargs: Vec<(String, Value)>,
    },
    /// `value * times`.
    Repeat {
        value: Box<Value>,
        times: u64,
    },
    /// The value, with a label for [`Value::SharedRef`]. Lists, dicts and sets can refer to their
    /// own label, because they exist before they are filled.
    Shared {
        label: u32,
        value: Box<Value>,
    },
    /// The object with that label, not a copy.
    SharedRef(u32),
    /// A callable that accepts any arguments and returns the value, always the same object.
    Returns(Box<Value>),
    /// A callable that accepts any arguments and raises the value, always the same exception.
    Raises(Box<Value>),
    /// A generator function that accepts any arguments and yields these values.
    Yields(Vec<Value>),
    /// A callable that returns the positional argument with this index; as a method of a stub,
    /// index `0` is the stub itself.
    Argument(u32),
    /// The callable as a coroutine function; for [`Value::Yields`], as an asynchronous generator.
    Async(Box<Value>),
    /// An instance of a class that is made for it: a subclass of `bases` with these members.
    Stub {
        bases: Vec<PyReference>,
        /// Members of the class, so that callables among them are methods.
        members: Vec<(String, Value)>,
        /// Arguments of the constructor.
        args: Vec<Value>,
        kwargs: Vec<(String, Value)>,
    },
    /// The value, after calling these methods of it.
    After {
        value: Box<Value>,
        calls: Vec<MethodCall>,
    },
}

/// A method call on a value before it is used; its result is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MethodCall {
    pub name: String,
    pub args: Vec<Value>,
    pub kwargs: Vec<(String, Value)>,
}

impl Value {
    /// The deepest nesting of brackets in the JSON notation of a value.
    ///
    /// Parsers have limits of their own (`serde_json` stops at 128); this leaves room for what a
    /// value is embedded in.
    pub const MAX_DEPTH: usize = 100;

    /// The nesting of brackets in the JSON notation of this value.
    pub fn depth(&self) -> usize {
        // The receiver of a method is one level deeper, its arguments are two.
        if let Self::Method { on, args, kwargs, .. } = self {
            let given = args.iter().chain(kwargs.iter().map(|(_, value)| value));
            let given = given.map(|value| 1 + value.depth()).max().unwrap_or(0);
            return 1 + given.max(on.depth());
        }
        // Levels: the list of calls, the call, its arguments.
        if let Self::After { value, calls } = self {
            let given = calls.iter().map(|call| {
                let given = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
                3 + given.map(|value| 1 + value.depth()).max().unwrap_or_else(|| {
                    usize::from(!call.args.is_empty() || !call.kwargs.is_empty())
                })
            });
            return given.max().unwrap_or(2).max(1 + value.depth());
        }
        let mut deepest = 0;
        self.each_child(&mut |child| deepest = deepest.max(child.depth()));
        match self {
            Self::None | Self::Bool(_) | Self::Int(_) => 0,
            Self::Str(text) => text.as_str().map_or(2, |_| 0),
            Self::Float(number) => usize::from(!json::is_plain_number(*number)),
            // Levels: the tag, the list of pairs, the pair.
            Self::Dict(pairs) if json::plain_object_keys(pairs).is_none() => 3 + deepest,
            Self::Complex { .. } => 2,
            Self::Tuple(_)
            | Self::Set(_)
            | Self::FrozenSet(_)
            | Self::Yields(_)
            | Self::Stub { .. } => 2 + deepest,
            Self::New { args, kwargs, .. } => {
                1 + usize::from(!args.is_empty() || !kwargs.is_empty()) + deepest
            }
            // One level: a plain list or object, or one tag.
            _ => 1 + deepest,
        }
    }

    /// The values directly inside of this one, in the order in which Python builds them.
    pub fn each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Value)) {
        match self {
            Self::List(items)
            | Self::Tuple(items)
            | Self::Set(items)
            | Self::FrozenSet(items)
            | Self::Yields(items) => {
                items.iter().for_each(visit);
            }
            Self::Dict(pairs) => {
                for (key, value) in pairs {
                    visit(key);
                    visit(value);
                }
            }
            Self::New { args, kwargs, .. } => {
                args.iter().chain(kwargs.iter().map(|(_, value)| value)).for_each(visit);
            }
            Self::Method { on, args, kwargs, .. } => {
                visit(on);
                args.iter().chain(kwargs.iter().map(|(_, value)| value)).for_each(visit);
            }
            Self::Stub { members, args, kwargs, .. } => {
                members.iter().map(|(_, value)| value).for_each(&mut *visit);
                args.iter().chain(kwargs.iter().map(|(_, value)| value)).for_each(visit);
            }
            Self::After { value, calls } => {
                visit(value);
                for MethodCall { args, kwargs, .. } in calls {
                    let given = args.iter().chain(kwargs.iter().map(|(_, value)| value));
                    given.for_each(&mut *visit);
                }
            }
            Self::Repeat { value, .. }
            | Self::Shared { value, .. }
            | Self::Returns(value)
            | Self::Raises(value)
            | Self::Async(value) => {
                visit(value);
            }
            Self::None
            | Self::Bool(_)
            | Self::Int(_)
            | Self::BigInt(_)
            | Self::Float(_)
            | Self::Complex { .. }
            | Self::Str(_)
            | Self::Bytes(_)
            | Self::ByteArray(_)
            | Self::Ellipsis
            | Self::Name(_)
            | Self::Argument(_)
            | Self::SharedRef(_) => {}
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Str(PyString::from(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Str(PyString::from(value))
    }
}
