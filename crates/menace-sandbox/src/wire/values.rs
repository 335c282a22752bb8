//! Converts Python values to and from `marshal`, with the tags of `docs/guest-protocol.md`.

use menace_model::{MethodCall, PyString, Value};

use super::marshal::{MarshalValue, MarshalWriter};

/// Writes a value in the form that the harness expects.
pub(crate) fn write_value(out: &mut MarshalWriter, value: &Value) {
    match value {
        Value::None => out.write_none(),
        Value::Bool(value) => out.write_bool(*value),
        Value::Int(value) => out.write_int(*value),
        Value::Float(value) => out.write_float(*value),
        Value::Str(text) => out.write_wtf8(text.as_bytes()),
        Value::Bytes(bytes) => out.write_bytes(bytes),
        Value::BigInt(value) => {
            write_tag(out, "i", 1);
            let sign = if value.is_negative() { "-" } else { "" };
            out.write_str(&format!("{sign}{}", value.hex()));
        }
        Value::Complex { re, im } => {
            write_tag(out, "c", 2);
            out.write_float(*re);
            out.write_float(*im);
        }
        Value::ByteArray(bytes) => {
            write_tag(out, "a", 1);
            out.write_bytes(bytes);
        }
        Value::Ellipsis => write_tag(out, "e", 0),
        Value::List(items) => write_sequence(out, "l", items),
        Value::Tuple(items) => write_sequence(out, "t", items),
        Value::Set(items) => write_sequence(out, "s", items),
        Value::FrozenSet(items) => write_sequence(out, "z", items),
        Value::Dict(pairs) => {
            write_tag(out, "d", 1);
            out.open_list(pairs.len());
            for (key, value) in pairs {
                out.open_list(2);
                write_value(out, key);
                write_value(out, value);
            }
        }
        Value::Name(name) => {
            write_tag(out, "r", 1);
            out.write_str(&name.to_string());
        }
        Value::New { class, args, kwargs } => {
            write_tag(out, "n", 3);
            out.write_str(&class.to_string());
            write_arguments(out, args, kwargs);
        }
        Value::Method { on, name, args, kwargs } => {
            write_tag(out, "m", 4);
            write_value(out, on);
            out.write_str(name);
            write_arguments(out, args, kwargs);
        }
        Value::Repeat { value, times } => {
            write_tag(out, "x", 2);
            write_value(out, value);
            out.write_magnitude(false, *times);
        }
        Value::Shared { label, value } => {
            write_tag(out, "g", 2);
            out.write_int(i64::from(*label));
            write_value(out, value);
        }
        Value::SharedRef(label) => {
            write_tag(out, "v", 1);
            out.write_int(i64::from(*label));
        }
        Value::Returns(value) => {
            write_tag(out, "f", 1);
            write_value(out, value);
        }
        Value::Raises(value) => {
            write_tag(out, "b", 1);
            write_value(out, value);
        }
        Value::Yields(items) => write_sequence(out, "y", items),
        Value::Argument(number) => {
            write_tag(out, "k", 1);
            out.write_int(i64::from(*number));
        }
        Value::Async(value) => {
            write_tag(out, "w", 1);
            write_value(out, value);
        }
        Value::Stub { bases, members, args, kwargs } => {
            write_tag(out, "o", 4);
            out.open_list(bases.len());
            for base in bases {
                out.write_str(&base.to_string());
            }
            write_named(out, members);
            write_arguments(out, args, kwargs);
        }
        Value::After { value, calls } => {
            write_tag(out, "h", 2);
            write_value(out, value);
            out.open_list(calls.len());
            for MethodCall { name, args, kwargs } in calls {
                out.open_list(3);
                out.write_str(name);
                write_arguments(out, args, kwargs);
            }
        }
    }
}

/// Positional arguments as a list, keyword arguments as a list of pairs.
pub(crate) fn write_arguments(out: &mut MarshalWriter, args: &[Value], kwargs: &[(String, Value)]) {
    out.open_list(args.len());
    for value in args {
        write_value(out, value);
    }
    write_named(out, kwargs);
}

fn write_named(out: &mut MarshalWriter, values: &[(String, Value)]) {
    out.open_list(values.len());
    for (name, value) in values {
        out.open_list(2);
        out.write_str(name);
        write_value(out, value);
    }
}

fn write_tag(out: &mut MarshalWriter, tag: &str, rest: usize) {
    out.open_tuple(rest + 1);
    out.write_str(tag);
}

