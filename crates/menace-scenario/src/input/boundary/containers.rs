//! Boundary values of containers: empty, one item, many items, nested, cyclic.

use menace_model::Value;

use super::repeat_value;
use crate::input::make::{ValueMaker, ValueStyle, construct_by_name, to_hashable, value_of_name};
use crate::input::shape::ValueShape;

/// Labels of cyclic values; no other input has labels this large.
pub(super) const CYCLE_LABEL: u32 = 1_000_000;

pub(super) fn boundary_lists(
    maker: &mut ValueMaker<'_, '_>,
    item: &ValueShape,
    name: &str,
) -> Vec<Value> {
    let typical = maker.make_value(item, name, ValueStyle::Typical);
    let mut values = vec![
        Value::List(Vec::new()),
        Value::List(vec![typical.clone()]),
        Value::List(vec![typical.clone(), typical.clone()]),
        repeat_value(Value::List(vec![typical]), 1000),
    ];
    if may_hold_lists(item) {
        values.push(Value::Shared {
            label: CYCLE_LABEL,
            value: Box::new(Value::List(vec![Value::SharedRef(CYCLE_LABEL)])),
        });
        values.push(deeply_nested(b"]", b"a"));
    }
    values
}

pub(super) fn boundary_dicts(
    maker: &mut ValueMaker<'_, '_>,
    key: &ValueShape,
    value: &ValueShape,
    name: &str,
) -> Vec<Value> {
    let typical = maker.make_value(value, name, ValueStyle::Typical);
    let one = self::typical_key(maker, key);
    let mut values =
        vec![Value::Dict(Vec::new()), Value::Dict(vec![(one.clone(), typical.clone())])];
    if matches!(key, ValueShape::Any | ValueShape::Str(_)) {
        values.push(Value::Dict(vec![(Value::from(""), typical.clone())]));
        values.push(Value::Dict(vec![(Value::from("__class__"), typical.clone())]));
    }
    if may_hold_lists(value) {
        let itself = vec![(one, Value::SharedRef(CYCLE_LABEL + 1))];
        values.push(Value::Shared { label: CYCLE_LABEL + 1, value: Box::new(Value::Dict(itself)) });
        values.push(deeply_nested(b"}U\x01a", b"s"));
    }
    if let Some(keys) = many_distinct(key) {
        values.push(construct_by_name("builtins:dict.fromkeys", vec![keys, typical]));
    }
    values
}

pub(super) fn typical_key(maker: &mut ValueMaker<'_, '_>, shape: &ValueShape) -> Value {
    match shape {
        ValueShape::Any => Value::from("key"),
        shape => to_hashable(maker.make_value(shape, "key", ValueStyle::Typical)),
    }
}

pub(super) fn boundary_sets(
    maker: &mut ValueMaker<'_, '_>,
    item: &ValueShape,
    name: &str,
    class: &str,
    around: fn(Vec<Value>) -> Value,
) -> Vec<Value> {
    let one = to_hashable(maker.make_value(item, name, ValueStyle::Typical));
    let mut values = vec![around(Vec::new()), around(vec![one])];
    values.extend(many_distinct(item).map(|items| construct_by_name(class, vec![items])));
    values
}

/// A thousand different values. Python makes them, because a list of them would be long.
fn many_distinct(shape: &ValueShape) -> Option<Value> {
    let numbers = construct_by_name("builtins:range", vec![Value::Int(1000)]);
    match shape.without_bounds() {
        ValueShape::Any | ValueShape::Int | ValueShape::Float => Some(numbers),
        ValueShape::Str(_) => {
            Some(construct_by_name("builtins:map", vec![value_of_name("builtins:str"), numbers]))
        }
        _ => None,
    }
}

/// A container nested deeper than Python recurses. Python loads it from a pickle, because no JSON
/// parser reads such a depth.
pub(super) fn deeply_nested(open: &[u8], close: &[u8]) -> Value {
    const NESTING_LEVELS: u64 = 1500;
    let plus = |on: Value, more: Value| Value::Method {
        on: Box::new(on),
        name: "__add__".to_owned(),
        args: vec![more],
        kwargs: Vec::new(),
    };
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let opened = plus(repeat_value(bytes(open), NESTING_LEVELS), bytes(b"]"));
    let closed = plus(repeat_value(bytes(close), NESTING_LEVELS), bytes(b"."));
    construct_by_name("pickle:loads", vec![plus(opened, closed)])
}

/// May a value of the shape be a container?
fn may_hold_lists(shape: &ValueShape) -> bool {
    match shape.without_bounds() {
        ValueShape::Any | ValueShape::List(_) | ValueShape::Dict(..) => true,
        ValueShape::Union(shapes) => shapes.iter().any(may_hold_lists),
        _ => false,
    }
}
