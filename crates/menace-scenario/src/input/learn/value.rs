//! What a value looks like in a message, and what is inside of it.

use menace_model::Value;

use crate::input::infer::literal;
use crate::input::shape::Shape;

/// Longer tuples are like lists.
const MAX_PLACES: usize = 12;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Container {
    List,
    TupleOf,
    Dict,
    /// In that place, beside these.
    Tuple(usize, Vec<Shape>),
    /// It is what a function returns.
    Function,
}

impl Container {
    pub(super) fn of(&self, item: Shape) -> Shape {
        match self {
            Self::List => Shape::list(item),
            Self::TupleOf => Shape::TupleOf(Box::new(item)),
            Self::Dict => Shape::Dict(Box::new(Shape::text()), Box::new(item)),
            Self::Tuple(at, shapes) => {
                let mut shapes = shapes.clone();
                shapes[*at] = item;
                Shape::Tuple(shapes)
            }
            Self::Function => Shape::function(item),
        }
    }
}

/// Does the message have the name as a word?
pub(super) fn mentions(message: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    name.len() > 1 && message.split(|char| !is_part(char)).any(|word| word == name)
}

/// Does the message have the value as it is written?
pub(super) fn quotes(message: &str, value: &Value) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '.' || char == '-';
    let has = |text: &str| message.split(|char| !is_part(char)).any(|word| word == text);
    match value {
        Value::Str(text) => {
            text.as_str().is_some_and(|text| text.len() > 1 && message.contains(text))
        }
        Value::Int(number) => has(&number.to_string()),
        Value::Float(number) => has(&format!("{number:?}")),
        _ => false,
    }
}

/// What is inside of a value, as far as it tells what the rest is like.
pub(super) fn items(value: &Value) -> Vec<(Container, &Value)> {
    match value {
        Value::List(items) => items.iter().take(1).map(|item| (Container::List, item)).collect(),
        Value::Tuple(items) if items.len() <= MAX_PLACES => {
            let shapes: Vec<Shape> = items.iter().map(literal::shape).collect();
            let places = items.iter().enumerate();
            places.map(|(at, item)| (Container::Tuple(at, shapes.clone()), item)).collect()
        }
        Value::Tuple(items) => {
            items.iter().take(1).map(|item| (Container::TupleOf, item)).collect()
        }
        Value::Dict(pairs) => {
            pairs.iter().take(1).map(|(_, item)| (Container::Dict, item)).collect()
        }
        Value::Returns(returned) => vec![(Container::Function, returned)],
        Value::New { class, args, .. } if class.qualname() == "iter" => {
            args.first().map(items).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// How many items the value, or each of its own, should have. What takes it apart may have added
/// some, as many as it found too many.
pub(super) fn wanted_count(
    value: &Value,
    expected: usize,
    got: Option<usize>,
) -> Option<(usize, Option<Container>)> {
    let length = |value: &Value| match value {
        Value::List(items) | Value::Tuple(items) => Some(items.len()),
        Value::Str(text) => text.as_str().map(|text| text.chars().count()),
        _ => None,
    };
    let count = |length: usize| match got {
        Some(got) => (expected + length).checked_sub(got),
        None => Some(expected),
    };
    let fits = |length: &usize| got.is_none_or(|got| (*length..=length + 2).contains(&got));
    let is_small = |count: &usize| (1..=MAX_PLACES).contains(count);
    let inside = items(value).into_iter().next().and_then(|(container, item)| {
        let item = length(item).filter(|length| got.is_some_and(|got| got == *length))?;
        Some((count(item).filter(is_small)?, Some(container)))
    });
    inside.or_else(|| Some((count(length(value).filter(fits)?).filter(is_small)?, None)))
}

/// The name of the value's class, as messages have it; none when only the guest knows.
pub(super) fn class_of(value: &Value) -> Option<&str> {
    Some(match value {
        Value::None => "NoneType",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::BigInt(_) => "int",
        Value::Float(_) => "float",
        Value::Complex { .. } => "complex",
        Value::Str(_) => "str",
        Value::Bytes(_) => "bytes",
        Value::ByteArray(_) => "bytearray",
        Value::List(_) => "list",
        Value::Tuple(_) => "tuple",
        Value::Set(_) => "set",
        Value::FrozenSet(_) => "frozenset",
        Value::Dict(_) => "dict",
        Value::Ellipsis => "ellipsis",
        Value::Returns(_)
        | Value::Raises(_)
        | Value::Yields(_)
        | Value::Argument(_)
        | Value::Async(_) => "function",
        Value::Stub { .. } => "Stub",
        Value::New { class, .. } => {
            let name = class.qualname().rsplit('.').next()?;
            // A function's result is of a class that only the guest knows.
            return name.starts_with(char::is_uppercase).then_some(name);
        }
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            return class_of(value);
        }
        Value::Name(_) | Value::Method { .. } | Value::Again(_) => return None,
    })
}
