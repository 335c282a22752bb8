//! Candidates for a value: one step simpler, the simplest first.
//!
//! Invariant: a candidate is of the declared type or, without one, of the same kind as the value.

use menace_model::{MethodCall, PyString, TypeExpr, Value};

use super::scalars::{plainer_texts, shorter_sequences};
use super::scalars::{simpler_big_integers, simpler_counts, simpler_floats, simpler_integers};
use super::types::{self, is_same_kind};

pub(super) fn simpler_values(value: &Value, declared: Option<&TypeExpr>) -> Vec<Value> {
    if declared.is_some_and(|declared| matches!(declared, TypeExpr::Literal(_))) {
        return Vec::new();
    }
    let mut simpler = Vec::new();
    if *value != Value::None && declared.is_some_and(types::admits_none) {
        simpler.push(Value::None);
    }
    simpler.extend(inner_values(value, declared));
    simpler.extend(simpler_of_same_kind(value, declared));
    simpler
}

/// Children of a value that may replace it.
fn inner_values(value: &Value, declared: Option<&TypeExpr>) -> Vec<Value> {
    let mut parts = Vec::new();
    let fits = |part: &Value| match declared {
        Some(declared) => types::admits_value(declared, part),
        None => is_same_kind(part, value),
    };
    value.each_child(&mut |part| {
        // The inner value of a repetition, a label, preparation calls or a method call.
        let bare = matches!(value, Value::Repeat { .. } | Value::Shared { .. });
        let bare = bare || matches!(value, Value::After { value, .. } if **value == *part);
        let bare = bare || matches!(value, Value::Method { on, .. } if **on == *part);
        if bare || fits(part) {
            parts.push(part.clone());
        }
    });
    parts
}

fn simpler_of_same_kind(value: &Value, declared: Option<&TypeExpr>) -> Vec<Value> {
    match value {
        Value::Bool(true) => vec![Value::Bool(false)],
        Value::Int(number) => simpler_integers(*number).into_iter().map(Value::Int).collect(),
        Value::BigInt(number) => simpler_big_integers(number),
        Value::Float(number) => simpler_floats(*number).into_iter().map(Value::Float).collect(),
        Value::Complex { re, im } => {
            let other_re = simpler_floats(*re).into_iter().map(|re| Value::Complex { re, im: *im });
            let other_im = simpler_floats(*im).into_iter().map(|im| Value::Complex { re: *re, im });
            other_re.chain(other_im).collect()
        }
        Value::Str(text) => {
            let points: Vec<u32> = text.code_points().collect();
            let all = shorter_sequences(&points).into_iter().chain(plainer_texts(&points));
            all.filter_map(|points| PyString::from_code_points(points).map(Value::Str)).collect()
        }
        Value::Bytes(bytes) => simpler_bytes(bytes).into_iter().map(Value::Bytes).collect(),
        Value::ByteArray(bytes) => simpler_bytes(bytes).into_iter().map(Value::ByteArray).collect(),
        Value::List(items) => shorter_sequences(items).into_iter().map(Value::List).collect(),
        Value::Tuple(_) if declared.is_some_and(types::has_fixed_length) => Vec::new(),
        Value::Tuple(items) => shorter_sequences(items).into_iter().map(Value::Tuple).collect(),
        Value::Set(items) => shorter_sequences(items).into_iter().map(Value::Set).collect(),
        Value::FrozenSet(items) => {
            shorter_sequences(items).into_iter().map(Value::FrozenSet).collect()
        }
        // A typed dictionary needs its keys.
        Value::Dict(_) if declared.is_some_and(types::is_named_dict_type) => Vec::new(),
        Value::Dict(pairs) => shorter_sequences(pairs).into_iter().map(Value::Dict).collect(),
        Value::Yields(items) => shorter_sequences(items).into_iter().map(Value::Yields).collect(),
        Value::Repeat { value, times } => {
            let fewer = simpler_counts(*times).into_iter();
            fewer.map(|times| Value::Repeat { value: value.clone(), times }).collect()
        }
        Value::New { class, args, kwargs } => fewer_arguments(args, kwargs)
            .into_iter()
            .map(|(args, kwargs)| Value::New { class: class.clone(), args, kwargs })
            .collect(),
        Value::Method { on, name, args, kwargs } => fewer_arguments(args, kwargs)
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
            let members_less = shorter_sequences(members).into_iter();
            let members_less = members_less.map(|less| stub(less, args.clone(), kwargs.clone()));
            let argument_lists = fewer_arguments(args, kwargs).into_iter();
            let stubs = argument_lists.map(|(args, kwargs)| stub(members.clone(), args, kwargs));
            members_less.chain(stubs).collect()
        }
        Value::After { value, calls } => fewer_method_calls(value, calls),
        _ => Vec::new(),
    }
}

fn simpler_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let points: Vec<u32> = bytes.iter().map(|byte| u32::from(*byte)).collect();
    let plainer = plainer_texts(&points).into_iter().filter_map(|points| {
        points.into_iter().map(|point| u8::try_from(point).ok()).collect::<Option<Vec<u8>>>()
    });
    shorter_sequences(bytes).into_iter().chain(plainer).collect()
}

type KeywordArgument = (String, Value);

/// Removes keyword arguments in any order, positional ones from the end.
fn fewer_arguments(
    args: &[Value],
    kwargs: &[KeywordArgument],
) -> Vec<(Vec<Value>, Vec<KeywordArgument>)> {
    let named = shorter_sequences(kwargs).into_iter().map(|kwargs| (args.to_vec(), kwargs));
    let last = args.split_last().map(|(_, rest)| (rest.to_vec(), kwargs.to_vec()));
    named.chain(last).collect()
}

fn fewer_method_calls(value: &Value, calls: &[MethodCall]) -> Vec<Value> {
    let with = |calls: Vec<MethodCall>| Value::After { value: Box::new(value.clone()), calls };
    let fewer = shorter_sequences(calls).into_iter().filter(|calls| !calls.is_empty());
    let mut simpler: Vec<Value> = fewer.map(with).collect();
    for (at, call) in calls.iter().enumerate() {
        for (args, kwargs) in fewer_arguments(&call.args, &call.kwargs) {
            let mut calls = calls.to_vec();
            calls[at] = MethodCall { name: call.name.clone(), args, kwargs };
            simpler.push(with(calls));
        }
    }
    simpler
}
