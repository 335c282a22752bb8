//! Boundary values of a shape: empty, huge and unusual values of its type.

mod containers;
mod scalars;

use menace_model::{ClassInfo, ClassKind, ParamKind, Value};

use super::make::arguments::{assemble_call, wrap_variadic};
use super::make::{
    ArgumentPolicy, ValueMaker, ValueStyle, call_function, objects, path_kind_by_name, to_hashable,
};
use super::shape::{ValueBounds, ValueShape};

/// Depth to which shapes inside of shapes are followed.
const MAX_BOUNDARY_DEPTH: usize = 2;
/// Boundary values per part of a tuple, a record or an instance.
const MAX_EDGES_PER_PART: usize = 6;
/// Boundary instances of one class, whatever its number of parameters.
const MAX_BOUNDARY_INSTANCES: usize = 24;

/// The boundary values of a shape, the most effective first.
pub(crate) fn boundary_values(
    maker: &mut ValueMaker<'_, '_>,
    shape: &ValueShape,
    name: &str,
) -> Vec<Value> {
    let mut values = Vec::new();
    for value in nested_boundary_values(maker, shape, name, 0) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn nested_boundary_values(
    maker: &mut ValueMaker<'_, '_>,
    shape: &ValueShape,
    name: &str,
    depth: usize,
) -> Vec<Value> {
    if depth > MAX_BOUNDARY_DEPTH {
        return Vec::new();
    }
    match shape {
        ValueShape::Bool => vec![Value::Bool(false), Value::Bool(true)],
        ValueShape::Int => scalars::boundary_ints(),
        ValueShape::Float => scalars::boundary_floats(),
        ValueShape::Str(role) => match path_kind_by_name(*role, name) {
            Some(what) => interleave(vec![
                scalars::boundary_paths(maker, what, true, name),
                scalars::boundary_texts(),
            ]),
            None => scalars::boundary_texts(),
        },
        ValueShape::Bytes => scalars::boundary_bytes(),
        ValueShape::Path { kind: what, is_text } => {
            scalars::boundary_paths(maker, *what, *is_text, name)
        }
        ValueShape::List(item) => {
            let mut values = containers::boundary_lists(maker, item, name);
            values.extend(wrap_boundary_items(maker, item, name, depth, |value| {
                Value::List(vec![value])
            }));
            values
        }
        ValueShape::TupleOf(item) => {
            let typical = maker.make_value(item, name, ValueStyle::Typical);
            let mut values = vec![Value::Tuple(Vec::new()), Value::Tuple(vec![typical.clone()])];
            values.push(repeat_value(Value::Tuple(vec![typical]), 1000));
            values.extend(wrap_boundary_items(maker, item, name, depth, |value| {
                Value::Tuple(vec![value])
            }));
            values
        }
        ValueShape::Tuple(items) => boundary_tuples(maker, items, name, depth),
        ValueShape::Set(item) => {
            let mut values =
                containers::boundary_sets(maker, item, name, "builtins:set", Value::Set);
            values.extend(wrap_boundary_items(maker, item, name, depth, |value| {
                Value::Set(vec![to_hashable(value)])
            }));
            values
        }
        ValueShape::FrozenSet(item) => {
            let mut values = containers::boundary_sets(
                maker,
                item,
                name,
                "builtins:frozenset",
                Value::FrozenSet,
            );
            values.extend(wrap_boundary_items(maker, item, name, depth, |value| {
                Value::FrozenSet(vec![to_hashable(value)])
            }));
            values
        }
        ValueShape::Dict(key, value) => {
            let mut values = containers::boundary_dicts(maker, key, value, name);
            let key = containers::typical_key(maker, key);
            values.extend(wrap_boundary_items(maker, value, name, depth, |value| {
                Value::Dict(vec![(key.clone(), value)])
            }));
            values
        }
        ValueShape::Record(fields) => boundary_records(maker, fields, depth),
        ValueShape::Iterator(item) => {
            let one = maker.make_value(item, name, ValueStyle::Typical);
            let generate = |items| call_function(Value::Yields(items));
            vec![generate(Vec::new()), generate(vec![one])]
        }
        ValueShape::OneOf(choices) => choices.clone(),
        ValueShape::Union(shapes) => {
            let mut all: Vec<Vec<Value>> = shapes
                .iter()
                .map(|shape| nested_boundary_values(maker, shape, name, depth))
                .collect();
            if shapes.contains(&ValueShape::None) {
                all.insert(0, vec![Value::None]);
            }
            interleave(all)
        }
        ValueShape::LibraryInstance(class) => {
            objects::find_known_instances(class).map_or(Vec::new(), |known| known.boundary.clone())
        }
        ValueShape::Instance(class) => boundary_instances(maker, class, depth),
        ValueShape::GenericInstance(inner, args) => {
            maker.with_type_arguments(inner, args, |maker| {
                nested_boundary_values(maker, inner, name, depth)
            })
        }
        ValueShape::Function { .. } => vec![Value::Returns(Box::new(Value::None))],
        ValueShape::WithTopic(topic, inner) => nested_boundary_values(maker, inner, topic, depth),
        ValueShape::Bounded(inner, bounds) => bounded_values(maker, inner, bounds, name),
        ValueShape::None => vec![Value::None],
        ValueShape::Any
        | ValueShape::AsyncIterator(_)
        | ValueShape::Awaitable(_)
        | ValueShape::ContextManager { .. }
        | ValueShape::Class(_)
        | ValueShape::Duck(_) => Vec::new(),
    }
}

/// Containers with one boundary value as their item.
fn wrap_boundary_items(
    maker: &mut ValueMaker<'_, '_>,
    item: &ValueShape,
    name: &str,
    depth: usize,
    around: impl Fn(Value) -> Value,
) -> Vec<Value> {
    pick_spread(nested_boundary_values(maker, item, name, depth + 1), 8)
        .into_iter()
        .map(around)
        .collect()
}

/// `count` values: the first ones, which are the most effective, and some spread over the rest.
fn pick_spread(values: Vec<Value>, count: usize) -> Vec<Value> {
    let first = (count * 2).div_ceil(3);
    if values.len() <= count {
        return values;
    }
    let rest = values.len() - first;
    let parts = count - first;
    let last_of = |part: usize| first + (part + 1) * rest / parts - 1;
    let wanted: Vec<usize> = (0..first).chain((0..parts).map(last_of)).collect();
    let chosen = values.into_iter().enumerate().filter(|(index, _)| wanted.contains(index));
    chosen.map(|(_, value)| value).collect()
}

/// One part has a boundary value, the others typical ones.
fn boundary_tuples(
    maker: &mut ValueMaker<'_, '_>,
    items: &[ValueShape],
    name: &str,
    depth: usize,
) -> Vec<Value> {
    let usual: Vec<Value> =
        items.iter().map(|item| maker.make_value(item, name, ValueStyle::Typical)).collect();
    let mut lists = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let edges =
            pick_spread(nested_boundary_values(maker, item, name, depth + 1), MAX_EDGES_PER_PART)
                .into_iter();
        let changed = edges.map(|value| {
            let mut changed = usual.clone();
            changed[index] = value;
            Value::Tuple(changed)
        });
        lists.push(changed.collect());
    }
    interleave(lists)
}

