//! Python values to and from `marshal`, by the tags of `docs/guest-protocol.md`.

use menace_model::{MethodCall, PyStr, Value};

use super::marshal::{Item, Writer};

/// Writes a value as the harness reads it.
pub(crate) fn write(out: &mut Writer, value: &Value) {
    match value {
        Value::None => out.none(),
        Value::Bool(value) => out.bool(*value),
        Value::Int(value) => out.int(*value),
        Value::Float(value) => out.float(*value),
        Value::Str(text) => out.wtf8(text.as_bytes()),
        Value::Bytes(bytes) => out.bytes(bytes),
        Value::BigInt(value) => {
            tagged(out, "i", 1);
            let sign = if value.is_negative() { "-" } else { "" };
            out.str(&format!("{sign}{}", value.hex()));
        }
        Value::Complex { re, im } => {
            tagged(out, "c", 2);
            out.float(*re);
            out.float(*im);
        }
        Value::ByteArray(bytes) => {
            tagged(out, "a", 1);
            out.bytes(bytes);
        }
        Value::Ellipsis => tagged(out, "e", 0),
        Value::List(items) => sequence(out, "l", items),
        Value::Tuple(items) => sequence(out, "t", items),
        Value::Set(items) => sequence(out, "s", items),
        Value::FrozenSet(items) => sequence(out, "z", items),
        Value::Dict(pairs) => {
            tagged(out, "d", 1);
            out.list(pairs.len());
            for (key, value) in pairs {
                out.list(2);
                write(out, key);
                write(out, value);
            }
        }
        Value::Name(name) => {
            tagged(out, "r", 1);
            out.str(&name.to_string());
        }
        Value::New { class, args, kwargs } => {
            tagged(out, "n", 3);
            out.str(&class.to_string());
            arguments(out, args, kwargs);
        }
        Value::Method { on, name, args, kwargs } => {
            tagged(out, "m", 4);
            write(out, on);
            out.str(name);
            arguments(out, args, kwargs);
        }
        Value::Repeat { value, times } => {
            tagged(out, "x", 2);
            write(out, value);
            out.unsigned(false, *times);
        }
        Value::Shared { label, value } => {
            tagged(out, "g", 2);
            out.int(i64::from(*label));
            write(out, value);
        }
        Value::Again(label) => {
            tagged(out, "v", 1);
            out.int(i64::from(*label));
        }
        Value::Returns(value) => {
            tagged(out, "f", 1);
            write(out, value);
        }
        Value::Raises(value) => {
            tagged(out, "b", 1);
            write(out, value);
        }
        Value::Yields(items) => sequence(out, "y", items),
        Value::Argument(number) => {
            tagged(out, "k", 1);
            out.int(i64::from(*number));
        }
        Value::Async(value) => {
            tagged(out, "w", 1);
            write(out, value);
        }
        Value::Stub { bases, members, args, kwargs } => {
            tagged(out, "o", 4);
            out.list(bases.len());
            for base in bases {
                out.str(&base.to_string());
            }
            named(out, members);
            arguments(out, args, kwargs);
        }
        Value::After { value, calls } => {
            tagged(out, "h", 2);
            write(out, value);
            out.list(calls.len());
            for MethodCall { name, args, kwargs } in calls {
                out.list(3);
                out.str(name);
                arguments(out, args, kwargs);
            }
        }
    }
}

/// Positional arguments as a list, keyword arguments as a list of pairs.
pub(crate) fn arguments(out: &mut Writer, args: &[Value], kwargs: &[(String, Value)]) {
    out.list(args.len());
    for value in args {
        write(out, value);
    }
    named(out, kwargs);
}

fn named(out: &mut Writer, values: &[(String, Value)]) {
    out.list(values.len());
    for (name, value) in values {
        out.list(2);
        out.str(name);
        write(out, value);
    }
}

fn tagged(out: &mut Writer, tag: &str, rest: usize) {
    out.tuple(rest + 1);
    out.str(tag);
}

fn sequence(out: &mut Writer, tag: &str, items: &[Value]) {
    tagged(out, tag, 1);
    out.list(items.len());
    for item in items {
        write(out, item);
    }
}

/// Reads the typed copy of a result. Nothing when it is not one: it comes from the guest.
pub(crate) fn read(item: &Item) -> Option<Value> {
    nested(item, 0)
}

fn nested(item: &Item, depth: usize) -> Option<Value> {
    if depth > Value::MAX_DEPTH / 2 {
        return None;
    }
    let tuple = match item {
        Item::None => return Some(Value::None),
        Item::Bool(value) => return Some(Value::Bool(*value)),
        Item::Int(value) => return Some(Value::Int(*value)),
        Item::Long { negative, magnitude } => return big(*negative, magnitude),
        Item::Float(value) => return Some(Value::Float(*value)),
        Item::Str(bytes) => return PyStr::from_bytes(bytes.clone()).map(Value::Str),
        Item::Bytes(bytes) => return Some(Value::Bytes(bytes.clone())),
        Item::Tuple(items) => items,
        Item::Complex(..) | Item::List(_) | Item::Dict(_) | Item::Ellipsis => return None,
    };
    let (tag, rest) = tuple.split_first()?;
    let all = |items: &[Item]| -> Option<Vec<Value>> {
        items.iter().map(|item| nested(item, depth + 1)).collect()
    };
    let label = |item: &Item| item.as_int().and_then(|label| u32::try_from(label).ok());
    Some(match (tag.as_text()?.as_str(), rest) {
        ("l", [Item::List(items)]) => Value::List(all(items)?),
        ("t", [Item::List(items)]) => Value::Tuple(all(items)?),
        ("s", [Item::List(items)]) => Value::Set(all(items)?),
        ("z", [Item::List(items)]) => Value::FrozenSet(all(items)?),
        ("d", [Item::List(pairs)]) => {
            let pair = |pair: &Item| match pair.items() {
                [key, value] => Some((nested(key, depth + 1)?, nested(value, depth + 1)?)),
                _ => None,
            };
            Value::Dict(pairs.iter().map(pair).collect::<Option<_>>()?)
        }
        ("a", [Item::Bytes(bytes)]) => Value::ByteArray(bytes.clone()),
        ("c", [re, im]) => Value::Complex { re: re.as_float()?, im: im.as_float()? },
        ("i", [text]) => from_hex(&text.as_text()?)?,
        ("e", []) => Value::Ellipsis,
        ("g", [at, value]) => {
            Value::Shared { label: label(at)?, value: Box::new(nested(value, depth + 1)?) }
        }
        ("v", [at]) => Value::Again(label(at)?),
        _ => return None,
    })
}

fn big(negative: bool, magnitude: &[u8]) -> Option<Value> {
    use std::fmt::Write;
    let mut digits = String::new();
    for byte in magnitude.iter().rev() {
        write!(digits, "{byte:02x}").ok()?;
    }
    Value::integer_from_hex(negative, &digits)
}

/// `-ff` or, as Python writes it, `-0xff`.
fn from_hex(text: &str) -> Option<Value> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    Value::integer_from_hex(negative, digits.strip_prefix("0x").unwrap_or(digits))
}
