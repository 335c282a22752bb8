//! From shapes to values.
//!
//! Invariant: the same shape, style and random numbers give the same value.

pub(crate) mod arguments;
pub(crate) mod file;
mod instance;
pub(crate) mod objects;
pub(crate) mod pattern;
mod scalars;

use std::sync::Arc;

use menace_model::{FixtureFile, PyReference, SeededRng, Value};

pub(crate) use self::arguments::{ArgumentPolicy, ArgumentSlots, CallArguments};

use self::file::FileContentKind;
use super::learn::LearnedHints;
use super::name_topics::{NameTopic, TextRole, split_words};
use super::repository_facts::{RepositoryFacts, external_reference};
use super::shape::{PathKind, RecordField, ValueBounds, ValueShape};

/// Depth of containers and objects.
const MAX_VALUE_DEPTH: usize = 6;
/// The most values inside of one value: enough for a structure, and few enough for a message to the
/// guest.
const MAX_VALUE_NODES: usize = 400;

/// How a value of a shape is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueStyle {
    /// The first example; without randomness.
    Typical,
    /// A realistic value.
    Smart,
    /// Any value of the shape.
    Random,
}

/// Makes the values of one input.
#[derive(Debug)]
pub(crate) struct ValueMaker<'a, 'f> {
    pub facts: &'a RepositoryFacts<'f>,
    pub random: SeededRng,
    /// Files that the values refer to.
    pub files: Vec<FixtureFile>,
    pub content: FileContentKind,
    pub learned_hints: Arc<LearnedHints>,
    /// Position among neighbouring values, so that they differ.
    pub turn: usize,
    depth: usize,
    nodes: usize,
    /// Classes whose instances are being constructed.
    building: Vec<String>,
    /// Generic classes and their type arguments.
    type_arguments: Vec<(String, Vec<ValueShape>)>,
}

impl<'a, 'f> ValueMaker<'a, 'f> {
    pub(crate) fn new(
        facts: &'a RepositoryFacts<'f>,
        random: SeededRng,
        content: FileContentKind,
    ) -> Self {
        Self {
            facts,
            random,
            files: Vec::new(),
            content,
            learned_hints: Arc::default(),
            turn: 0,
            depth: 0,
            nodes: 0,
            building: Vec::new(),
            type_arguments: Vec::new(),
        }
    }

    /// A value of the shape; `name` chooses among examples.
    pub(crate) fn make_value(
        &mut self,
        shape: &ValueShape,
        name: &str,
        style: ValueStyle,
    ) -> Value {
        self.nodes += 1;
        if self.depth >= MAX_VALUE_DEPTH || self.nodes > MAX_VALUE_NODES {
            return Value::None;
        }
        self.depth += 1;
        let made = self.make_nested(shape, name, style);
        self.depth -= 1;
        made
    }

