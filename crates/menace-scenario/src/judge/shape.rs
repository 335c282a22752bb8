//! The types of an input, without its values: two inputs of one shape are meant for the same code.

use menace_model::{Call, Value};

/// How deep a shape looks.
const DEPTH: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape(String);

impl Shape {
    pub fn of(call: &Call) -> Self {
        Self(arguments(call).map(|(keyword, value)| keyword + &name(value, 0) + ",").collect())
    }

    /// The shapes of the same call with one list or set of it empty: that is of the same type.
    pub fn with_less(call: &Call) -> impl Iterator<Item = Self> {
        let names: Vec<String> =
            arguments(call).map(|(keyword, value)| keyword + &name(value, 0) + ",").collect();
        let emptied = arguments(call).enumerate().filter_map(|(at, (keyword, value))| {
            let empty = match value {
                Value::List(items) if !items.is_empty() => "[]",
                Value::Set(items) if !items.is_empty() => "{}",
                Value::FrozenSet(items) if !items.is_empty() => "f{}",
                _ => return None,
            };
            Some((at, keyword + empty + ","))
        });
        let emptied: Vec<_> = emptied.collect();
        emptied.into_iter().map(move |(at, empty)| {
            let mut names = names.clone();
            names[at] = empty;
            Self(names.concat())
        })
    }
}

fn arguments(call: &Call) -> impl Iterator<Item = (String, &Value)> {
    let named = call.kwargs.iter().map(|(keyword, value)| (format!("{keyword}="), value));
    call.args.iter().map(|value| (String::new(), value)).chain(named)
}

fn name(value: &Value, depth: usize) -> String {
    let inside = |open: &str, items: &[Value], close: &str| {
        if depth >= DEPTH {
            return format!("{open}…{close}");
        }
        let mut names: Vec<String> = items.iter().map(|item| name(item, depth + 1)).collect();
        names.sort();
        names.dedup();
        format!("{open}{}{close}", names.join("|"))
    };
    match value {
        Value::None => "None".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Int(_) | Value::BigInt(_) => "int".to_owned(),
        Value::Float(_) => "float".to_owned(),
        Value::Complex { .. } => "complex".to_owned(),
        Value::Str(_) => "str".to_owned(),
        Value::Bytes(_) => "bytes".to_owned(),
        Value::ByteArray(_) => "bytearray".to_owned(),
        Value::List(items) => inside("[", items, "]"),
        Value::Tuple(items) if depth < DEPTH => {
            // Positions of a tuple mean something.
            let names: Vec<String> = items.iter().map(|item| name(item, depth + 1)).collect();
            format!("({})", names.join(","))
        }
        Value::Tuple(_) => "(…)".to_owned(),
        Value::Set(items) => inside("{", items, "}"),
        Value::FrozenSet(items) => inside("f{", items, "}"),
        Value::Dict(pairs) => {
            let mut names: Vec<String> = pairs
                .iter()
                .map(|(key, value)| match key {
                    Value::Str(text) if depth < DEPTH => {
                        let key = String::from_utf8_lossy(text.as_bytes()).into_owned();
                        format!("{key:?}:{}", name(value, depth + 1))
                    }
                    _ => format!("{}:…", name(key, depth + 1)),
                })
                .collect();
            names.sort();
            format!("{{{}}}", names.join(","))
        }
        Value::Ellipsis => "...".to_owned(),
        Value::Name(reference) => reference.to_string(),
        Value::New { class, .. } => class.to_string(),
        Value::Repeat { value, .. } | Value::Shared { value, .. } | Value::After { value, .. } => {
            name(value, depth)
        }
        Value::Method { on, name: method, .. } => format!("{}.{method}()", name(on, depth)),
        Value::Stub { .. } => "stub".to_owned(),
        Value::Returns(_) | Value::Raises(_) | Value::Argument(_) => "function".to_owned(),
        Value::Yields(_) => "generator function".to_owned(),
        Value::Async(_) => "coroutine function".to_owned(),
        Value::Again(_) => "again".to_owned(),
    }
}