fn write_sequence(out: &mut MarshalWriter, tag: &str, items: &[Value]) {
    write_tag(out, tag, 1);
    out.open_list(items.len());
    for item in items {
        write_value(out, item);
    }
}

/// Reads the typed copy of a result; nothing when it is malformed, since it comes from the guest,
/// or nested deeper than a value can be written as JSON: a dictionary takes up to three levels.
pub(crate) fn parse_value(item: &MarshalValue) -> Option<Value> {
    parse_nested(item, 0).filter(|value| value.depth() <= Value::MAX_DEPTH)
}

fn parse_nested(item: &MarshalValue, depth: usize) -> Option<Value> {
    if depth > Value::MAX_DEPTH / 2 {
        return None;
    }
    let tuple = match item {
        MarshalValue::None => return Some(Value::None),
        MarshalValue::Bool(value) => return Some(Value::Bool(*value)),
        MarshalValue::Int(value) => return Some(Value::Int(*value)),
        MarshalValue::BigInt { negative, magnitude } => return parse_big_int(*negative, magnitude),
        MarshalValue::Float(value) => return Some(Value::Float(*value)),
        MarshalValue::Str(bytes) => return PyString::from_bytes(bytes.clone()).map(Value::Str),
        MarshalValue::Bytes(bytes) => return Some(Value::Bytes(bytes.clone())),
        MarshalValue::Tuple(items) => items,
        MarshalValue::Complex(..)
        | MarshalValue::List(_)
        | MarshalValue::Dict(_)
        | MarshalValue::Ellipsis => return None,
    };
    let (tag, rest) = tuple.split_first()?;
    let all = |items: &[MarshalValue]| -> Option<Vec<Value>> {
        items.iter().map(|item| parse_nested(item, depth + 1)).collect()
    };
    let label = |item: &MarshalValue| item.as_int().and_then(|label| u32::try_from(label).ok());
    Some(match (tag.as_text()?.as_str(), rest) {
        ("l", [MarshalValue::List(items)]) => Value::List(all(items)?),
        ("t", [MarshalValue::List(items)]) => Value::Tuple(all(items)?),
        ("s", [MarshalValue::List(items)]) => Value::Set(all(items)?),
        ("z", [MarshalValue::List(items)]) => Value::FrozenSet(all(items)?),
        ("d", [MarshalValue::List(pairs)]) => {
            let pair = |pair: &MarshalValue| match pair.items() {
                [key, value] => {
                    Some((parse_nested(key, depth + 1)?, parse_nested(value, depth + 1)?))
                }
                _ => None,
            };
            Value::Dict(pairs.iter().map(pair).collect::<Option<_>>()?)
        }
        ("a", [MarshalValue::Bytes(bytes)]) => Value::ByteArray(bytes.clone()),
        ("c", [re, im]) => Value::Complex { re: re.as_float()?, im: im.as_float()? },
        ("i", [text]) => parse_hex_int(&text.as_text()?)?,
        ("e", []) => Value::Ellipsis,
        ("g", [at, value]) => {
            Value::Shared { label: label(at)?, value: Box::new(parse_nested(value, depth + 1)?) }
        }
        ("v", [at]) => Value::SharedRef(label(at)?),
        _ => return None,
    })
}

fn parse_big_int(negative: bool, magnitude: &[u8]) -> Option<Value> {
    use std::fmt::Write;
    let mut digits = String::new();
    for byte in magnitude.iter().rev() {
        write!(digits, "{byte:02x}").ok()?;
    }
    Value::integer_from_hex(negative, &digits)
}

/// Parses `-ff`, or `-0xff` as Python writes it.
fn parse_hex_int(text: &str) -> Option<Value> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    Value::integer_from_hex(negative, digits.strip_prefix("0x").unwrap_or(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_can_be_written_as_json() {
        let nested = |depth: usize| {
            (0..depth).fold(Value::Int(1), |value, _| Value::Dict(vec![(Value::Int(0), value)]))
        };
        let parsed = |depth: usize| {
            let mut out = MarshalWriter::default();
            write_value(&mut out, &nested(depth));
            parse_value(&MarshalValue::parse(&out.0).unwrap())
        };
        let most = Value::MAX_DEPTH / 3;
        assert_eq!(parsed(most), Some(nested(most)));
        assert!(serde_json::to_string(&nested(most)).is_ok());
        assert_eq!(parsed(most + 1), None);
        assert!(serde_json::to_string(&nested(most + 1)).is_err());
    }
}