    fn make_nested(&mut self, shape: &ValueShape, name: &str, style: ValueStyle) -> Value {
        match shape {
            ValueShape::Any => self.make_any(name, style),
            ValueShape::None => Value::None,
            ValueShape::Bool => match style {
                ValueStyle::Typical => Value::Bool(self.turn.is_multiple_of(2)),
                _ => Value::Bool(self.random.chance(0.5)),
            },
            ValueShape::Int => {
                Value::Int(scalars::make_int(name, style, self.turn, &mut self.random))
            }
            ValueShape::Float => {
                Value::Float(scalars::make_float(name, style, self.turn, &mut self.random))
            }
            ValueShape::Str(role) => self.make_text(*role, name, style),
            ValueShape::Bytes => self.make_bytes(name, style),
            ValueShape::Path { kind: what, is_text } => self.make_path(*what, *is_text, name),
            ValueShape::List(item) => Value::List(self.make_items(item, name, style)),
            ValueShape::TupleOf(item) => Value::Tuple(self.make_items(item, name, style)),
            ValueShape::Set(item) => Value::Set(self.make_hashable_items(item, name, style)),
            ValueShape::FrozenSet(item) => {
                Value::FrozenSet(self.make_hashable_items(item, name, style))
            }
            ValueShape::Tuple(items) => {
                let outer_turn = self.turn;
                let items = items.iter().enumerate().map(|(index, item)| {
                    self.turn = outer_turn + index;
                    self.make_value(item, &singular_name(name), style)
                });
                let items = items.collect();
                self.turn = outer_turn;
                Value::Tuple(items)
            }
            ValueShape::Dict(key, value) => self.make_dict(key, value, name, style),
            ValueShape::Record(fields) => self.make_record(fields, style),
            ValueShape::Iterator(item) => {
                let items = self.make_items(item, name, style);
                // A generator also has `send` and `close`.
                call_function(Value::Yields(items))
            }
            ValueShape::AsyncIterator(item) => {
                let items = self.make_items(item, name, style);
                call_function(Value::Async(Box::new(Value::Yields(items))))
            }
            ValueShape::Awaitable(inner) => {
                let value = self.make_value(inner, name, style);
                call_function(objects::make_coroutine(value))
            }
            ValueShape::Function { returns, is_async } => {
                self.make_function(returns, *is_async, name, style)
            }
            ValueShape::ContextManager { entered_value: gives, is_async } => {
                self.make_context_manager(gives, *is_async, style)
            }
            ValueShape::OneOf(values) => match style {
                ValueStyle::Typical => values.get(self.turn % values.len().max(1)).cloned(),
                _ => self.random.pick(values).cloned(),
            }
            .unwrap_or(Value::None),
            ValueShape::Union(shapes) => {
                let chosen = match style {
                    ValueStyle::Typical => shapes.first(),
                    _ if self.random.chance(0.5) => shapes.first(),
                    _ => self.random.pick(shapes),
                };
                let chosen = chosen.cloned().unwrap_or(ValueShape::None);
                self.make_value(&chosen, name, style)
            }
            ValueShape::Instance(class) => {
                let choice = match style {
                    ValueStyle::Typical => ArgumentPolicy::TYPICAL,
                    style => {
                        ArgumentPolicy { style, optional_share: 0.3, tries_other_shapes: true }
                    }
                };
                let made = if self.has_type_arguments(class) {
                    self.make_fresh_instance(class, choice)
                } else {
                    self.make_instance(class, choice)
                };
                made.unwrap_or(Value::None)
            }
            ValueShape::GenericInstance(inner, args) => {
                self.with_type_arguments(inner, args, |maker| maker.make_value(inner, name, style))
            }
            ValueShape::LibraryInstance(class) => self.make_known(class, style),
            ValueShape::Class(inner) => self.make_class(inner),
            ValueShape::Duck(duck) => self.make_duck(duck, style),
            ValueShape::WithTopic(topic, inner) => self.make_value(inner, topic, style),
            ValueShape::Bounded(inner, bounds) => self.make_bounded(inner, bounds, name, style),
        }
    }

    /// A value of unknown shape, by its name.
    fn make_any(&mut self, name: &str, style: ValueStyle) -> Value {
        if style == ValueStyle::Random {
            let shapes = [
                ValueShape::Int,
                ValueShape::any_text(),
                ValueShape::None,
                ValueShape::Float,
                ValueShape::Bool,
                ValueShape::Bytes,
                ValueShape::list_of(ValueShape::Int),
                ValueShape::Dict(Box::new(ValueShape::any_text()), Box::new(ValueShape::Int)),
            ];
            let shape = self.random.pick(&shapes).cloned().unwrap_or(ValueShape::Int);
            return self.make_value(&shape, name, style);
        }
        let best =
            super::infer::shape_by_name(self.facts, name).filter(|shape| *shape != ValueShape::Any);
        match best {
            Some(shape) => self.make_value(&shape, name, style),
            None => Value::Int(scalars::make_int(name, style, self.turn, &mut self.random)),
        }
    }

    fn make_text(&mut self, role: Option<TextRole>, name: &str, style: ValueStyle) -> Value {
        if let Some(what) = path_kind_by_name(role, name).filter(|_| style != ValueStyle::Random) {
            return self.make_path(what, true, name);
        }
        Value::from(scalars::make_text(role, name, style, self.turn, &mut self.random))
    }

    fn make_bytes(&mut self, name: &str, style: ValueStyle) -> Value {
        if style == ValueStyle::Random {
            let length = self.random.next_below(24);
            return Value::Bytes((0..length).map(|_| self.random.next_below(256) as u8).collect());
        }
        let known = NameTopic::find_for_name(name).map_or(&[][..], |topic| &topic.values);
        let known: Vec<&Value> =
            known.iter().filter(|value| matches!(value, Value::Bytes(_))).collect();
        if !known.is_empty() {
            return known[self.turn % known.len()].clone();
        }
        match self.make_text(None, name, style) {
            Value::Str(text) => Value::Bytes(text.as_bytes().to_vec()),
            other => other,
        }
    }

