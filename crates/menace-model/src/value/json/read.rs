//! From JSON to values, remembering the place for messages.

use super::place::{Reader, Result};
use super::tree::Tree;
use super::{TAGS, is_plain};
use crate::value::{MethodCall, PyStr, Reference, Value, base64};

impl Reader {
    pub(super) fn value(&mut self, tree: Tree) -> Result<Value> {
        match tree {
            Tree::Null => Ok(Value::None),
            Tree::Bool(value) => Ok(Value::Bool(value)),
            Tree::Int(number) => Ok(Value::Int(number)),
            Tree::Large(number) => Ok(Value::from(number)),
            Tree::Float(number) if is_plain(number) => Ok(Value::Float(number)),
            Tree::Float(number) => Err(self.error(format!(
                "a number as large as {number:e} loses digits in JSON; write an integer as \
                 {{\"$int\": \"…\"}}, anything else as {{\"$float\": \"{number:e}\"}}"
            ))),
            Tree::Text(text) => Ok(Value::from(text)),
            Tree::Array(_) => self.items(tree).map(Value::List),
            Tree::Object(entries) if entries.iter().any(|(key, _)| key.starts_with('$')) => {
                self.nested(|reader| reader.tagged(entries))
            }
            Tree::Object(_) => {
                let named = self.named(tree)?;
                Ok(Value::Dict(named.into_iter().map(|(key, it)| (key.into(), it)).collect()))
            }
        }
    }

    /// A list of values.
    pub(super) fn items(&mut self, tree: Tree) -> Result<Vec<Value>> {
        self.each(tree, "a list of values", Self::value)
    }

    /// An object of values whose keys mean nothing to us.
    pub(super) fn named(&mut self, tree: Tree) -> Result<Vec<(String, Value)>> {
        let Tree::Object(entries) = tree else {
            return Err(self.unexpected("an object of values", &tree));
        };
        self.refuse_repeated(&entries)?;
        self.nested(|reader| {
            let entries = entries.into_iter();
            entries
                .map(|(key, tree)| {
                    let value = reader.inside(&key, |reader| reader.value(tree))?;
                    Ok((key, value))
                })
                .collect()
        })
    }

