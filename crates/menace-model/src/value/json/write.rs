//! From values to JSON.

use std::collections::HashSet;

use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};

use super::{as_object, is_plain};
use crate::value::{MethodCall, Value, base64};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Refused here, because nobody could read it.
        if self.depth() > Self::MAX_DEPTH {
            let message = format!("a value is nested deeper than {} levels", Self::MAX_DEPTH);
            return Err(S::Error::custom(message));
        }
        Notation(self).serialize(serializer)
    }
}

/// A value whose depth has been checked.
struct Notation<'a>(&'a Value);

impl Serialize for Notation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::None => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::BigInt(number) => tagged(serializer, "$int", &number.to_string()),
            Value::Float(number) if is_plain(*number) => serializer.serialize_f64(*number),
            Value::Float(number) => tagged(serializer, "$float", &Real(*number)),
            Value::Complex { re, im } => tagged(serializer, "$complex", &[Real(*re), Real(*im)]),
            Value::Str(text) => match text.as_str() {
                Some(text) => serializer.serialize_str(text),
                None => tagged(serializer, "$str", &text.code_points().collect::<Vec<_>>()),
            },
            Value::Bytes(bytes) => tagged(serializer, "$bytes", &base64::encode(bytes)),
            Value::ByteArray(bytes) => tagged(serializer, "$bytearray", &base64::encode(bytes)),
            Value::List(items) => Items(items).serialize(serializer),
            Value::Tuple(items) => tagged(serializer, "$tuple", &Items(items)),
            Value::Set(items) => tagged(serializer, "$set", &Items(items)),
            Value::FrozenSet(items) => tagged(serializer, "$frozenset", &Items(items)),
            Value::Dict(pairs) => match as_object(pairs) {
                Some(keys) => {
                    let values = pairs.iter().map(|(_, value)| Notation(value));
                    serializer.collect_map(keys.into_iter().zip(values))
                }
                None => tagged(serializer, "$dict", &Pairs(pairs)),
            },
            Value::Ellipsis => tagged(serializer, "$ellipsis", &true),
            Value::Name(name) => tagged(serializer, "$name", name),
            Value::New { class, args, kwargs } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("$call", class)?;
                given(&mut map, args, kwargs)?;
                map.end()
            }
            Value::Method { on, name, args, kwargs } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("$method", name)?;
                map.serialize_entry("on", &Notation(on))?;
                given(&mut map, args, kwargs)?;
                map.end()
            }
            Value::Repeat { value, times } => {
                labelled(serializer, "$repeat", value, "times", *times)
            }
            Value::Shared { label, value } => {
                labelled(serializer, "$shared", value, "label", u64::from(*label))
            }
            Value::Again(label) => tagged(serializer, "$again", label),
            Value::Returns(value) => tagged(serializer, "$returns", &Notation(value)),
            Value::Raises(value) => tagged(serializer, "$raises", &Notation(value)),
            Value::Yields(items) => tagged(serializer, "$yields", &Items(items)),
            Value::Argument(number) => tagged(serializer, "$argument", number),
            Value::Async(value) => tagged(serializer, "$async", &Notation(value)),
            Value::Stub { bases, members, args, kwargs } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("$stub", &Named(members))?;
                if !bases.is_empty() {
                    map.serialize_entry("bases", bases)?;
                }
                given(&mut map, args, kwargs)?;
                map.end()
            }
            Value::After { value, calls } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("$after", &Notation(value))?;
                map.serialize_entry("calls", &Calls(calls))?;
                map.end()
            }
        }
    }
}

fn tagged<S: Serializer>(
    serializer: S,
    tag: &str,
    body: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(tag, body)?;
    map.end()
}

fn labelled<S: Serializer>(
    serializer: S,
    tag: &str,
    value: &Value,
    key: &str,
    number: u64,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry(tag, &Notation(value))?;
    map.serialize_entry(key, &number)?;
    map.end()
}

fn given<M: serde::ser::SerializeMap>(
    map: &mut M,
    args: &[Value],
    kwargs: &[(String, Value)],
) -> Result<(), M::Error> {
    if !args.is_empty() {
        map.serialize_entry("args", &Items(args))?;
    }
    if !kwargs.is_empty() {
        map.serialize_entry("kwargs", &Named(kwargs))?;
    }
    Ok(())
}

struct Items<'a>(&'a [Value]);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Notation))
    }
}

struct Calls<'a>(&'a [MethodCall]);

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Called))
    }
}

struct Called<'a>(&'a MethodCall);

impl Serialize for Called<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", &self.0.name)?;
        given(&mut map, &self.0.args, &self.0.kwargs)?;
        map.end()
    }
}

struct Pairs<'a>(&'a [(Value, Value)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.iter().map(|(key, value)| [Notation(key), Notation(value)]);
        serializer.collect_seq(pairs)
    }
}

struct Named<'a>(&'a [(String, Value)]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seen = HashSet::new();
        if let Some((name, _)) = self.0.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(S::Error::custom(format!("the name {name:?} is there twice")));
        }
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Notation(value))))
    }
}

/// A number in a place where only numbers are allowed.
struct Real(f64);

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if is_plain(number) => serializer.serialize_f64(number),
            number if number.is_nan() => serializer.serialize_str("nan"),
            number => serializer.collect_str(&format_args!("{number:e}")),
        }
    }
}