    fn make_items(&mut self, item: &ValueShape, name: &str, style: ValueStyle) -> Vec<Value> {
        let count = match style {
            ValueStyle::Typical => 3,
            ValueStyle::Smart => 1 + self.random.next_below(4) as usize,
            ValueStyle::Random => self.random.next_below(8) as usize,
        };
        self.make_several(item, name, style, count)
    }

    /// Neighbouring values.
    pub(crate) fn make_several(
        &mut self,
        item: &ValueShape,
        name: &str,
        style: ValueStyle,
        count: usize,
    ) -> Vec<Value> {
        let outer_turn = self.turn;
        let name = singular_name(name);
        let values = (0..count).map(|index| {
            self.turn = outer_turn + index;
            self.make_value(item, &name, style)
        });
        let values = values.collect();
        self.turn = outer_turn;
        values
    }

    fn make_hashable_items(
        &mut self,
        item: &ValueShape,
        name: &str,
        style: ValueStyle,
    ) -> Vec<Value> {
        let mut unique: Vec<Value> = Vec::new();
        for value in self.make_items(item, name, style).into_iter().map(to_hashable) {
            if !unique.contains(&value) {
                unique.push(value);
            }
        }
        unique
    }

    fn make_dict(
        &mut self,
        key: &ValueShape,
        value: &ValueShape,
        name: &str,
        style: ValueStyle,
    ) -> Value {
        let keys = match key {
            ValueShape::Any | ValueShape::Str(_) if style != ValueStyle::Random => {
                let words = ["alpha", "beta", "gamma"].map(Value::from);
                words.into_iter().take(2).collect()
            }
            key => self.make_hashable_items(key, name, style),
        };
        let outer_turn = self.turn;
        let pairs = keys.into_iter().enumerate().map(|(index, key)| {
            self.turn = outer_turn + index;
            (key, self.make_value(value, &singular_name(name), style))
        });
        let pairs = pairs.collect();
        self.turn = outer_turn;
        Value::Dict(pairs)
    }

    fn make_record(&mut self, fields: &[RecordField], style: ValueStyle) -> Value {
        let mut pairs = Vec::new();
        for field in fields {
            let wanted = field.required || style == ValueStyle::Typical || self.random.chance(0.7);
            if wanted {
                let value = self.make_value(&field.shape, &field.name, style);
                pairs.push((Value::from(field.name.as_str()), value));
            }
        }
        Value::Dict(pairs)
    }

    fn make_function(
        &mut self,
        returns: &ValueShape,
        is_async: bool,
        name: &str,
        style: ValueStyle,
    ) -> Value {
        let function = if *returns == ValueShape::Any {
            let any = [
                Value::Returns(Box::new(Value::Int(1))),
                Value::Argument(0),
                value_of_name("builtins:str"),
                Value::Returns(Box::new(Value::None)),
                Value::Returns(Box::new(Value::Bool(true))),
                Value::Returns(Box::new(Value::from("text"))),
            ];
            let is_key = split_words(name).iter().any(|word| word == "key");
            match style {
                ValueStyle::Typical => any[usize::from(is_key)].clone(),
                _ => self.random.pick(&any).cloned().unwrap_or(Value::None),
            }
        } else {
            Value::Returns(Box::new(self.make_value(returns, "", style)))
        };
        if is_async { Value::Async(Box::new(function)) } else { function }
    }

    fn make_known(&mut self, class: &str, style: ValueStyle) -> Value {
        if let Some(stream) = self.make_stream(class).filter(|_| style == ValueStyle::Typical) {
            return stream;
        }
        if let Some(known) = objects::find_known_instances(class) {
            let value = match style {
                ValueStyle::Typical => known.valid.get(self.turn % known.valid.len().max(1)),
                ValueStyle::Random if self.random.chance(0.5) => self.random.pick(&known.boundary),
                ValueStyle::Smart | ValueStyle::Random => self.random.pick(&known.valid),
            };
            return value.or(known.valid.first()).cloned().unwrap_or(Value::None);
        }
        match external_reference(class) {
            Some(class) => Value::New { class, args: Vec::new(), kwargs: Vec::new() },
            None => Value::None,
        }
    }

