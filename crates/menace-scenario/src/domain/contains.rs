//! Whether a value is of a shape.

use menace_model::{PyReference, Value};

use crate::input::{RepositoryFacts, ValueBounds, ValueShape};

const MAX_CLASS_DEPTH: usize = 16;
/// Modules whose classes no plain value is an instance of.
const CONCRETE_MODULES: [&str; 9] =
    ["datetime", "decimal", "fractions", "io", "ipaddress", "pathlib", "re", "uuid", "enum"];

/// Whether the value is of the shape; `None` if that cannot be said.
pub(super) fn contains(
    facts: &RepositoryFacts<'_>,
    shape: &ValueShape,
    value: &Value,
) -> Option<bool> {
    match value {
        Value::Shared { value, .. } | Value::After { value, .. } => {
            return contains(facts, shape, value);
        }
        Value::Repeat { value, .. } => return contains(facts, shape, value),
        Value::SharedRef(_) | Value::Method { .. } | Value::Stub { .. } => return None,
        _ => {}
    }
    let all = |items: &[Value], item: &ValueShape| contains_all(facts, items, item);
    match shape {
        ValueShape::Any
        | ValueShape::Duck(_)
        | ValueShape::Awaitable(_)
        | ValueShape::AsyncIterator(_)
        | ValueShape::ContextManager { .. } => None,
        ValueShape::None => Some(matches!(value, Value::None)),
        ValueShape::Bool => Some(matches!(value, Value::Bool(_))),
        ValueShape::Int => Some(is_integer(value)),
        ValueShape::Float => Some(is_integer(value) || matches!(value, Value::Float(_))),
        ValueShape::Str(_) => Some(matches!(value, Value::Str(_))),
        ValueShape::Bytes => Some(matches!(value, Value::Bytes(_) | Value::ByteArray(_))),
        ValueShape::Path { .. } => Some(match value {
            Value::Str(_) => true,
            Value::New { class, .. } => class.module() == "pathlib",
            _ => false,
        }),
        ValueShape::List(item) => match value {
            Value::List(items) => all(items, item),
            // Many a list is any iterable.
            _ if is_iterable(value) => None,
            _ => is_constructed(value),
        },
        ValueShape::Tuple(shapes) => match value {
            Value::Tuple(items) if items.len() == shapes.len() => {
                let fits = items.iter().zip(shapes);
                combine_all(fits.map(|(item, shape)| contains(facts, shape, item)))
            }
            Value::Tuple(_) => Some(false),
            _ => is_constructed(value),
        },
        ValueShape::TupleOf(item) => match value {
            Value::Tuple(items) => all(items, item),
            _ => is_constructed(value),
        },
        ValueShape::Set(item) | ValueShape::FrozenSet(item) => match value {
            Value::Set(items) | Value::FrozenSet(items) => all(items, item),
            _ => is_constructed(value),
        },
        ValueShape::Dict(keys, values) => match value {
            Value::Dict(pairs) => combine_all(pairs.iter().flat_map(|(key, value)| {
                [contains(facts, keys, key), contains(facts, values, value)]
            })),
            _ => is_constructed(value),
        },
        ValueShape::Record(fields) => {
            let Value::Dict(pairs) = value else { return is_constructed(value) };
            combine_all(fields.iter().map(|field| {
                let at = pairs.iter().find(|(key, _)| *key == Value::from(field.name.as_str()));
                match at {
                    Some((_, value)) => contains(facts, &field.shape, value),
                    None => Some(!field.required),
                }
            }))
        }
        ValueShape::Iterator(item) => match value {
            Value::List(items)
            | Value::Tuple(items)
            | Value::Set(items)
            | Value::FrozenSet(items) => all(items, item),
            _ if is_iterable(value) => None,
            _ => is_constructed(value),
        },
        ValueShape::Function { .. } => match value {
            Value::Name(_)
            | Value::Returns(_)
            | Value::Raises(_)
            | Value::Yields(_)
            | Value::Argument(_)
            | Value::Async(_) => Some(true),
            _ => is_constructed(value),
        },
        ValueShape::OneOf(values) => {
            if values.contains(value) {
                return Some(true);
            }
            let is_literal = values.iter().all(|one| {
                matches!(one, Value::Str(_) | Value::Int(_) | Value::Bytes(_) | Value::Bool(_))
            });
            if is_literal { Some(false) } else { None }
        }
        ValueShape::Union(shapes) => {
            let mut is_unknown = false;
            for shape in shapes {
                match contains(facts, shape, value) {
                    Some(true) => return Some(true),
                    None => is_unknown = true,
                    Some(false) => {}
                }
            }
            if is_unknown { None } else { Some(false) }
        }
        ValueShape::Instance(class) => match value {
            Value::New { class: made, .. } => is_instance(facts, made, class),
            Value::Name(_) => None,
            _ => Some(false),
        },
        ValueShape::LibraryInstance(class) => match value {
            Value::New { class: made, .. } => (dotted(made) == *class).then_some(true),
            Value::Name(_) => None,
            _ => {
                let module = class.split('.').next().unwrap_or_default();
                CONCRETE_MODULES.contains(&module).then_some(false)
            }
        },
        ValueShape::Class(_) => match value {
            Value::Name(_) => Some(true),
            _ => is_constructed(value),
        },
        ValueShape::WithTopic(_, inner) | ValueShape::GenericInstance(inner, _) => {
            contains(facts, inner, value)
        }
        ValueShape::Bounded(inner, bounds) => match contains(facts, inner, value) {
            Some(true) => Some(is_within(bounds, value)),
            other => other,
        },
    }
}

