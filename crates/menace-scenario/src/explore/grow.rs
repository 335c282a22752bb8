//! Larger versions of an input: one part of it grows, the rest stays.

use menace_model::{Reference, Value};

use crate::input::Input;

/// How a part can grow. Which way hurts depends on the code: equal items, different ones, a near
/// match that fails at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Letters,
    Words,
    Digits,
    AlmostMatching,
    Brackets,
    Blanks,
    Itself,
    Numbers,
    Names,
    Entries,
}

const TEXT: [Way; 7] = [
    Way::Letters,
    Way::Words,
    Way::AlmostMatching,
    Way::Digits,
    Way::Brackets,
    Way::Blanks,
    Way::Itself,
];
const NUMBERS: [Way; 1] = [Way::Numbers];
const NAMES: [Way; 1] = [Way::Names];
const ITEMS: [Way; 1] = [Way::Itself];
const ENTRIES: [Way; 1] = [Way::Entries];

/// The parts of an input that can grow, as (part, how many ways).
pub(super) fn parts(input: &Input) -> Vec<(usize, usize)> {
    let values = input.args.iter().chain(input.kwargs.iter().map(|(_, value)| value));
    let ways = values.map(|value| ways(value).len()).enumerate();
    ways.filter(|(_, count)| *count > 0).collect()
}

/// The input with its `part` grown to about `size` items.
pub(super) fn grown(input: &Input, part: usize, way: usize, size: u64) -> Option<Input> {
    let mut input = input.clone();
    let given = input.args.len();
    let value = match part.checked_sub(given) {
        None => input.args.get_mut(part)?,
        Some(keyword) => &mut input.kwargs.get_mut(keyword)?.1,
    };
    let way = *ways(value).get(way)?;
    *value = larger(value, way, size)?;
    Some(input)
}

fn ways(value: &Value) -> &'static [Way] {
    match value {
        Value::Str(_) => &TEXT,
        Value::Bytes(_) => &ITEMS,
        Value::List(items) | Value::Tuple(items) => match items.first() {
            None | Some(Value::Int(_) | Value::Float(_)) => &NUMBERS,
            Some(Value::Str(_)) => &NAMES,
            Some(_) => &ITEMS,
        },
        Value::Dict(_) => &ENTRIES,
        _ => &[],
    }
}

fn larger(value: &Value, way: Way, size: u64) -> Option<Value> {
    let repeated = |text: &str| repeat(Value::from(text), size / text.len().max(1) as u64);
    Some(match way {
        Way::Letters => repeated("a"),
        Way::Words => repeated("ab cd, "),
        Way::Digits => repeated("7"),
        Way::Brackets => repeated("("),
        Way::AlmostMatching => ending(repeated("a"), "!"),
        Way::Blanks => ending(repeated(" "), "x"),
        Way::Itself => repeat(value.clone(), (size / length(value)).max(1)),
        Way::Numbers => of_class(value, numbers(size)?)?,
        Way::Names => of_class(value, names(size)?)?,
        Way::Entries => {
            let pairs = call("builtins:zip", vec![names(size)?, numbers(size)?])?;
            call("builtins:dict", vec![pairs])?
        }
    })
}

/// The text, and something behind it that does not go with it.
fn ending(text: Value, end: &str) -> Value {
    Value::Method {
        on: Box::new(text),
        name: "__add__".to_owned(),
        args: vec![Value::from(end)],
        kwargs: Vec::new(),
    }
}

fn length(value: &Value) -> u64 {
    let length = match value {
        Value::Str(text) => text.as_bytes().len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) | Value::Tuple(items) => items.len(),
        _ => 1,
    };
    length.max(1) as u64
}

fn repeat(value: Value, times: u64) -> Value {
    Value::Repeat { value: Box::new(value), times }
}

fn numbers(size: u64) -> Option<Value> {
    call("builtins:range", vec![Value::Int(i64::try_from(size).ok()?)])
}

fn names(size: u64) -> Option<Value> {
    let text = Value::Name("builtins:str".parse().ok()?);
    call("builtins:map", vec![text, numbers(size)?])
}

fn of_class(like: &Value, items: Value) -> Option<Value> {
    let class = if matches!(like, Value::Tuple(_)) { "builtins:tuple" } else { "builtins:list" };
    call(class, vec![items])
}

fn call(class: &str, args: Vec<Value>) -> Option<Value> {
    let class: Reference = class.parse().ok()?;
    Some(Value::New { class, args, kwargs: Vec::new() })
}
