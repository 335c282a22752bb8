//! The shape of a value: its type, with further knowledge about it.
//!
//! Annotations, names, docstrings and uses become shapes ([`super::infer`]); values are made from
//! shapes only ([`super::make`]).

use menace_model::Value;

use super::name_topics::TextRole;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueShape {
    /// Unknown.
    Any,
    None,
    Bool,
    Int,
    Float,
    /// Text with this role, or without one the role that its name suggests.
    Str(Option<TextRole>),
    Bytes,
    /// A path: as text, or as `pathlib.Path`.
    Path {
        kind: PathKind,
        is_text: bool,
    },
    List(Box<ValueShape>),
    /// A tuple with exactly these items.
    Tuple(Vec<ValueShape>),
    TupleOf(Box<ValueShape>),
    Set(Box<ValueShape>),
    FrozenSet(Box<ValueShape>),
    Dict(Box<ValueShape>, Box<ValueShape>),
    /// A dict with known keys.
    Record(Vec<RecordField>),
    Iterator(Box<ValueShape>),
    AsyncIterator(Box<ValueShape>),
    Awaitable(Box<ValueShape>),
    /// A callable, and the shape of its result.
    Function {
        returns: Box<ValueShape>,
        is_async: bool,
    },
    ContextManager {
        entered_value: Box<ValueShape>,
        is_async: bool,
    },
    /// One of these values.
    OneOf(Vec<Value>),
    /// One of these shapes, the likeliest first.
    Union(Vec<ValueShape>),
    /// An instance of a class of the repository, by dotted name.
    Instance(String),
    /// An instance of a generic class of the repository, and its type arguments.
    GenericInstance(Box<ValueShape>, Vec<ValueShape>),
    /// An instance of a class of a library, by dotted name.
    LibraryInstance(String),
    /// A class, not an instance of it.
    Class(Box<ValueShape>),
    /// An object that has at least these members.
    Duck(Box<DuckType>),
    /// The shape, with examples of this topic instead of the one of its name.
    WithTopic(String, Box<ValueShape>),
    /// The shape within bounds.
    Bounded(Box<ValueShape>, ValueBounds),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    File,
    Directory,
    /// A path that does not exist.
    New,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordField {
    pub name: String,
    pub shape: ValueShape,
    pub required: bool,
}

/// The members that an object of unknown class needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct DuckType {
    pub attributes: Vec<(String, ValueShape)>,
    /// Methods and the shapes of their results.
    pub methods: Vec<(String, ValueShape)>,
    pub async_methods: Vec<(String, ValueShape)>,
    /// Result of `x[…]`.
    pub element: Option<ValueShape>,
    /// Items of `for … in x`.
    pub item: Option<ValueShape>,
    pub has_length: bool,
    /// Result of `x(…)`.
    pub call_result: Option<ValueShape>,
    /// Whether it is used with `with`.
    pub is_context_manager: bool,
    /// Whether it is used with `async with`.
    pub is_async_context_manager: bool,
}

/// `Annotated[int, Gt(0)]`, `Field(max_length=5)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ValueBounds {
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<String>,
}

impl DuckType {
    /// The duck type with further members, whose shapes are unknown.
    pub(crate) fn with_members(&self, members: &[String]) -> Self {
        let mut duck = self.clone();
        for name in members {
            let has = |known: &[(String, ValueShape)]| known.iter().any(|(known, _)| known == name);
            if !has(&duck.attributes) && !has(&duck.methods) && !has(&duck.async_methods) {
                duck.attributes.push((name.clone(), ValueShape::Any));
            }
        }
        duck
    }
}

impl ValueShape {
    pub(crate) fn list_of(item: ValueShape) -> Self {
        Self::List(Box::new(item))
    }

    pub(crate) fn any_text() -> Self {
        Self::Str(None)
    }

    pub(crate) fn function_returning(returns: ValueShape) -> Self {
        Self::Function { returns: Box::new(returns), is_async: false }
    }

    /// A union; the shape itself if there is only one.
    pub(crate) fn union_of(mut shapes: Vec<ValueShape>) -> Self {
        let mut unique: Vec<ValueShape> = Vec::with_capacity(shapes.len());
        for shape in shapes.drain(..) {
            match shape {
                Self::Union(inside) => {
                    for shape in inside {
                        if !unique.contains(&shape) {
                            unique.push(shape);
                        }
                    }
                }
                shape if !unique.contains(&shape) => unique.push(shape),
                _ => {}
            }
        }
        match unique.len() {
            0 => Self::Any,
            1 => unique.remove(0),
            _ => Self::Union(unique),
        }
    }

    /// The members of a union, the likeliest first.
    pub(crate) fn alternatives(&self) -> &[ValueShape] {
        match self {
            Self::Union(shapes) => shapes,
            shape => std::slice::from_ref(shape),
        }
    }

    /// The shape without bounds, topic and type arguments.
    pub(crate) fn without_bounds(&self) -> &ValueShape {
        match self {
            Self::WithTopic(_, shape)
            | Self::Bounded(shape, _)
            | Self::GenericInstance(shape, _) => shape.without_bounds(),
            shape => shape,
        }
    }
}