    fn make_class(&mut self, of: &ValueShape) -> Value {
        let known = |name: &str| self.facts.reference(name).map(Value::Name);
        let found = match of {
            ValueShape::Instance(name) | ValueShape::LibraryInstance(name) => known(name),
            ValueShape::GenericInstance(inner, _) => return self.make_class(inner),
            ValueShape::Int => known("int"),
            ValueShape::Float => known("float"),
            ValueShape::Str(_) => known("str"),
            ValueShape::Bool => known("bool"),
            ValueShape::Bytes => known("bytes"),
            ValueShape::List(_) => known("list"),
            ValueShape::Union(shapes) if !shapes.is_empty() => {
                return self.make_class(&shapes[0].clone());
            }
            _ => known("dict"),
        };
        found.unwrap_or_else(|| value_of_name("builtins:dict"))
    }

    fn make_bounded(
        &mut self,
        inner: &ValueShape,
        bounds: &ValueBounds,
        name: &str,
        style: ValueStyle,
    ) -> Value {
        if let Some(text) =
            bounds.pattern.as_ref().and_then(|it| pattern::generate_match(it, &mut self.random))
        {
            return Value::from(text);
        }
        let value = scalars::clamp_to_bounds(self.make_value(inner, name, style), bounds);
        let shortest = bounds.min_length.unwrap_or(0) as usize;
        let longest = bounds.max_length.map_or(usize::MAX, |longest| longest as usize);
        match value {
            Value::Str(text) => {
                let text = text.as_str().unwrap_or_default();
                let mut chars: Vec<char> = text.chars().take(longest).collect();
                while chars.len() < shortest.min(MAX_VALUE_NODES) {
                    chars.push('x');
                }
                Value::from(chars.into_iter().collect::<String>())
            }
            Value::List(mut items) => {
                items.truncate(longest);
                while items.len() < shortest.min(MAX_VALUE_NODES) {
                    items.push(items.first().cloned().unwrap_or(Value::Int(1)));
                }
                Value::List(items)
            }
            other => other,
        }
    }
}

/// The result of a call of a name in this crate's code.
pub(crate) fn construct_by_name(name: &str, args: Vec<Value>) -> Value {
    match name.parse::<PyReference>() {
        Ok(class) => Value::New { class, args, kwargs: Vec::new() },
        Err(_) => Value::None,
    }
}

pub(crate) fn value_of_name(name: &str) -> Value {
    name.parse::<PyReference>().map_or(Value::None, Value::Name)
}

/// Does a text of that role and name refer to a file?
pub(crate) fn path_kind_by_name(role: Option<TextRole>, name: &str) -> Option<PathKind> {
    let topic = NameTopic::find_for_name(name);
    match role {
        Some(TextRole::Path) => {}
        None if topic.is_some_and(|topic| topic.role == TextRole::Path) => {}
        _ => return None,
    }
    let is_directory = topic.is_some_and(|topic| topic.kinds.first() == Some(&"directory"));
    Some(if is_directory { PathKind::Directory } else { PathKind::File })
}

/// The result of the function.
pub(crate) fn call_function(function: Value) -> Value {
    let on = Box::new(function);
    Value::Method { on, name: "__call__".to_owned(), args: Vec::new(), kwargs: Vec::new() }
}

/// `lines` contains values for `line`.
fn singular_name(name: &str) -> String {
    match name {
        name if name.ends_with("ss") || name.len() < 4 => name.to_owned(),
        name => match name.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => name.strip_suffix('s').unwrap_or(name).to_owned(),
        },
    }
}

/// A hashable value with the same content.
pub(crate) fn to_hashable(value: Value) -> Value {
    match value {
        Value::List(items) | Value::Tuple(items) => {
            Value::Tuple(items.into_iter().map(to_hashable).collect())
        }
        Value::Set(items) | Value::FrozenSet(items) => {
            Value::FrozenSet(items.into_iter().map(to_hashable).collect())
        }
        Value::Dict(pairs) => Value::Tuple(
            pairs
                .into_iter()
                .map(|(key, value)| Value::Tuple(vec![to_hashable(key), to_hashable(value)]))
                .collect(),
        ),
        Value::ByteArray(bytes) => Value::Bytes(bytes),
        other => other,
    }
}
