//! Values at the edge of a shape: the empty, the huge, the odd. They belong to every type, always.

mod bytes;
mod containers;
mod numbers;
mod paths;
mod text;

use menace_model::{Class, ClassKind, ParamKind, Value};

use super::make::arguments::{assembled, in_place};
use super::make::{Choice, Maker, Style, hashable, known, path_by_name, started};
use super::shape::{Bounds, Shape};

/// Shapes inside of shapes are followed that far.
const MAX_DEPTH: usize = 2;
/// Edges of one part of a tuple, a dict with known keys or an instance.
const PER_PART: usize = 6;
/// Instances of one class, whatever number of parts they have.
const MAX_INSTANCES: usize = 24;

/// The edges of a shape, the most telling first.
pub(crate) fn values(maker: &mut Maker<'_, '_>, shape: &Shape, name: &str) -> Vec<Value> {
    let mut values = Vec::new();
    for value in nested(maker, shape, name, 0) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn nested(maker: &mut Maker<'_, '_>, shape: &Shape, name: &str, depth: usize) -> Vec<Value> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    match shape {
        Shape::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Shape::Int => numbers::ints(),
        Shape::Float => numbers::floats(),
        Shape::Str(role) => match path_by_name(*role, name) {
            Some(what) => interleaved(vec![paths::paths(maker, what, true, name), text::texts()]),
            None => text::texts(),
        },
        Shape::Bytes => bytes::bytes(),
        Shape::Path { what, is_text } => paths::paths(maker, *what, *is_text, name),
        Shape::List(item) => {
            let mut values = containers::lists(maker, item, name);
            values.extend(one_inside(maker, item, name, depth, |value| Value::List(vec![value])));
            values
        }
        Shape::TupleOf(item) => {
            let typical = maker.make(item, name, Style::Typical);
            let mut values = vec![Value::Tuple(Vec::new()), Value::Tuple(vec![typical.clone()])];
            values.push(repeated(Value::Tuple(vec![typical]), 1000));
            values.extend(one_inside(maker, item, name, depth, |value| Value::Tuple(vec![value])));
            values
        }
        Shape::Tuple(items) => tuple(maker, items, name, depth),
        Shape::Set(item) => {
            let mut values = containers::sets(maker, item, name, "builtins:set", Value::Set);
            values.extend(one_inside(maker, item, name, depth, |value| {
                Value::Set(vec![hashable(value)])
            }));
            values
        }
        Shape::FrozenSet(item) => {
            let mut values =
                containers::sets(maker, item, name, "builtins:frozenset", Value::FrozenSet);
            values.extend(one_inside(maker, item, name, depth, |value| {
                Value::FrozenSet(vec![hashable(value)])
            }));
            values
        }
        Shape::Dict(key, value) => {
            let mut values = containers::dicts(maker, key, value, name);
            let key = containers::key(maker, key);
            values.extend(one_inside(maker, value, name, depth, |value| {
                Value::Dict(vec![(key.clone(), value)])
            }));
            values
        }
        Shape::Record(fields) => record(maker, fields, depth),
        Shape::Iterator(item) => {
            let one = maker.make(item, name, Style::Typical);
            let generate = |items| started(Value::Yields(items));
            vec![generate(Vec::new()), generate(vec![one])]
        }
        Shape::OneOf(choices) => choices.clone(),
        Shape::Union(shapes) => {
            let mut all: Vec<Vec<Value>> =
                shapes.iter().map(|shape| nested(maker, shape, name, depth)).collect();
            if shapes.contains(&Shape::None) {
                all.insert(0, vec![Value::None]);
            }
            interleaved(all)
        }
        Shape::Known(class) => {
            known::find(class).map_or(Vec::new(), |known| known.boundary.clone())
        }
        Shape::Instance(class) => instance(maker, class, depth),
        Shape::Applied(inner, args) => {
            maker.applying(inner, args, |maker| nested(maker, inner, name, depth))
        }
        Shape::Function { .. } => vec![Value::Returns(Box::new(Value::None))],
        Shape::About(topic, inner) => nested(maker, inner, topic, depth),
        Shape::Bounded(inner, bounds) => bounded(maker, inner, bounds, name),
        Shape::None => vec![Value::None],
        Shape::Any
        | Shape::AsyncIterator(_)
        | Shape::Awaitable(_)
        | Shape::ContextManager { .. }
        | Shape::Class(_)
        | Shape::Duck(_) => Vec::new(),
    }
}

/// A container with one item at its own edge.
fn one_inside(
    maker: &mut Maker<'_, '_>,
    item: &Shape,
    name: &str,
    depth: usize,
    around: impl Fn(Value) -> Value,
) -> Vec<Value> {
    spread(nested(maker, item, name, depth + 1), 8).into_iter().map(around).collect()
}

