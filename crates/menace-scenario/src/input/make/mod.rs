//! From shapes to values.
//!
//! Invariant: the same shape, style and random numbers give the same value.

pub(crate) mod arguments;
pub(crate) mod duck;
pub(crate) mod file;
mod instance;
pub(crate) mod known;
mod number;
pub(crate) mod pattern;
pub(crate) mod text;

use std::sync::Arc;

use menace_model::{FixtureFile, Random, Reference, Value};

pub(crate) use self::arguments::{Choice, Given, Slots};

use self::file::Content;
use super::facts::{Facts, elsewhere};
use super::learn::Lessons;
use super::shape::{Bounds, Field, PathWhat, Shape};
use super::topic::{Role, Topic, words};

/// Containers in containers, objects in objects.
const MAX_DEPTH: usize = 6;
/// Values in one value: enough to see a structure, not to fill a frame.
const MAX_NODES: usize = 400;

/// How a value is chosen among those that a shape allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// The one that comes to mind first; no chance in it.
    Typical,
    /// What somebody would really pass.
    Smart,
    /// Anything of the shape.
    Random,
}

/// Makes the values of one input.
#[derive(Debug)]
pub(crate) struct Maker<'a, 'f> {
    pub facts: &'a Facts<'f>,
    pub random: Random,
    /// Files that the values name.
    pub files: Vec<FixtureFile>,
    pub content: Content,
    pub lessons: Arc<Lessons>,
    /// Position among values that stand side by side, so that they differ.
    pub turn: usize,
    depth: usize,
    nodes: usize,
    /// Classes whose instances are under way.
    building: Vec<String>,
    /// Generic classes whose instances are wanted, and what they are classes of.
    applied: Vec<(String, Vec<Shape>)>,
}

impl<'a, 'f> Maker<'a, 'f> {
    pub(crate) fn new(facts: &'a Facts<'f>, random: Random, content: Content) -> Self {
        Self {
            facts,
            random,
            files: Vec::new(),
            content,
            lessons: Arc::default(),
            turn: 0,
            depth: 0,
            nodes: 0,
            building: Vec::new(),
            applied: Vec::new(),
        }
    }

    /// A value of that shape; what it is called tells what it is about.
    pub(crate) fn make(&mut self, shape: &Shape, name: &str, style: Style) -> Value {
        self.nodes += 1;
        if self.depth >= MAX_DEPTH || self.nodes > MAX_NODES {
            return Value::None;
        }
        self.depth += 1;
        let made = self.nested(shape, name, style);
        self.depth -= 1;
        made
    }

    fn nested(&mut self, shape: &Shape, name: &str, style: Style) -> Value {
        match shape {
            Shape::Any => self.anything(name, style),
            Shape::None => Value::None,
            Shape::Bool => match style {
                Style::Typical => Value::Bool(self.turn.is_multiple_of(2)),
                _ => Value::Bool(self.random.chance(0.5)),
            },
            Shape::Int => Value::Int(number::int(name, style, self.turn, &mut self.random)),
            Shape::Float => Value::Float(number::float(name, style, self.turn, &mut self.random)),
            Shape::Str(role) => self.text(*role, name, style),
            Shape::Bytes => self.bytes(name, style),
            Shape::Path { what, is_text } => self.path(*what, *is_text, name),
            Shape::List(item) => Value::List(self.items(item, name, style)),
            Shape::TupleOf(item) => Value::Tuple(self.items(item, name, style)),
            Shape::Set(item) => Value::Set(self.hashable_items(item, name, style)),
            Shape::FrozenSet(item) => Value::FrozenSet(self.hashable_items(item, name, style)),
            Shape::Tuple(items) => {
                let outside = self.turn;
                let items = items.iter().enumerate().map(|(index, item)| {
                    self.turn = outside + index;
                    self.make(item, &singular(name), style)
                });
                let items = items.collect();
                self.turn = outside;
                Value::Tuple(items)
            }
            Shape::Dict(key, value) => self.dict(key, value, name, style),
            Shape::Record(fields) => self.record(fields, style),
            Shape::Iterator(item) => {
                let items = self.items(item, name, style);
                // A generator, because some are sent to, and closed.
                started(Value::Yields(items))
            }
            Shape::AsyncIterator(item) => {
                let items = self.items(item, name, style);
                started(Value::Async(Box::new(Value::Yields(items))))
            }
            Shape::Awaitable(inner) => {
                let value = self.make(inner, name, style);
                started(duck::coroutine(value))
            }
            Shape::Function { returns, is_async } => self.function(returns, *is_async, name, style),
            Shape::ContextManager { gives, is_async } => {
                self.context_manager(gives, *is_async, style)
            }
            Shape::OneOf(values) => match style {
                Style::Typical => values.get(self.turn % values.len().max(1)).cloned(),
                _ => self.random.pick(values).cloned(),
            }
            .unwrap_or(Value::None),
            Shape::Union(shapes) => {
                let chosen = match style {
                    Style::Typical => shapes.first(),
                    _ if self.random.chance(0.5) => shapes.first(),
                    _ => self.random.pick(shapes),
                };
                let chosen = chosen.cloned().unwrap_or(Shape::None);
                self.make(&chosen, name, style)
            }
            Shape::Instance(class) => {
                let choice = match style {
                    Style::Typical => Choice::TYPICAL,
                    style => Choice { style, optional: 0.3, spread: true },
                };
                let made = if self.is_applied(class) {
                    self.fresh(class, choice)
                } else {
                    self.instance(class, choice)
                };
                made.unwrap_or(Value::None)
            }
            Shape::Applied(inner, args) => {
                self.applying(inner, args, |maker| maker.make(inner, name, style))
            }
            Shape::Known(class) => self.known(class, style),
            Shape::Class(inner) => self.class(inner),
            Shape::Duck(duck) => self.duck(duck, style),
            Shape::About(topic, inner) => self.make(inner, topic, style),
            Shape::Bounded(inner, bounds) => self.bounded(inner, bounds, name, style),
        }
    }

