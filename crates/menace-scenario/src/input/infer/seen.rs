//! Everything that is done with a parameter, as a tree: with it, and with its parts.

use std::collections::BTreeMap;

use menace_model::{Part, Use};

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per kind of use")]
pub(crate) struct Seen {
    /// Where it is done; empty for parts.
    pub module: String,
    /// In the order in which they were met, each once.
    pub methods: Vec<String>,
    /// Methods and the literals that they are called with.
    pub method_texts: Vec<(String, String)>,
    pub attributes: Vec<String>,
    pub keys: Vec<String>,
    pub set_keys: Vec<String>,
    pub indices: Vec<i64>,
    pub subscript: bool,
    pub slice: bool,
    pub set_item: bool,
    pub contains: bool,
    pub iterated: bool,
    pub iterated_async: bool,
    pub tuples: Option<u32>,
    pub unpacked: Option<u32>,
    pub mapping: bool,
    pub called: bool,
    pub awaited: bool,
    pub entered: bool,
    pub entered_async: bool,
    pub arithmetic: bool,
    pub text: bool,
    pub bytes: bool,
    pub path: bool,
    pub patterns: Vec<String>,
    pub ordered: Vec<Option<String>>,
    /// Literals that it is compared with, as Python source.
    pub equals: Vec<String>,
    pub classes: Vec<String>,
    pub length: bool,
    pub maybe_none: bool,
    /// Function and argument.
    pub passed: Vec<(String, String)>,
    pub parts: BTreeMap<Part, Seen>,
}

impl Seen {
    pub(crate) fn new(uses: &[Use]) -> Self {
        let mut seen = Self::default();
        for used in uses {
            seen.add(used);
        }
        seen
    }

    fn add(&mut self, used: &Use) {
        fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
            if !list.contains(&item) {
                list.push(item);
            }
        }
        match used {
            Use::Attribute(name) | Use::SetAttribute(name) => {
                push(&mut self.attributes, name.clone());
            }
            Use::Method { name, .. } => push(&mut self.methods, name.clone()),
            Use::MethodWith { name, argument } => {
                push(&mut self.method_texts, (name.clone(), argument.clone()));
            }
            Use::SetItem(key) => {
                self.set_item = true;
                if let Some(key) = key {
                    push(&mut self.set_keys, key.clone());
                }
            }
            Use::Key(key) => push(&mut self.keys, key.clone()),
            Use::Index(index) => push(&mut self.indices, *index),
            Use::Slice => self.slice = true,
            Use::Subscript => self.subscript = true,
            Use::Contains => self.contains = true,
            Use::Iterated => self.iterated = true,
            Use::IteratedAsync => self.iterated_async = true,
            Use::IteratedTuples(count) => self.tuples = Some(*count),
            Use::Unpacked(count) => self.unpacked = Some(*count),
            Use::Mapping => self.mapping = true,
            Use::Called { .. } => self.called = true,
            Use::Awaited => self.awaited = true,
            Use::Entered => self.entered = true,
            Use::EnteredAsync => self.entered_async = true,
            Use::Arithmetic => self.arithmetic = true,
            Use::Text => self.text = true,
            Use::Bytes => self.bytes = true,
            Use::PathJoined => self.path = true,
            Use::Matched(pattern) => push(&mut self.patterns, pattern.clone()),
            Use::Ordered(literal) => push(&mut self.ordered, literal.clone()),
            Use::Equals(literal) => push(&mut self.equals, literal.clone()),
            Use::IsInstance(names) => {
                for name in names {
                    push(&mut self.classes, name.clone());
                }
            }
            Use::Length => self.length = true,
            Use::MaybeNone => self.maybe_none = true,
            Use::PassedTo { function, argument } => {
                push(&mut self.passed, (function.clone(), argument.clone()));
            }
            Use::Inside { part, used } => self.parts.entry(part.clone()).or_default().add(used),
        }
    }

    /// What a class must have for all of this, by name.
    pub(crate) fn wanted(&self) -> Vec<String> {
        let mut wanted: Vec<String> =
            self.methods.iter().chain(&self.attributes).cloned().collect();
        let indexed =
            self.subscript || self.slice || !self.indices.is_empty() || !self.keys.is_empty();
        let iterated = self.iterated || self.tuples.is_some() || self.unpacked.is_some();
        for (is_wanted, name) in [
            (indexed, "__getitem__"),
            (self.set_item, "__setitem__"),
            (iterated, "__iter__"),
            (self.length, "__len__"),
            (self.called, "__call__"),
            (self.entered, "__enter__"),
            (self.entered_async, "__aenter__"),
            (self.iterated_async, "__aiter__"),
            (self.awaited, "__await__"),
            (self.mapping, "keys"),
            (self.contains, "__contains__"),
        ] {
            if is_wanted && !wanted.iter().any(|known| known == name) {
                wanted.push(name.to_owned());
            }
        }
        wanted
    }

    /// Attributes and methods that something has to have by name.
    pub(crate) fn named(&self) -> usize {
        self.methods.len() + self.attributes.len()
    }
}