    fn tagged(&mut self, mut entries: Vec<(String, Tree)>) -> Result<Value> {
        self.refuse_repeated(&entries)?;
        let is_tag = |entry: &(String, Tree)| entry.0.starts_with('$');
        let Some(index) = entries.iter().position(is_tag) else {
            return Err(self.error("expected a tag".to_owned()));
        };
        let (tag, body) = entries.remove(index);
        let Some((tag, beside)) = TAGS.iter().find(|(known, _)| *known == tag) else {
            let known = TAGS.map(|(known, _)| known).join(", ");
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
                class: self.inside(tag, |reader| reader.reference(body))?,
                args: self.optional("args", take("args"), Self::items)?,
                kwargs: self.optional("kwargs", take("kwargs"), Self::named)?,
            }),
            "$method" => Ok(Value::Method {
                name: self.inside(tag, |reader| reader.text(body, "the name of a method"))?,
                on: Box::new(self.required("on", take("on"), Self::value)?),
                args: self.optional("args", take("args"), Self::items)?,
                kwargs: self.optional("kwargs", take("kwargs"), Self::named)?,
            }),
            "$repeat" => Ok(Value::Repeat {
                value: Box::new(self.inside(tag, |reader| reader.value(body))?),
                times: self.required("times", take("times"), |reader, tree| reader.count(&tree))?,
            }),
            "$shared" => Ok(Value::Shared {
                value: Box::new(self.inside(tag, |reader| reader.value(body))?),
                label: self.required("label", take("label"), |reader, tree| reader.label(&tree))?,
            }),
            "$stub" => Ok(Value::Stub {
                members: self.inside(tag, |reader| reader.named(body))?,
                bases: self.optional("bases", take("bases"), |reader, tree| {
                    reader.each(tree, "a list of names", Self::reference)
                })?,
                args: self.optional("args", take("args"), Self::items)?,
                kwargs: self.optional("kwargs", take("kwargs"), Self::named)?,
            }),
            "$after" => Ok(Value::After {
                value: Box::new(self.inside(tag, |reader| reader.value(body))?),
                calls: self.required("calls", take("calls"), |reader, tree| {
                    reader.each(tree, "a list of calls", Self::method_call)
                })?,
            }),
            _ => self.inside(tag, |reader| reader.simple(tag, body)),
        }
    }

    /// A tag that needs nothing beside it.
    fn simple(&mut self, tag: &str, body: Tree) -> Result<Value> {
        match tag {
            "$int" => self.integer(&body),
            "$float" => Ok(Value::Float(self.float(&body)?)),
            "$complex" => {
                let expected = "a list of two numbers";
                let parts = self.each(body, expected, |reader, part| reader.float(&part))?;
                let found = parts.len();
                let [re, im] = parts[..] else {
                    return Err(self.error(format!("expected {expected}, found {found}")));
                };
                Ok(Value::Complex { re, im })
            }
            "$str" => {
                let points =
                    self.each(body, "a list of code points", |reader, point| reader.label(&point))?;
                let text = PyStr::from_code_points(points);
                let text = text
                    .ok_or_else(|| self.error("expected code points from 0 to 1114111".to_owned()));
                Ok(Value::Str(text?))
            }
            "$bytes" => Ok(Value::Bytes(self.bytes(&body)?)),
            "$bytearray" => Ok(Value::ByteArray(self.bytes(&body)?)),
            "$tuple" => Ok(Value::Tuple(self.items(body)?)),
            "$set" => Ok(Value::Set(self.items(body)?)),
            "$frozenset" => Ok(Value::FrozenSet(self.items(body)?)),
            "$dict" => Ok(Value::Dict(self.each(body, "a list of pairs", Self::pair)?)),
            "$ellipsis" => match body {
                Tree::Bool(true) => Ok(Value::Ellipsis),
                _ => Err(self.unexpected("true", &body)),
            },
            "$name" => Ok(Value::Name(self.reference(body)?)),
            "$again" => Ok(Value::Again(self.label(&body)?)),
            "$returns" => Ok(Value::Returns(Box::new(self.value(body)?))),
            "$raises" => Ok(Value::Raises(Box::new(self.value(body)?))),
            "$yields" => Ok(Value::Yields(self.items(body)?)),
            "$argument" => Ok(Value::Argument(self.label(&body)?)),
            "$async" => Ok(Value::Async(Box::new(self.value(body)?))),
            _ => Err(self.error(format!("unknown tag `{tag}`"))),
        }
    }

    /// `{"method": "close", "args": [], "kwargs": {}}`.
    fn method_call(&mut self, tree: Tree) -> Result<MethodCall> {
        const KEYS: [&str; 3] = ["method", "args", "kwargs"];
        let Tree::Object(mut entries) = tree else {
            return Err(self.unexpected("an object with `method`", &tree));
        };
        self.refuse_repeated(&entries)?;
        if let Some((key, _)) = entries.iter().find(|(key, _)| !KEYS.contains(&&**key)) {
            return Err(self.error(format!("expected only {}, found `{key}`", KEYS.join(", "))));
        }
        let mut take = |wanted: &str| {
            let index = entries.iter().position(|(key, _)| key == wanted)?;
            Some(entries.swap_remove(index).1)
        };
        self.nested(|reader| {
            Ok(MethodCall {
                name: reader.required("method", take("method"), |reader, tree| {
                    reader.text(tree, "the name of a method")
                })?,
                args: reader.optional("args", take("args"), Self::items)?,
                kwargs: reader.optional("kwargs", take("kwargs"), Self::named)?,
            })
        })
    }

    fn pair(&mut self, tree: Tree) -> Result<(Value, Value)> {
        let expected = "a pair of key and value";
        let pair = self.each(tree, expected, Self::value)?;
        let found = pair.len();
        match <[Value; 2]>::try_from(pair) {
            Ok([key, value]) => Ok((key, value)),
            Err(_) => Err(self.error(format!("expected {expected}, found a list of {found}"))),
        }
    }

    fn integer(&mut self, tree: &Tree) -> Result<Value> {
        let number = match tree {
            Tree::Int(number) => Some(Value::Int(*number)),
            Tree::Large(number) => Some(Value::from(*number)),
            Tree::Text(text) => Value::integer(text),
            _ => None,
        };
        number.ok_or_else(|| self.unexpected("an integer as text, like \"-12\" or \"0xff\"", tree))
    }

    fn float(&mut self, tree: &Tree) -> Result<f64> {
        let number = match tree {
            Tree::Int(number) => Some(*number as f64),
            Tree::Large(number) => Some(*number as f64),
            Tree::Float(number) => Some(*number),
            Tree::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| {
            self.unexpected("a number, \"nan\", \"inf\", \"-inf\" or a number as text", tree)
        })
    }

    fn bytes(&mut self, tree: &Tree) -> Result<Vec<u8>> {
        let bytes = match tree {
            Tree::Text(text) => base64::decode(text),
            _ => None,
        };
        bytes.ok_or_else(|| self.unexpected("bytes in base64, with padding", tree))
    }

    fn text(&mut self, tree: Tree, expected: &str) -> Result<String> {
        match tree {
            Tree::Text(text) if !text.is_empty() => Ok(text),
            _ => Err(self.unexpected(expected, &tree)),
        }
    }

    fn reference(&mut self, tree: Tree) -> Result<Reference> {
        let text = self.text(tree, "a name like \"package.module:Class.method\"")?;
        text.parse::<Reference>().map_err(|error| self.error(error.to_string()))
    }

    fn count(&mut self, tree: &Tree) -> Result<u64> {
        let count = match tree {
            Tree::Int(number) => u64::try_from(*number).ok(),
            Tree::Large(number) => Some(*number),
            _ => None,
        };
        count.ok_or_else(|| self.unexpected("a whole number, not negative", tree))
    }

    fn label(&mut self, tree: &Tree) -> Result<u32> {
        let label = match tree {
            Tree::Int(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        label.ok_or_else(|| self.unexpected("a whole number from 0 to 4294967295", tree))
    }
}
