//! Converts values to JSON.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};

use super::{is_plain_number, plain_object_keys};
use crate::value::{MethodCall, Value};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Refused here, because reading would refuse it.
        if self.depth() > Self::MAX_DEPTH {
            let message = format!("a value is nested deeper than {} levels", Self::MAX_DEPTH);
            return Err(S::Error::custom(message));
        }
        ValueNotation(self).serialize(serializer)
    }
}

/// A value whose depth has been checked.
struct ValueNotation<'a>(&'a Value);

impl Serialize for ValueNotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::None => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::BigInt(number) => write_tagged(serializer, "$int", &number.to_string()),
            Value::Float(number) if is_plain_number(*number) => serializer.serialize_f64(*number),
            Value::Float(number) => write_tagged(serializer, "$float", &FloatNotation(*number)),
            Value::Complex { re, im } => {
                write_tagged(serializer, "$complex", &[FloatNotation(*re), FloatNotation(*im)])
            }
            Value::Str(text) => match text.as_str() {
                Some(text) => serializer.serialize_str(text),
                None => write_tagged(serializer, "$str", &text.code_points().collect::<Vec<_>>()),
            },
            Value::Bytes(bytes) => write_tagged(serializer, "$bytes", &BASE64.encode(bytes)),
            Value::ByteArray(bytes) => {
                write_tagged(serializer, "$bytearray", &BASE64.encode(bytes))
            }
            Value::List(items) => ItemsNotation(items).serialize(serializer),
            Value::Tuple(items) => write_tagged(serializer, "$tuple", &ItemsNotation(items)),
            Value::Set(items) => write_tagged(serializer, "$set", &ItemsNotation(items)),
            Value::FrozenSet(items) => {
                write_tagged(serializer, "$frozenset", &ItemsNotation(items))
            }
            Value::Dict(pairs) => match plain_object_keys(pairs) {
                Some(keys) => {
                    let values = pairs.iter().map(|(_, value)| ValueNotation(value));
                    serializer.collect_map(keys.into_iter().zip(values))
                }
                None => write_tagged(serializer, "$dict", &PairsNotation(pairs)),
            },
            Value::Ellipsis => write_tagged(serializer, "$ellipsis", &true),
            Value::Name(name) => write_tagged(serializer, "$name", name),
            Value::New { class, args, kwargs } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("$call", class)?;
                write_arguments(&mut map, args, kwargs)?;
                map.end()
            }
            Value::Method { on, name, args, kwargs } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("$method", name)?;
                map.serialize_entry("on", &ValueNotation(on))?;
                write_arguments(&mut map, args, kwargs)?;
                map.end()
            }
            Value::Repeat { value, times } => {
                write_tagged_with_number(serializer, "$repeat", value, "times", *times)
            }
            Value::Shared { label, value } => {
                write_tagged_with_number(serializer, "$shared", value, "label", u64::from(*label))
            }
            Value::SharedRef(label) => write_tagged(serializer, "$again", label),
            Value::Returns(value) => write_tagged(serializer, "$returns", &ValueNotation(value)),
            Value::Raises(value) => write_tagged(serializer, "$raises", &ValueNotation(value)),
            Value::Yields(items) => write_tagged(serializer, "$yields", &ItemsNotation(items)),
            Value::Argument(number) => write_tagged(serializer, "$argument", number),
            Value::Async(value) => write_tagged(serializer, "$async", &ValueNotation(value)),
            Value::Stub { bases, members, args, kwargs } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("$stub", &NamedValuesNotation(members))?;
                if !bases.is_empty() {
                    map.serialize_entry("bases", bases)?;
                }
                write_arguments(&mut map, args, kwargs)?;
                map.end()
            }
            Value::After { value, calls } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("$after", &ValueNotation(value))?;
                map.serialize_entry("calls", &MethodCallsNotation(calls))?;
                map.end()
            }
        }
    }
}

fn write_tagged<S: Serializer>(
    serializer: S,
    tag: &str,
    body: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(tag, body)?;
    map.end()
}

fn write_tagged_with_number<S: Serializer>(
    serializer: S,
    tag: &str,
    value: &Value,
    key: &str,
    number: u64,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(tag, &ValueNotation(value))?;
    map.serialize_entry(key, &number)?;
    map.end()
}

fn write_arguments<M: serde::ser::SerializeMap>(
    map: &mut M,
    args: &[Value],
    kwargs: &[(String, Value)],
) -> Result<(), M::Error> {
    if !args.is_empty() {
        map.serialize_entry("args", &ItemsNotation(args))?;
    }
    if !kwargs.is_empty() {
        map.serialize_entry("kwargs", &NamedValuesNotation(kwargs))?;
    }
    Ok(())
}

struct ItemsNotation<'a>(&'a [Value]);

impl Serialize for ItemsNotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ValueNotation))
    }
}

struct MethodCallsNotation<'a>(&'a [MethodCall]);

impl Serialize for MethodCallsNotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(MethodCallNotation))
    }
}

struct MethodCallNotation<'a>(&'a MethodCall);

impl Serialize for MethodCallNotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", &self.0.name)?;
        write_arguments(&mut map, &self.0.args, &self.0.kwargs)?;
        map.end()
    }
}

struct PairsNotation<'a>(&'a [(Value, Value)]);

impl Serialize for PairsNotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.iter().map(|(key, value)| [ValueNotation(key), ValueNotation(value)]);
        serializer.collect_seq(pairs)
    }
}

struct NamedValuesNotation<'a>(&'a [(String, Value)]);

impl Serialize for NamedValuesNotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seen = HashSet::new();
        if let Some((name, _)) = self.0.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(S::Error::custom(format!("the name {name:?} is there twice")));
        }
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, ValueNotation(value))))
    }
}

/// A number where only numbers are allowed.
struct FloatNotation(f64);

impl Serialize for FloatNotation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if is_plain_number(number) => serializer.serialize_f64(number),
            number if number.is_nan() => serializer.serialize_str("nan"),
            number => serializer.collect_str(&format_args!("{number:e}")),
        }
    }
}