/// So many of them: the first ones, which tell most, and some from all over the rest.
fn spread(values: Vec<Value>, count: usize) -> Vec<Value> {
    let first = (count * 2).div_ceil(3);
    if values.len() <= count {
        return values;
    }
    let (rest, parts) = (values.len() - first, count - first);
    let last_of = |part: usize| first + (part + 1) * rest / parts - 1;
    let wanted: Vec<usize> = (0..first).chain((0..parts).map(last_of)).collect();
    let chosen = values.into_iter().enumerate().filter(|(index, _)| wanted.contains(index));
    chosen.map(|(_, value)| value).collect()
}

/// Each part at its edge, the others as usual.
fn tuple(maker: &mut Maker<'_, '_>, items: &[Shape], name: &str, depth: usize) -> Vec<Value> {
    let usual: Vec<Value> =
        items.iter().map(|item| maker.make(item, name, Style::Typical)).collect();
    let mut lists = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let edges = spread(nested(maker, item, name, depth + 1), PER_PART).into_iter();
        let changed = edges.map(|value| {
            let mut changed = usual.clone();
            changed[index] = value;
            Value::Tuple(changed)
        });
        lists.push(changed.collect());
    }
    interleaved(lists)
}

/// Only what has to be there, then each field at its edge.
fn record(maker: &mut Maker<'_, '_>, fields: &[super::shape::Field], depth: usize) -> Vec<Value> {
    let pair = |maker: &mut Maker<'_, '_>, field: &super::shape::Field| {
        let value = maker.make(&field.shape, &field.name, Style::Typical);
        (Value::from(field.name.as_str()), value)
    };
    let required = fields.iter().filter(|field| field.required);
    let least: Vec<_> = required.map(|field| pair(maker, field)).collect();
    let mut values = vec![Value::Dict(least)];
    let usual: Vec<_> = fields.iter().map(|field| pair(maker, field)).collect();
    let mut lists = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let edges = nested(maker, &field.shape, &field.name, depth + 1);
        let changed = spread(edges, PER_PART).into_iter().map(|value| {
            let mut changed = usual.clone();
            changed[index].1 = value;
            Value::Dict(changed)
        });
        lists.push(changed.collect());
    }
    values.extend(interleaved(lists));
    values
}

/// Each parameter of the constructor at its edge, the others as usual.
fn instance(maker: &mut Maker<'_, '_>, dotted: &str, depth: usize) -> Vec<Value> {
    let Some(class) = maker.facts.class(dotted) else { return Vec::new() };
    match class.kind {
        ClassKind::Enum => return members(class),
        ClassKind::TypedDict => return record(maker, &maker.fields(dotted, class), depth),
        _ => {}
    }
    let Some((class, guesses)) = maker.takes(class) else { return Vec::new() };
    let usual = maker.slots(&guesses, Choice::TYPICAL);
    let complete = maker.slots(&guesses, Choice::COMPLETE);
    let mut lists = Vec::new();
    for (index, guess) in guesses.iter().enumerate() {
        let shape = guess.best().clone();
        let edges = spread(nested(maker, &shape, &guess.name, depth + 1), PER_PART);
        let made = edges.into_iter().map(|value| {
            // What comes before a positional argument has to be given too.
            let is_positional = guess.kind == ParamKind::PositionalOnly;
            let mut slots = if is_positional { complete.clone() } else { usual.clone() };
            slots[index] = Some(in_place(guess.kind, value));
            let (args, kwargs) = assembled(&guesses, slots);
            Value::New { class: class.clone(), args, kwargs }
        });
        lists.push(made.collect());
    }
    let mut values = interleaved(lists);
    values.truncate(MAX_INSTANCES);
    values
}

/// All members of an enumeration.
fn members(class: &Class) -> Vec<Value> {
    let name = |member: &String| {
        let qualname = format!("{}.{member}", class.qualname);
        menace_model::Reference::new(&class.module, &qualname).ok().map(Value::Name)
    };
    class.members.iter().filter_map(name).collect()
}

fn bounded(maker: &mut Maker<'_, '_>, inner: &Shape, bounds: &Bounds, name: &str) -> Vec<Value> {
    let number = |number: f64| match inner.bare() {
        Shape::Int => Value::Int(number as i64),
        _ => Value::Float(number),
    };
    let mut values: Vec<Value> =
        [bounds.low, bounds.high].into_iter().flatten().map(number).collect();
    for length in [bounds.shortest, bounds.longest].into_iter().flatten() {
        values.push(match inner.bare() {
            Shape::List(item) => {
                repeated(Value::List(vec![maker.make(item, name, Style::Typical)]), length)
            }
            Shape::Bytes => repeated(Value::Bytes(b"x".to_vec()), length),
            _ => repeated(Value::from("x"), length),
        });
    }
    values
}

pub(crate) fn repeated(value: Value, times: u64) -> Value {
    Value::Repeat { value: Box::new(value), times }
}

/// One of each, then the next of each.
pub(crate) fn interleaved<T>(lists: Vec<Vec<T>>) -> Vec<T> {
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
