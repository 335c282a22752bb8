//! Converts JSON to values, and tracks the position for messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::reader::{ValueReadResult, ValueReader};
use super::tree::OrderedJson;
use super::{VALUE_TAGS, is_plain_number};
use crate::value::{MethodCall, PyReference, PyString, Value};

/// Decodes base64 with padding.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

impl ValueReader {
    pub(super) fn read_value(&mut self, tree: OrderedJson) -> ValueReadResult<Value> {
        match tree {
            OrderedJson::Null => Ok(Value::None),
            OrderedJson::Bool(value) => Ok(Value::Bool(value)),
            OrderedJson::Int(number) => Ok(Value::Int(number)),
            OrderedJson::LargeInt(number) => Ok(Value::from(number)),
            OrderedJson::Float(number) if is_plain_number(number) => Ok(Value::Float(number)),
            OrderedJson::Float(number) => Err(self.error(format!(
                "a number as large as {number:e} loses digits in JSON; write an integer as \
                 {{\"$int\": \"…\"}}, anything else as {{\"$float\": \"{number:e}\"}}"
            ))),
            OrderedJson::Text(text) => Ok(Value::from(text)),
            OrderedJson::Array(_) => self.read_items(tree).map(Value::List),
            OrderedJson::Object(entries) if entries.iter().any(|(key, _)| key.starts_with('$')) => {
                self.read_nested(|reader| reader.read_tagged(entries))
            }
            OrderedJson::Object(_) => {
                let named = self.read_named(tree)?;
                Ok(Value::Dict(named.into_iter().map(|(key, it)| (key.into(), it)).collect()))
            }
        }
    }

    /// Reads a list of values.
    pub(super) fn read_items(&mut self, tree: OrderedJson) -> ValueReadResult<Vec<Value>> {
        self.read_each(tree, "a list of values", Self::read_value)
    }

    /// Reads an object of values with arbitrary keys.
    pub(super) fn read_named(
        &mut self,
        tree: OrderedJson,
    ) -> ValueReadResult<Vec<(String, Value)>> {
        let OrderedJson::Object(entries) = tree else {
            return Err(self.unexpected("an object of values", &tree));
        };
        self.reject_repeated_keys(&entries)?;
        self.read_nested(|reader| {
            let entries = entries.into_iter();
            entries
                .map(|(key, tree)| {
                    let value = reader.read_at_key(&key, |reader| reader.read_value(tree))?;
                    Ok((key, value))
                })
                .collect()
        })
    }