/// The required keys only, then each field with its boundary values.
fn boundary_records(
    maker: &mut ValueMaker<'_, '_>,
    fields: &[super::shape::RecordField],
    depth: usize,
) -> Vec<Value> {
    let pair = |maker: &mut ValueMaker<'_, '_>, field: &super::shape::RecordField| {
        let value = maker.make_value(&field.shape, &field.name, ValueStyle::Typical);
        (Value::from(field.name.as_str()), value)
    };
    let required = fields.iter().filter(|field| field.required);
    let least: Vec<_> = required.map(|field| pair(maker, field)).collect();
    let mut values = vec![Value::Dict(least)];
    let usual: Vec<_> = fields.iter().map(|field| pair(maker, field)).collect();
    let mut lists = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let edges = nested_boundary_values(maker, &field.shape, &field.name, depth + 1);
        let changed = pick_spread(edges, MAX_EDGES_PER_PART).into_iter().map(|value| {
            let mut changed = usual.clone();
            changed[index].1 = value;
            Value::Dict(changed)
        });
        lists.push(changed.collect());
    }
    values.extend(interleave(lists));
    values
}

/// One constructor argument has a boundary value, the others typical ones.
fn boundary_instances(maker: &mut ValueMaker<'_, '_>, dotted: &str, depth: usize) -> Vec<Value> {
    let Some(class) = maker.facts.class(dotted) else { return Vec::new() };
    match class.kind {
        ClassKind::Enum => return enum_members(class),
        ClassKind::TypedDict => {
            return boundary_records(maker, &maker.typed_dict_fields(dotted, class), depth);
        }
        _ => {}
    }
    let Some((class, guesses)) = maker.constructor_params(class) else { return Vec::new() };
    let usual = maker.make_slots(&guesses, ArgumentPolicy::TYPICAL);
    let complete = maker.make_slots(&guesses, ArgumentPolicy::COMPLETE);
    let mut lists = Vec::new();
    for (index, guess) in guesses.iter().enumerate() {
        let shape = guess.likeliest_shape().clone();
        let edges = pick_spread(
            nested_boundary_values(maker, &shape, &guess.name, depth + 1),
            MAX_EDGES_PER_PART,
        );
        let made = edges.into_iter().map(|value| {
            // A positional argument needs all arguments before it.
            let is_positional = guess.kind == ParamKind::PositionalOnly;
            let mut slots = if is_positional { complete.clone() } else { usual.clone() };
            slots[index] = Some(wrap_variadic(guess.kind, value));
            let (args, kwargs) = assemble_call(&guesses, slots);
            Value::New { class: class.clone(), args, kwargs }
        });
        lists.push(made.collect());
    }
    let mut values = interleave(lists);
    values.truncate(MAX_BOUNDARY_INSTANCES);
    values
}

fn enum_members(class: &ClassInfo) -> Vec<Value> {
    let name = |member: &String| {
        let qualname = format!("{}.{member}", class.qualname);
        menace_model::PyReference::new(&class.module, &qualname).ok().map(Value::Name)
    };
    class.members.iter().filter_map(name).collect()
}

fn bounded_values(
    maker: &mut ValueMaker<'_, '_>,
    inner: &ValueShape,
    bounds: &ValueBounds,
    name: &str,
) -> Vec<Value> {
    let number = |number: f64| match inner.without_bounds() {
        ValueShape::Int => Value::Int(number as i64),
        _ => Value::Float(number),
    };
    let mut values: Vec<Value> =
        [bounds.low, bounds.high].into_iter().flatten().map(number).collect();
    for length in [bounds.min_length, bounds.max_length].into_iter().flatten() {
        values.push(match inner.without_bounds() {
            ValueShape::List(item) => repeat_value(
                Value::List(vec![maker.make_value(item, name, ValueStyle::Typical)]),
                length,
            ),
            ValueShape::Bytes => repeat_value(Value::Bytes(b"x".to_vec()), length),
            _ => repeat_value(Value::from("x"), length),
        });
    }
    values
}

pub(crate) fn repeat_value(value: Value, times: u64) -> Value {
    Value::Repeat { value: Box::new(value), times }
}

/// The first item of each list, then the second of each, and so on.
pub(crate) fn interleave<T>(lists: Vec<Vec<T>>) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}
