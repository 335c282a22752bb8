//! What a value should be, as far as anybody knows.
//!
//! Annotations, names, docstrings and uses all end in shapes ([`super::infer`]); values are made
//! from nothing else ([`super::make`]).

use menace_model::Value;

use super::topic::Role;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Nobody knows.
    Any,
    None,
    Bool,
    Int,
    Float,
    /// Text; of that role, or of the one that its name tells.
    Str(Option<Role>),
    Bytes,
    /// A name in the file system: as text, or as `pathlib.Path`.
    Path {
        what: PathWhat,
        is_text: bool,
    },
    List(Box<Shape>),
    /// Of exactly these.
    Tuple(Vec<Shape>),
    TupleOf(Box<Shape>),
    Set(Box<Shape>),
    FrozenSet(Box<Shape>),
    Dict(Box<Shape>, Box<Shape>),
    /// A dict whose keys are known.
    Record(Vec<Field>),
    Iterator(Box<Shape>),
    AsyncIterator(Box<Shape>),
    Awaitable(Box<Shape>),
    /// Something to call, and what it returns.
    Function {
        returns: Box<Shape>,
        is_async: bool,
    },
    ContextManager {
        gives: Box<Shape>,
        is_async: bool,
    },
    /// One of these very values.
    OneOf(Vec<Value>),
    /// One of these shapes, the likeliest first.
    Union(Vec<Shape>),
    /// An instance of a class of the repository, by dotted name.
    Instance(String),
    /// An instance of a generic class of the repository, and what it is a class of.
    Applied(Box<Shape>, Vec<Shape>),
    /// An instance of a class of somebody else's.
    Known(String),
    /// A class, not an instance of it.
    Class(Box<Shape>),
    /// An object that has at least this.
    Duck(Box<Duck>),
    /// Like the shape, and about something else than its name tells.
    About(String, Box<Shape>),
    /// Like the shape, within bounds.
    Bounded(Box<Shape>, Bounds),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathWhat {
    File,
    Directory,
    /// Nothing is there yet.
    New,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub name: String,
    pub shape: Shape,
    pub required: bool,
}

/// What is done with an object of which nothing else is known.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Duck {
    pub attributes: Vec<(String, Shape)>,
    /// What they return.
    pub methods: Vec<(String, Shape)>,
    pub async_methods: Vec<(String, Shape)>,
    /// What `x[…]` gives.
    pub element: Option<Shape>,
    /// What `for … in x` gives.
    pub item: Option<Shape>,
    pub has_length: bool,
    /// What `x(…)` returns.
    pub returned: Option<Shape>,
    /// It is entered with `with`.
    pub entered: bool,
    /// With `async with`.
    pub entered_async: bool,
}

/// `Annotated[int, Gt(0)]`, `Field(max_length=5)`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Bounds {
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub shortest: Option<u64>,
    pub longest: Option<u64>,
    pub pattern: Option<String>,
}

impl Duck {
    /// The same with these members; what they are nobody knows but by their names.
    pub(crate) fn with(&self, members: &[String]) -> Self {
        let mut duck = self.clone();
        for name in members {
            let has = |known: &[(String, Shape)]| known.iter().any(|(known, _)| known == name);
            if !has(&duck.attributes) && !has(&duck.methods) && !has(&duck.async_methods) {
                duck.attributes.push((name.clone(), Shape::Any));
            }
        }
        duck
    }
}

impl Shape {
    pub(crate) fn list(item: Shape) -> Self {
        Self::List(Box::new(item))
    }

    pub(crate) fn text() -> Self {
        Self::Str(None)
    }

    pub(crate) fn function(returns: Shape) -> Self {
        Self::Function { returns: Box::new(returns), is_async: false }
    }

    /// One of them, without choice when there is only one.
    pub(crate) fn union(mut shapes: Vec<Shape>) -> Self {
        let mut unique: Vec<Shape> = Vec::with_capacity(shapes.len());
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

    /// The shapes that it may be, the likeliest first.
    pub(crate) fn alternatives(&self) -> &[Shape] {
        match self {
            Self::Union(shapes) => shapes,
            shape => std::slice::from_ref(shape),
        }
    }

    /// Without what only narrows it.
    pub(crate) fn bare(&self) -> &Shape {
        match self {
            Self::About(_, shape) | Self::Bounded(shape, _) | Self::Applied(shape, _) => {
                shape.bare()
            }
            shape => shape,
        }
    }
}