    fn read_tagged(&mut self, mut entries: Vec<(String, OrderedJson)>) -> ValueReadResult<Value> {
        self.reject_repeated_keys(&entries)?;
        let is_tag = |entry: &(String, OrderedJson)| entry.0.starts_with('$');
        let Some(index) = entries.iter().position(is_tag) else {
            return Err(self.error("expected a tag".to_owned()));
        };
        let (tag, body) = entries.remove(index);
        let Some((tag, beside)) = VALUE_TAGS.iter().find(|(known, _)| *known == tag) else {
            let known = VALUE_TAGS.map(|(known, _)| known).join(", ");
            return Err(self.error(format!(
                "unknown tag `{tag}`, expected one of {known}; \
                 a dict with such a key is written with `$dict`"
            )));
        };
        if let Some((key, _)) = entries.iter().find(|(key, _)| !beside.contains(&&**key)) {
            return Err(self.error(match beside {
                [] => format!("expected nothing beside `{tag}`, found `{key}`"),
                _ => format!("expected only {} beside `{tag}`, found `{key}`", beside.join(", ")),
            }));
        }
        let mut take = |wanted: &str| {
            let index = entries.iter().position(|(key, _)| key == wanted)?;
            Some(entries.swap_remove(index).1)
        };
        match *tag {
            "$call" => Ok(Value::New {
                class: self.read_at_key(tag, |reader| reader.read_reference(body))?,
                args: self.read_optional("args", take("args"), Self::read_items)?,
                kwargs: self.read_optional("kwargs", take("kwargs"), Self::read_named)?,
            }),
            "$method" => Ok(Value::Method {
                name: self
                    .read_at_key(tag, |reader| reader.read_text(body, "the name of a method"))?,
                on: Box::new(self.read_required("on", take("on"), Self::read_value)?),
                args: self.read_optional("args", take("args"), Self::read_items)?,
                kwargs: self.read_optional("kwargs", take("kwargs"), Self::read_named)?,
            }),
            "$repeat" => Ok(Value::Repeat {
                value: Box::new(self.read_at_key(tag, |reader| reader.read_value(body))?),
                times: self.read_required("times", take("times"), |reader, tree| {
                    reader.read_count(&tree)
                })?,
            }),
            "$shared" => Ok(Value::Shared {
                value: Box::new(self.read_at_key(tag, |reader| reader.read_value(body))?),
                label: self.read_required("label", take("label"), |reader, tree| {
                    reader.read_label(&tree)
                })?,
            }),
            "$stub" => Ok(Value::Stub {
                members: self.read_at_key(tag, |reader| reader.read_named(body))?,
                bases: self.read_optional("bases", take("bases"), |reader, tree| {
                    reader.read_each(tree, "a list of names", Self::read_reference)
                })?,
                args: self.read_optional("args", take("args"), Self::read_items)?,
                kwargs: self.read_optional("kwargs", take("kwargs"), Self::read_named)?,
            }),
            "$after" => Ok(Value::After {
                value: Box::new(self.read_at_key(tag, |reader| reader.read_value(body))?),
                calls: self.read_required("calls", take("calls"), |reader, tree| {
                    reader.read_each(tree, "a list of calls", Self::read_method_call)
                })?,
            }),
            _ => self.read_at_key(tag, |reader| reader.read_simple_tag(tag, body)),
        }
    }

    /// Reads a tag without further keys.
    fn read_simple_tag(&mut self, tag: &str, body: OrderedJson) -> ValueReadResult<Value> {
        match tag {
            "$int" => self.read_integer(&body),
            "$float" => Ok(Value::Float(self.read_float(&body)?)),
            "$complex" => {
                let expected = "a list of two numbers";
                let parts =
                    self.read_each(body, expected, |reader, part| reader.read_float(&part))?;
                let found = parts.len();
                let [re, im] = parts[..] else {
                    return Err(self.error(format!("expected {expected}, found {found}")));
                };
                Ok(Value::Complex { re, im })
            }
            "$str" => {
                let points = self.read_each(body, "a list of code points", |reader, point| {
                    reader.read_label(&point)
                })?;
                let text = PyString::from_code_points(points);
                let text = text
                    .ok_or_else(|| self.error("expected code points from 0 to 1114111".to_owned()));
                Ok(Value::Str(text?))
            }
            "$bytes" => Ok(Value::Bytes(self.read_bytes(&body)?)),
            "$bytearray" => Ok(Value::ByteArray(self.read_bytes(&body)?)),
            "$tuple" => Ok(Value::Tuple(self.read_items(body)?)),
            "$set" => Ok(Value::Set(self.read_items(body)?)),
            "$frozenset" => Ok(Value::FrozenSet(self.read_items(body)?)),
            "$dict" => Ok(Value::Dict(self.read_each(body, "a list of pairs", Self::read_pair)?)),
            "$ellipsis" => match body {
                OrderedJson::Bool(true) => Ok(Value::Ellipsis),
                _ => Err(self.unexpected("true", &body)),
            },
            "$name" => Ok(Value::Name(self.read_reference(body)?)),
            "$again" => Ok(Value::SharedRef(self.read_label(&body)?)),
            "$returns" => Ok(Value::Returns(Box::new(self.read_value(body)?))),
            "$raises" => Ok(Value::Raises(Box::new(self.read_value(body)?))),
            "$yields" => Ok(Value::Yields(self.read_items(body)?)),
            "$argument" => Ok(Value::Argument(self.read_label(&body)?)),
            "$async" => Ok(Value::Async(Box::new(self.read_value(body)?))),
            _ => Err(self.error(format!("unknown tag `{tag}`"))),
        }
    }