    /// Nothing is known but the name.
    fn anything(&mut self, name: &str, style: Style) -> Value {
        if style == Style::Random {
            let shapes = [
                Shape::Int,
                Shape::text(),
                Shape::None,
                Shape::Float,
                Shape::Bool,
                Shape::Bytes,
                Shape::list(Shape::Int),
                Shape::Dict(Box::new(Shape::text()), Box::new(Shape::Int)),
            ];
            let shape = self.random.pick(&shapes).cloned().unwrap_or(Shape::Int);
            return self.make(&shape, name, style);
        }
        let best = super::infer::by_name(self.facts, name).filter(|shape| *shape != Shape::Any);
        match best {
            Some(shape) => self.make(&shape, name, style),
            None => Value::Int(number::int(name, style, self.turn, &mut self.random)),
        }
    }

    fn text(&mut self, role: Option<Role>, name: &str, style: Style) -> Value {
        if let Some(what) = path_by_name(role, name).filter(|_| style != Style::Random) {
            return self.path(what, true, name);
        }
        Value::from(text::text(role, name, style, self.turn, &mut self.random))
    }

    fn bytes(&mut self, name: &str, style: Style) -> Value {
        if style == Style::Random {
            let length = self.random.below(24);
            return Value::Bytes((0..length).map(|_| self.random.below(256) as u8).collect());
        }
        let known = Topic::of(name).map_or(&[][..], |topic| &topic.values);
        let known: Vec<&Value> =
            known.iter().filter(|value| matches!(value, Value::Bytes(_))).collect();
        if !known.is_empty() {
            return known[self.turn % known.len()].clone();
        }
        match self.text(None, name, style) {
            Value::Str(text) => Value::Bytes(text.as_bytes().to_vec()),
            other => other,
        }
    }

    fn items(&mut self, item: &Shape, name: &str, style: Style) -> Vec<Value> {
        let count = match style {
            Style::Typical => 3,
            Style::Smart => 1 + self.random.below(4) as usize,
            Style::Random => self.random.below(8) as usize,
        };
        self.several(item, name, style, count)
    }

    /// Values that stand side by side.
    pub(crate) fn several(
        &mut self,
        item: &Shape,
        name: &str,
        style: Style,
        count: usize,
    ) -> Vec<Value> {
        let outside = self.turn;
        let name = singular(name);
        let values = (0..count).map(|index| {
            self.turn = outside + index;
            self.make(item, &name, style)
        });
        let values = values.collect();
        self.turn = outside;
        values
    }

    fn hashable_items(&mut self, item: &Shape, name: &str, style: Style) -> Vec<Value> {
        let mut unique: Vec<Value> = Vec::new();
        for value in self.items(item, name, style).into_iter().map(hashable) {
            if !unique.contains(&value) {
                unique.push(value);
            }
        }
        unique
    }

    fn dict(&mut self, key: &Shape, value: &Shape, name: &str, style: Style) -> Value {
        let keys = match key {
            Shape::Any | Shape::Str(_) if style != Style::Random => {
                let words = ["alpha", "beta", "gamma"].map(Value::from);
                words.into_iter().take(2).collect()
            }
            key => self.hashable_items(key, name, style),
        };
        let outside = self.turn;
        let pairs = keys.into_iter().enumerate().map(|(index, key)| {
            self.turn = outside + index;
            (key, self.make(value, &singular(name), style))
        });
        let pairs = pairs.collect();
        self.turn = outside;
        Value::Dict(pairs)
    }

    fn record(&mut self, fields: &[Field], style: Style) -> Value {
        let mut pairs = Vec::new();
        for field in fields {
            let wanted = field.required || style == Style::Typical || self.random.chance(0.7);
            if wanted {
                let value = self.make(&field.shape, &field.name, style);
                pairs.push((Value::from(field.name.as_str()), value));
            }
        }
        Value::Dict(pairs)
    }