/// A plain value is not of the shape; of an object made by a call, that cannot be said.
fn is_constructed(value: &Value) -> Option<bool> {
    match value {
        Value::New { .. } | Value::Name(_) => None,
        _ => Some(false),
    }
}

fn contains_all(facts: &RepositoryFacts<'_>, items: &[Value], shape: &ValueShape) -> Option<bool> {
    if *shape == ValueShape::Any {
        return Some(true);
    }
    combine_all(items.iter().map(|item| contains(facts, shape, item)))
}

fn combine_all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut whole = Some(true);
    for part in parts {
        match part {
            Some(false) => return Some(false),
            None => whole = None,
            Some(true) => {}
        }
    }
    whole
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::BigInt(_) | Value::Bool(_))
}

fn is_iterable(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_)
            | Value::Tuple(_)
            | Value::Set(_)
            | Value::FrozenSet(_)
            | Value::Dict(_)
            | Value::Str(_)
            | Value::Bytes(_)
            | Value::ByteArray(_)
            | Value::Yields(_)
    )
}

fn dotted(reference: &PyReference) -> String {
    format!("{}.{}", reference.module(), reference.qualname())
}

/// `None` for classes outside of the repository, and for functions that return an instance.
fn is_instance(facts: &RepositoryFacts<'_>, made: &PyReference, class: &str) -> Option<bool> {
    let made = dotted(made);
    if made == class {
        return Some(true);
    }
    let mut bases = vec![made.as_str()];
    for _ in 0..MAX_CLASS_DEPTH {
        let Some(base) = bases.pop() else { break };
        if base == class {
            return Some(true);
        }
        bases.extend(facts.class(base)?.bases.iter().map(String::as_str));
    }
    Some(false)
}

fn is_within(bounds: &ValueBounds, value: &Value) -> bool {
    let number = match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    };
    let length = super::sequence_length(value);
    number.is_none_or(|number| {
        bounds.low.is_none_or(|low| number >= low) && bounds.high.is_none_or(|high| number <= high)
    }) && length.is_none_or(|length| {
        bounds.min_length.is_none_or(|least| length >= least)
            && bounds.max_length.is_none_or(|most| length <= most)
    })
}