    /// Reads `{"method": "close", "args": [], "kwargs": {}}`.
    fn read_method_call(&mut self, tree: OrderedJson) -> ValueReadResult<MethodCall> {
        const METHOD_CALL_KEYS: [&str; 3] = ["method", "args", "kwargs"];
        let OrderedJson::Object(mut entries) = tree else {
            return Err(self.unexpected("an object with `method`", &tree));
        };
        self.reject_repeated_keys(&entries)?;
        if let Some((key, _)) = entries.iter().find(|(key, _)| !METHOD_CALL_KEYS.contains(&&**key))
        {
            return Err(
                self.error(format!("expected only {}, found `{key}`", METHOD_CALL_KEYS.join(", ")))
            );
        }
        let mut take = |wanted: &str| {
            let index = entries.iter().position(|(key, _)| key == wanted)?;
            Some(entries.swap_remove(index).1)
        };
        self.read_nested(|reader| {
            Ok(MethodCall {
                name: reader.read_required("method", take("method"), |reader, tree| {
                    reader.read_text(tree, "the name of a method")
                })?,
                args: reader.read_optional("args", take("args"), Self::read_items)?,
                kwargs: reader.read_optional("kwargs", take("kwargs"), Self::read_named)?,
            })
        })
    }

    fn read_pair(&mut self, tree: OrderedJson) -> ValueReadResult<(Value, Value)> {
        let expected = "a pair of key and value";
        let pair = self.read_each(tree, expected, Self::read_value)?;
        let found = pair.len();
        match <[Value; 2]>::try_from(pair) {
            Ok([key, value]) => Ok((key, value)),
            Err(_) => Err(self.error(format!("expected {expected}, found a list of {found}"))),
        }
    }

    fn read_integer(&mut self, tree: &OrderedJson) -> ValueReadResult<Value> {
        let number = match tree {
            OrderedJson::Int(number) => Some(Value::Int(*number)),
            OrderedJson::LargeInt(number) => Some(Value::from(*number)),
            OrderedJson::Text(text) => Value::parse_integer(text),
            _ => None,
        };
        number.ok_or_else(|| self.unexpected("an integer as text, like \"-12\" or \"0xff\"", tree))
    }

    fn read_float(&mut self, tree: &OrderedJson) -> ValueReadResult<f64> {
        let number = match tree {
            OrderedJson::Int(number) => Some(*number as f64),
            OrderedJson::LargeInt(number) => Some(*number as f64),
            OrderedJson::Float(number) => Some(*number),
            OrderedJson::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| {
            self.unexpected("a number, \"nan\", \"inf\", \"-inf\" or a number as text", tree)
        })
    }

    fn read_bytes(&mut self, tree: &OrderedJson) -> ValueReadResult<Vec<u8>> {
        let bytes = match tree {
            OrderedJson::Text(text) => decode_base64(text),
            _ => None,
        };
        bytes.ok_or_else(|| self.unexpected("bytes in base64, with padding", tree))
    }

    fn read_text(&mut self, tree: OrderedJson, expected: &str) -> ValueReadResult<String> {
        match tree {
            OrderedJson::Text(text) if !text.is_empty() => Ok(text),
            _ => Err(self.unexpected(expected, &tree)),
        }
    }

    fn read_reference(&mut self, tree: OrderedJson) -> ValueReadResult<PyReference> {
        let text = self.read_text(tree, "a name like \"package.module:Class.method\"")?;
        text.parse::<PyReference>().map_err(|error| self.error(error.to_string()))
    }

    fn read_count(&mut self, tree: &OrderedJson) -> ValueReadResult<u64> {
        let count = match tree {
            OrderedJson::Int(number) => u64::try_from(*number).ok(),
            OrderedJson::LargeInt(number) => Some(*number),
            _ => None,
        };
        count.ok_or_else(|| self.unexpected("a whole number, not negative", tree))
    }

    fn read_label(&mut self, tree: &OrderedJson) -> ValueReadResult<u32> {
        let label = match tree {
            OrderedJson::Int(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        label.ok_or_else(|| self.unexpected("a whole number from 0 to 4294967295", tree))
    }
}