    fn function(&mut self, returns: &Shape, is_async: bool, name: &str, style: Style) -> Value {
        let function = if *returns == Shape::Any {
            let any = [
                Value::Returns(Box::new(Value::Int(1))),
                Value::Argument(0),
                name_of("builtins:str"),
                Value::Returns(Box::new(Value::None)),
                Value::Returns(Box::new(Value::Bool(true))),
                Value::Returns(Box::new(Value::from("text"))),
            ];
            let is_key = words(name).iter().any(|word| word == "key");
            match style {
                Style::Typical => any[usize::from(is_key)].clone(),
                _ => self.random.pick(&any).cloned().unwrap_or(Value::None),
            }
        } else {
            Value::Returns(Box::new(self.make(returns, "", style)))
        };
        if is_async { Value::Async(Box::new(function)) } else { function }
    }

    fn known(&mut self, class: &str, style: Style) -> Value {
        if let Some(stream) = self.stream(class).filter(|_| style == Style::Typical) {
            return stream;
        }
        if let Some(known) = known::find(class) {
            let value = match style {
                Style::Typical => known.valid.get(self.turn % known.valid.len().max(1)),
                Style::Random if self.random.chance(0.5) => self.random.pick(&known.boundary),
                Style::Smart | Style::Random => self.random.pick(&known.valid),
            };
            return value.or(known.valid.first()).cloned().unwrap_or(Value::None);
        }
        match elsewhere(class) {
            Some(class) => Value::New { class, args: Vec::new(), kwargs: Vec::new() },
            None => Value::None,
        }
    }

    fn class(&mut self, of: &Shape) -> Value {
        let known = |name: &str| self.facts.reference(name).map(Value::Name);
        let found = match of {
            Shape::Instance(name) | Shape::Known(name) => known(name),
            Shape::Applied(inner, _) => return self.class(inner),
            Shape::Int => known("int"),
            Shape::Float => known("float"),
            Shape::Str(_) => known("str"),
            Shape::Bool => known("bool"),
            Shape::Bytes => known("bytes"),
            Shape::List(_) => known("list"),
            Shape::Union(shapes) if !shapes.is_empty() => return self.class(&shapes[0].clone()),
            _ => known("dict"),
        };
        found.unwrap_or_else(|| name_of("builtins:dict"))
    }

    fn bounded(&mut self, inner: &Shape, bounds: &Bounds, name: &str, style: Style) -> Value {
        if let Some(text) =
            bounds.pattern.as_ref().and_then(|it| pattern::matching(it, &mut self.random))
        {
            return Value::from(text);
        }
        let value = number::within(self.make(inner, name, style), bounds);
        let shortest = bounds.shortest.unwrap_or(0) as usize;
        let longest = bounds.longest.map_or(usize::MAX, |longest| longest as usize);
        match value {
            Value::Str(text) => {
                let text = text.as_str().unwrap_or_default();
                let mut chars: Vec<char> = text.chars().take(longest).collect();
                while chars.len() < shortest.min(MAX_NODES) {
                    chars.push('x');
                }
                Value::from(chars.into_iter().collect::<String>())
            }
            Value::List(mut items) => {
                items.truncate(longest);
                while items.len() < shortest.min(MAX_NODES) {
                    items.push(items.first().cloned().unwrap_or(Value::Int(1)));
                }
                Value::List(items)
            }
            other => other,
        }
    }
}

/// The result of calling what a name leads to, which is known to be one.
pub(crate) fn new(name: &str, args: Vec<Value>) -> Value {
    match name.parse::<Reference>() {
        Ok(class) => Value::New { class, args, kwargs: Vec::new() },
        Err(_) => Value::None,
    }
}

pub(crate) fn name_of(name: &str) -> Value {
    name.parse::<Reference>().map_or(Value::None, Value::Name)
}

/// Does text of that role and name lead to a file?
pub(crate) fn path_by_name(role: Option<Role>, name: &str) -> Option<PathWhat> {
    let topic = Topic::of(name);
    match role {
        Some(Role::Path) => {}
        None if topic.is_some_and(|topic| topic.role == Role::Path) => {}
        _ => return None,
    }
    let is_directory = topic.is_some_and(|topic| topic.kinds.first() == Some(&"directory"));
    Some(if is_directory { PathWhat::Directory } else { PathWhat::File })
}

/// What calling the function gives.
pub(crate) fn started(function: Value) -> Value {
    let on = Box::new(function);
    Value::Method { on, name: "__call__".to_owned(), args: Vec::new(), kwargs: Vec::new() }
}

/// `lines` are made of a `line` each.
fn singular(name: &str) -> String {
    match name {
        name if name.ends_with("ss") || name.len() < 4 => name.to_owned(),
        name => match name.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => name.strip_suffix('s').unwrap_or(name).to_owned(),
        },
    }
}

/// Of the same content, and fit to be in a set.
pub(crate) fn hashable(value: Value) -> Value {
    match value {
        Value::List(items) | Value::Tuple(items) => {
            Value::Tuple(items.into_iter().map(hashable).collect())
        }
        Value::Set(items) | Value::FrozenSet(items) => {
            Value::FrozenSet(items.into_iter().map(hashable).collect())
        }
        Value::Dict(pairs) => Value::Tuple(
            pairs
                .into_iter()
                .map(|(key, value)| Value::Tuple(vec![hashable(key), hashable(value)]))
                .collect(),
        ),
        Value::ByteArray(bytes) => Value::Bytes(bytes),
        other => other,
    }
}
