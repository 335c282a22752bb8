//! Calls whose size is a number, and the same at another size: what growth is measured with.
//!
//! A call that was found slow repeats a value or counts to a number; nothing else of it grows.

use menace_model::{Call, Value};

/// The largest number of times that something is repeated or counted to in the arguments.
pub fn largest_size(call: &Call) -> Option<u64> {
    let mut largest = None;
    let given = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
    given.for_each(|value| look(value, &mut largest));
    largest
}

fn look(value: &Value, largest: &mut Option<u64>) {
    if let Some(size) = size_of(value) {
        *largest = (*largest).max(Some(size));
    }
    value.each_child(&mut |child| look(child, largest));
}

fn size_of(value: &Value) -> Option<u64> {
    match value {
        Value::Repeat { times, .. } => Some(*times),
        Value::New { class, args, .. } if class.to_string() == "builtins:range" => {
            match &args[..] {
                [Value::Int(to)] => u64::try_from(*to).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The call with whatever has its largest size made of this one.
pub fn at_size(call: &Call, size: u64) -> Option<Call> {
    let largest = largest_size(call)?;
    let mut call = call.clone();
    let kwargs = call.kwargs.iter_mut().map(|(_, value)| value);
    call.args.iter_mut().chain(kwargs).for_each(|value| resize(value, largest, size));
    Some(call)
}

fn resize(value: &mut Value, from: u64, to: u64) {
    let grows = size_of(value) == Some(from);
    match value {
        Value::Repeat { times, value } => {
            if grows {
                *times = to;
            }
            resize(value, from, to);
        }
        Value::New { args, .. } if grows => *args = vec![Value::Int(to.cast_signed())],
        Value::New { args, kwargs, .. } => {
            let given = args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value));
            given.for_each(|value| resize(value, from, to));
        }
        Value::Method { on, args, .. } => {
            resize(on, from, to);
            for value in args {
                resize(value, from, to);
            }
        }
        _ => {}
    }
}
