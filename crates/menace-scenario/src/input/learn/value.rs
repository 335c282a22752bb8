//! Values as messages show them, the values inside of them, and how they were constructed.

use menace_model::{MethodCall, PyReference, SectionKind, Value};

use super::MAX_VALUE_PARTS;
use crate::input::CallInput;
use crate::input::infer::literal;
use crate::input::repository_facts::SectionContext;
use crate::input::shape::ValueShape;

/// Longer tuples are treated like lists.
const MAX_TUPLE_ITEMS: usize = 12;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ContainerKind {
    List,
    TupleOf,
    Dict,
    /// The item at this position, with the shapes of all items.
    Tuple(usize, Vec<ValueShape>),
    /// The result of a function.
    Function,
}

impl ContainerKind {
    pub(super) fn container_of(&self, item: ValueShape) -> ValueShape {
        match self {
            Self::List => ValueShape::list_of(item),
            Self::TupleOf => ValueShape::TupleOf(Box::new(item)),
            Self::Dict => ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(item)),
            Self::Tuple(at, shapes) => {
                let mut shapes = shapes.clone();
                shapes[*at] = item;
                ValueShape::Tuple(shapes)
            }
            Self::Function => ValueShape::function_returning(item),
        }
    }
}

/// Does the message contain the name as a word?
pub(super) fn mentions_name(message: &str, name: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    name.len() > 1 && message.split(|char| !is_part(char)).any(|word| word == name)
}

/// Does the message quote the value?
pub(super) fn quotes_value(message: &str, value: &Value) -> bool {
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

/// Some items of a value, which represent all of them.
pub(super) fn inner_items(value: &Value) -> Vec<(ContainerKind, &Value)> {
    match value {
        Value::List(items) => {
            items.iter().take(1).map(|item| (ContainerKind::List, item)).collect()
        }
        Value::Tuple(items) if items.len() <= MAX_TUPLE_ITEMS => {
            let shapes: Vec<ValueShape> = items.iter().map(literal::literal_shape).collect();
            let places = items.iter().enumerate();
            places.map(|(at, item)| (ContainerKind::Tuple(at, shapes.clone()), item)).collect()
        }
        Value::Tuple(items) => {
            items.iter().take(1).map(|item| (ContainerKind::TupleOf, item)).collect()
        }
        Value::Dict(pairs) => {
            pairs.iter().take(1).map(|(_, item)| (ContainerKind::Dict, item)).collect()
        }
        Value::Returns(returned) => vec![(ContainerKind::Function, returned)],
        Value::New { class, args, .. } if class.qualname() == "iter" => {
            args.first().map(inner_items).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Expected number of items of the value or of each of its items. The code that unpacks the value
/// may have added items.
pub(super) fn expected_count(
    value: &Value,
    expected: usize,
    got: Option<usize>,
) -> Option<(usize, Option<ContainerKind>)> {
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
    let is_small = |count: &usize| (1..=MAX_TUPLE_ITEMS).contains(count);
    let inside = inner_items(value).into_iter().next().and_then(|(container, item)| {
        let item = length(item).filter(|length| got.is_some_and(|got| got == *length))?;
        Some((count(item).filter(is_small)?, Some(container)))
    });
    inside.or_else(|| Some((count(length(value).filter(fits)?).filter(is_small)?, None)))
}

/// The class name as messages show it; none when only the guest knows it.
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
            // The class of a function's result is only known to the guest.
            return name.starts_with(char::is_uppercase).then_some(name);
        }
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            return class_of(value);
        }
        Value::Name(_) | Value::Method { .. } | Value::SharedRef(_) => return None,
    })
}

/// The call of the section as a value.
pub(super) fn call_as_value(context: SectionContext<'_>, input: &CallInput) -> Option<Value> {
    let qualname = context.section.id.qualname();
    let qualname = qualname.split_once('#').map_or(qualname, |(name, _)| name);
    let (class, name) = qualname.rsplit_once('.').unwrap_or(("", qualname));
    let (args, kwargs) = (input.args.clone(), input.kwargs.clone());
    let called = |name: &str| PyReference::new(context.module, name).ok();
    let on = input.receiver.clone().map(Box::new);
    match context.section.kind {
        SectionKind::Method if matches!(name, "__init__" | "__new__") => {
            Some(Value::New { class: called(class)?, args, kwargs })
        }
        SectionKind::Method => Some(Value::Method { on: on?, name: name.to_owned(), args, kwargs }),
        SectionKind::Property => {
            let name = vec![Value::from(name)];
            let getter = "__getattribute__".to_owned();
            Some(Value::Method { on: on?, name: getter, args: name, kwargs: Vec::new() })
        }
        SectionKind::Nested | SectionKind::Module => None,
        _ if context.section.is_async || context.section.is_generator => None,
        _ => Some(Value::New { class: called(qualname)?, args, kwargs }),
    }
}

/// How a value was constructed: by which function, with which kinds of arguments and which short
/// texts, such as modes.
pub(super) fn construction_signature(value: &Value) -> String {
    let describe = |value: &Value| match value {
        Value::Str(text) if text.as_bytes().len() <= 4 => format!("{text:?}"),
        Value::Bool(_) | Value::None => format!("{value:?}"),
        Value::New { class, .. } => class.to_string(),
        value => class_of(value).unwrap_or("?").to_owned(),
    };
    let (name, args, kwargs) = match value {
        Value::New { class, args, kwargs } => (class.to_string(), args, kwargs),
        Value::Method { on, name, args, kwargs } => {
            (format!("{}.{name}", construction_signature(on)), args, kwargs)
        }
        value => return describe(value),
    };
    let args = args.iter().map(describe);
    let kwargs = kwargs.iter().map(|(name, value)| format!("{name}={}", describe(value)));
    format!("{name}({})", args.chain(kwargs).collect::<Vec<_>>().join(", "))
}

/// Number of values that a value contains.
pub(super) fn count_parts(value: &Value) -> usize {
    let count_arguments = |args: &[Value], kwargs: &[(String, Value)]| -> usize {
        args.iter().map(count_parts).sum::<usize>()
            + kwargs.iter().map(|(_, value)| count_parts(value)).sum::<usize>()
    };
    1 + match value {
        Value::List(items)
        | Value::Tuple(items)
        | Value::Set(items)
        | Value::FrozenSet(items)
        | Value::Yields(items) => items.iter().map(count_parts).sum(),
        Value::Dict(pairs) => {
            pairs.iter().map(|(key, value)| count_parts(key) + count_parts(value)).sum()
        }
        Value::New { args, kwargs, .. } => count_arguments(args, kwargs),
        Value::Method { on, args, kwargs, .. } => count_parts(on) + count_arguments(args, kwargs),
        Value::After { value, calls } => {
            let calls =
                calls.iter().map(|MethodCall { args, kwargs, .. }| count_arguments(args, kwargs));
            count_parts(value) + calls.sum::<usize>()
        }
        Value::Stub { members, args, kwargs, .. } => {
            count_arguments(args, kwargs) + count_arguments(&[], members)
        }
        // Labels could collide with the labels of other values: never stored.
        Value::Shared { .. } | Value::SharedRef(_) => MAX_VALUE_PARTS,
        _ => 0,
    }
}
