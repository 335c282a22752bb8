//! One step simpler: what a value can be replaced with, the simplest first.
//!
//! Invariant: an integer stays an integer, a list a list: what a declared type admits, and what a
//! section without declared types was given, stays of that type.

use menace_model::{MethodCall, PyStr, TypeExpr, Value};

use super::numbers::{big_integers, counts, floats, integers};
use super::text::{plainer, shorter};
use super::types::{self, is_same_kind};

pub(super) fn simpler(value: &Value, declared: Option<&TypeExpr>) -> Vec<Value> {
    if declared.is_some_and(|declared| matches!(declared, TypeExpr::Literal(_))) {
        return Vec::new();
    }
    let mut simpler = Vec::new();
    if *value != Value::None && declared.is_some_and(types::admits_none) {
        simpler.push(Value::None);
    }
    simpler.extend(parts(value, declared));
    simpler.extend(of_kind(value, declared));
    simpler
}

/// What is inside of a value may do instead of it.
fn parts(value: &Value, declared: Option<&TypeExpr>) -> Vec<Value> {
    let mut parts = Vec::new();
    let fits = |part: &Value| match declared {
        Some(declared) => types::admits(declared, part),
        None => is_same_kind(part, value),
    };
    value.each_child(&mut |part| {
        // Repeated once, labelled, or after nothing: it is the value itself.
        let bare = matches!(value, Value::Repeat { .. } | Value::Shared { .. });
        let bare = bare || matches!(value, Value::After { value, .. } if **value == *part);
        let bare = bare || matches!(value, Value::Method { on, .. } if **on == *part);
        if bare || fits(part) {
            parts.push(part.clone());
        }
    });
    parts
}

fn of_kind(value: &Value, declared: Option<&TypeExpr>) -> Vec<Value> {
    match value {
        Value::Bool(true) => vec![Value::Bool(false)],
        Value::Int(number) => integers(*number).into_iter().map(Value::Int).collect(),
        Value::BigInt(number) => big_integers(number),
        Value::Float(number) => floats(*number).into_iter().map(Value::Float).collect(),
        Value::Complex { re, im } => {
            let other_re = floats(*re).into_iter().map(|re| Value::Complex { re, im: *im });
            let other_im = floats(*im).into_iter().map(|im| Value::Complex { re: *re, im });
            other_re.chain(other_im).collect()
        }
        Value::Str(text) => {
            let points: Vec<u32> = text.code_points().collect();
            let all = shorter(&points).into_iter().chain(plainer(&points));
            all.filter_map(|points| PyStr::from_code_points(points).map(Value::Str)).collect()
        }
        Value::Bytes(bytes) => simpler_bytes(bytes).into_iter().map(Value::Bytes).collect(),
        Value::ByteArray(bytes) => simpler_bytes(bytes).into_iter().map(Value::ByteArray).collect(),
        Value::List(items) => shorter(items).into_iter().map(Value::List).collect(),
        Value::Tuple(_) if declared.is_some_and(types::has_fixed_length) => Vec::new(),
        Value::Tuple(items) => shorter(items).into_iter().map(Value::Tuple).collect(),
        Value::Set(items) => shorter(items).into_iter().map(Value::Set).collect(),
        Value::FrozenSet(items) => shorter(items).into_iter().map(Value::FrozenSet).collect(),
        // The keys of a class of dictionaries are its own.
        Value::Dict(_) if declared.is_some_and(types::names_its_keys) => Vec::new(),
        Value::Dict(pairs) => shorter(pairs).into_iter().map(Value::Dict).collect(),
        Value::Yields(items) => shorter(items).into_iter().map(Value::Yields).collect(),
        Value::Repeat { value, times } => {
            let fewer = counts(*times).into_iter();
            fewer.map(|times| Value::Repeat { value: value.clone(), times }).collect()
        }
        Value::New { class, args, kwargs } => fewer_given(args, kwargs)
            .into_iter()
            .map(|(args, kwargs)| Value::New { class: class.clone(), args, kwargs })
            .collect(),
        Value::Method { on, name, args, kwargs } => fewer_given(args, kwargs)
            .into_iter()
            .map(|(args, kwargs)| Value::Method {
                on: on.clone(),
                name: name.clone(),
                args,
                kwargs,
            })
            .collect(),
        Value::Stub { bases, members, args, kwargs } => {
            let stub = |members: Vec<(String, Value)>, args: Vec<Value>, kwargs| Value::Stub {
                bases: bases.clone(),
                members,
                args,
                kwargs,
            };
            let members_less = shorter(members).into_iter();
            let members_less = members_less.map(|less| stub(less, args.clone(), kwargs.clone()));
            let given = fewer_given(args, kwargs).into_iter();
            let given = given.map(|(args, kwargs)| stub(members.clone(), args, kwargs));
            members_less.chain(given).collect()
        }
        Value::After { value, calls } => after(value, calls),
        _ => Vec::new(),
    }
}

fn simpler_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let points: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
    let plainer = plainer(&points).into_iter().filter_map(|points| {
        points.into_iter().map(|point| u8::try_from(point).ok()).collect::<Option<Vec<u8>>>()
    });
    shorter(bytes).into_iter().chain(plainer).collect()
}

/// A keyword argument.
type Named = (String, Value);

/// Positional arguments go from the end, those with a name in any order.
fn fewer_given(args: &[Value], kwargs: &[Named]) -> Vec<(Vec<Value>, Vec<Named>)> {
    let named = shorter(kwargs).into_iter().map(|kwargs| (args.to_vec(), kwargs));
    let last = args.split_last().map(|(_, rest)| (rest.to_vec(), kwargs.to_vec()));
    named.chain(last).collect()
}

fn after(value: &Value, calls: &[MethodCall]) -> Vec<Value> {
    let with = |calls: Vec<MethodCall>| Value::After { value: Box::new(value.clone()), calls };
    let fewer = shorter(calls).into_iter().filter(|calls| !calls.is_empty());
    let mut simpler: Vec<Value> = fewer.map(with).collect();
    for (at, call) in calls.iter().enumerate() {
        for (args, kwargs) in fewer_given(&call.args, &call.kwargs) {
            let mut calls = calls.to_vec();
            calls[at] = MethodCall { name: call.name.clone(), args, kwargs };
            simpler.push(with(calls));
        }
    }
    simpler
}
