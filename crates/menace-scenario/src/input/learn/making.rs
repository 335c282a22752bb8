//! How values were made: as calls that can be made again.

use menace_model::{MethodCall, Reference, SectionKind, Value};

use super::MAX_PARTS;
use super::value::class_of;
use crate::input::Input;
use crate::input::facts::Told;

/// The call of the section as a value.
pub(super) fn call_of(told: Told<'_>, input: &Input) -> Option<Value> {
    let qualname = told.section.id.qualname();
    let qualname = qualname.split_once('#').map_or(qualname, |(name, _)| name);
    let (class, name) = qualname.rsplit_once('.').unwrap_or(("", qualname));
    let (args, kwargs) = (input.args.clone(), input.kwargs.clone());
    let called = |name: &str| Reference::new(told.module, name).ok();
    let on = input.receiver.clone().map(Box::new);
    match told.section.kind {
        SectionKind::Method if matches!(name, "__init__" | "__new__") => {
            Some(Value::New { class: called(class)?, args, kwargs })
        }
        SectionKind::Method => Some(Value::Method { on: on?, name: name.to_owned(), args, kwargs }),
        SectionKind::Property => {
            let name = vec![Value::from(name)];
            let getter = "__getattribute__".to_owned();
            Some(Value::Method { on: on?, name: getter, args: name, kwargs: Vec::new() })
        }
        SectionKind::Nested | SectionKind::Module => None,
        _ if told.section.is_async || told.section.is_generator => None,
        _ => Some(Value::New { class: called(qualname)?, args, kwargs }),
    }
}

/// How a value was made: by which function, with which kinds of arguments and which short words,
/// such as modes.
pub(super) fn character(value: &Value) -> String {
    let of = |value: &Value| match value {
        Value::Str(text) if text.as_bytes().len() <= 4 => format!("{text:?}"),
        Value::Bool(_) | Value::None => format!("{value:?}"),
        Value::New { class, .. } => class.to_string(),
        value => class_of(value).unwrap_or("?").to_owned(),
    };
    let (name, args, kwargs) = match value {
        Value::New { class, args, kwargs } => (class.to_string(), args, kwargs),
        Value::Method { on, name, args, kwargs } => {
            (format!("{}.{name}", character(on)), args, kwargs)
        }
        value => return of(value),
    };
    let args = args.iter().map(of);
    let kwargs = kwargs.iter().map(|(name, value)| format!("{name}={}", of(value)));
    format!("{name}({})", args.chain(kwargs).collect::<Vec<_>>().join(", "))
}

/// How many values a value is made of.
pub(super) fn parts(value: &Value) -> usize {
    let given = |args: &[Value], kwargs: &[(String, Value)]| -> usize {
        args.iter().map(parts).sum::<usize>()
            + kwargs.iter().map(|(_, value)| parts(value)).sum::<usize>()
    };
    1 + match value {
        Value::List(items)
        | Value::Tuple(items)
        | Value::Set(items)
        | Value::FrozenSet(items)
        | Value::Yields(items) => items.iter().map(parts).sum(),
        Value::Dict(pairs) => pairs.iter().map(|(key, value)| parts(key) + parts(value)).sum(),
        Value::New { args, kwargs, .. } => given(args, kwargs),
        Value::Method { on, args, kwargs, .. } => parts(on) + given(args, kwargs),
        Value::After { value, calls } => {
            let calls = calls.iter().map(|MethodCall { args, kwargs, .. }| given(args, kwargs));
            parts(value) + calls.sum::<usize>()
        }
        Value::Stub { members, args, kwargs, .. } => given(args, kwargs) + given(&[], members),
        // Labels could meet others with the same number.
        Value::Shared { .. } | Value::Again(_) => MAX_PARTS,
        _ => 0,
    }
}
