//! Containers: empty, with one item, with many, in each other, in themselves.

use menace_model::Value;

use super::repeated;
use crate::input::make::{Maker, Style, hashable, name_of, new};
use crate::input::shape::Shape;

/// Labels of values that hold themselves; nothing else gives labels to inputs.
pub(super) const CYCLE: u32 = 1_000_000;

pub(super) fn lists(maker: &mut Maker<'_, '_>, item: &Shape, name: &str) -> Vec<Value> {
    let usual = maker.make(item, name, Style::Typical);
    let mut values = vec![
        Value::List(Vec::new()),
        Value::List(vec![usual.clone()]),
        Value::List(vec![usual.clone(), usual.clone()]),
        repeated(Value::List(vec![usual]), 1000),
    ];
    if takes_lists(item) {
        values.push(Value::Shared {
            label: CYCLE,
            value: Box::new(Value::List(vec![Value::Again(CYCLE)])),
        });
        values.push(deep(b"]", b"a"));
    }
    values
}

pub(super) fn dicts(
    maker: &mut Maker<'_, '_>,
    key: &Shape,
    value: &Shape,
    name: &str,
) -> Vec<Value> {
    let usual = maker.make(value, name, Style::Typical);
    let one = self::key(maker, key);
    let mut values = vec![Value::Dict(Vec::new()), Value::Dict(vec![(one.clone(), usual.clone())])];
    if matches!(key, Shape::Any | Shape::Str(_)) {
        values.push(Value::Dict(vec![(Value::from(""), usual.clone())]));
        values.push(Value::Dict(vec![(Value::from("__class__"), usual.clone())]));
    }
    if takes_lists(value) {
        let itself = vec![(one, Value::Again(CYCLE + 1))];
        values.push(Value::Shared { label: CYCLE + 1, value: Box::new(Value::Dict(itself)) });
        values.push(deep(b"}U\x01a", b"s"));
    }
    if let Some(keys) = many(key) {
        values.push(new("builtins:dict.fromkeys", vec![keys, usual]));
    }
    values
}

/// A key that a dict may well have.
pub(super) fn key(maker: &mut Maker<'_, '_>, shape: &Shape) -> Value {
    match shape {
        Shape::Any => Value::from("key"),
        shape => hashable(maker.make(shape, "key", Style::Typical)),
    }
}

pub(super) fn sets(
    maker: &mut Maker<'_, '_>,
    item: &Shape,
    name: &str,
    class: &str,
    around: fn(Vec<Value>) -> Value,
) -> Vec<Value> {
    let one = hashable(maker.make(item, name, Style::Typical));
    let mut values = vec![around(Vec::new()), around(vec![one])];
    values.extend(many(item).map(|items| new(class, vec![items])));
    values
}

/// A thousand of them, no two alike; made by Python, because a list of them would be long.
fn many(shape: &Shape) -> Option<Value> {
    let numbers = new("builtins:range", vec![Value::Int(1000)]);
    match shape.bare() {
        Shape::Any | Shape::Int | Shape::Float => Some(numbers),
        Shape::Str(_) => Some(new("builtins:map", vec![name_of("builtins:str"), numbers])),
        _ => None,
    }
}

/// Nested deeper than Python recurses; made by Python, because no notation is that deep, and from a
/// pickle, because no parser is.
pub(super) fn deep(open: &[u8], close: &[u8]) -> Value {
    const LEVELS: u64 = 1500;
    let plus = |on: Value, more: Value| Value::Method {
        on: Box::new(on),
        name: "__add__".to_owned(),
        args: vec![more],
        kwargs: Vec::new(),
    };
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let opened = plus(repeated(bytes(open), LEVELS), bytes(b"]"));
    let closed = plus(repeated(bytes(close), LEVELS), bytes(b"."));
    new("pickle:loads", vec![plus(opened, closed)])
}

/// May something of that shape be a container itself?
fn takes_lists(shape: &Shape) -> bool {
    match shape.bare() {
        Shape::Any | Shape::List(_) | Shape::Dict(..) => true,
        Shape::Union(shapes) => shapes.iter().any(takes_lists),
        _ => false,
    }
}
