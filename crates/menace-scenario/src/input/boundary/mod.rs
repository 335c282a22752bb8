//! Values at the edge of a shape: the empty, the huge, the odd. They belong to every type, always.

mod bytes;
mod containers;
mod numbers;
mod paths;
mod text;

use menace_model::Value;

use super::make::{Maker, Style, known, path_by_name};
use super::shape::{Bounds, Shape};

/// Shapes inside of shapes are followed that far.
const MAX_DEPTH: usize = 2;

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
            let one = super::make::hashable(maker.make(item, name, Style::Typical));
            vec![Value::Set(Vec::new()), Value::Set(vec![one])]
        }
        Shape::FrozenSet(item) => {
            let one = super::make::hashable(maker.make(item, name, Style::Typical));
            vec![Value::FrozenSet(Vec::new()), Value::FrozenSet(vec![one])]
        }
        Shape::Dict(key, value) => containers::dicts(maker, key, value, name),
        Shape::Record(fields) => record(maker, fields, depth),
        Shape::Iterator(item) => {
            let one = maker.make(item, name, Style::Typical);
            let iterate = |items| super::make::new("builtins:iter", vec![Value::List(items)]);
            vec![iterate(Vec::new()), iterate(vec![one])]
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
        Shape::Instance(class) => members(maker, class),
        Shape::Function { .. } => vec![Value::Returns(Box::new(Value::None))],
        Shape::About(topic, inner) => nested(maker, inner, topic, depth),
        Shape::Bounded(inner, bounds) => bounded(maker, inner, bounds, name),
        Shape::Any
        | Shape::None
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
    nested(maker, item, name, depth + 1).into_iter().take(8).map(around).collect()
}

/// Each part at its edge, the others as usual.
fn tuple(maker: &mut Maker<'_, '_>, items: &[Shape], name: &str, depth: usize) -> Vec<Value> {
    let usual: Vec<Value> =
        items.iter().map(|item| maker.make(item, name, Style::Typical)).collect();
    let mut values = Vec::new();
    for (index, item) in items.iter().enumerate() {
        for value in nested(maker, item, name, depth + 1).into_iter().take(6) {
            let mut changed = usual.clone();
            changed[index] = value;
            values.push(Value::Tuple(changed));
        }
    }
    values
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
    for (index, field) in fields.iter().enumerate() {
        for value in nested(maker, &field.shape, &field.name, depth + 1).into_iter().take(6) {
            let mut changed = usual.clone();
            changed[index].1 = value;
            values.push(Value::Dict(changed));
        }
    }
    values
}

/// All members of an enumeration.
fn members(maker: &Maker<'_, '_>, dotted: &str) -> Vec<Value> {
    let Some(class) = maker.facts.class(dotted) else { return Vec::new() };
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
