//! All uses of a parameter as a tree: of the parameter, and of its parts.

use std::collections::BTreeMap;

use menace_model::{ParamPart, ParamUse};

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per kind of use")]
pub(crate) struct ParamUsage {
    /// Module of the section; empty for parts.
    pub module: String,
    /// In the order of their first use.
    pub methods: Vec<String>,
    /// Methods and the literals that they are called with.
    pub method_texts: Vec<(String, String)>,
    pub attributes: Vec<String>,
    pub keys: Vec<String>,
    pub assigned_keys: Vec<String>,
    pub indices: Vec<i64>,
    pub is_subscripted: bool,
    pub is_sliced: bool,
    pub has_items_assigned: bool,
    pub is_membership_tested: bool,
    pub is_iterated: bool,
    pub is_iterated_async: bool,
    pub tuples: Option<u32>,
    pub unpacked: Option<u32>,
    pub is_mapping: bool,
    pub is_called: bool,
    pub is_awaited: bool,
    pub is_entered: bool,
    pub is_entered_async: bool,
    pub is_arithmetic: bool,
    pub is_text: bool,
    pub is_bytes: bool,
    pub is_path: bool,
    pub patterns: Vec<String>,
    pub ordered: Vec<Option<String>>,
    /// Literals that it is compared with, as Python source.
    pub equals: Vec<String>,
    pub classes: Vec<String>,
    pub has_length: bool,
    pub may_be_none: bool,
    /// Function and argument.
    pub passed_to: Vec<(String, String)>,
    pub parts: BTreeMap<ParamPart, ParamUsage>,
}

impl ParamUsage {
    pub(crate) fn new(uses: &[ParamUse]) -> Self {
        let mut seen = Self::default();
        for used in uses {
            seen.add_use(used);
        }
        seen
    }

    fn add_use(&mut self, used: &ParamUse) {
        fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
            if !list.contains(&item) {
                list.push(item);
            }
        }
        match used {
            ParamUse::Attribute(name) | ParamUse::SetAttribute(name) => {
                push(&mut self.attributes, name.clone());
            }
            ParamUse::Method { name, .. } => push(&mut self.methods, name.clone()),
            ParamUse::MethodWith { name, argument } => {
                push(&mut self.method_texts, (name.clone(), argument.clone()));
            }
            ParamUse::SetItem(key) => {
                self.has_items_assigned = true;
                if let Some(key) = key {
                    push(&mut self.assigned_keys, key.clone());
                }
            }
            ParamUse::Key(key) => push(&mut self.keys, key.clone()),
            ParamUse::Index(index) => push(&mut self.indices, *index),
            ParamUse::Slice => self.is_sliced = true,
            ParamUse::Subscript => self.is_subscripted = true,
            ParamUse::Contains => self.is_membership_tested = true,
            ParamUse::Iterated => self.is_iterated = true,
            ParamUse::IteratedAsync => self.is_iterated_async = true,
            ParamUse::IteratedTuples(count) => self.tuples = Some(*count),
            ParamUse::Unpacked(count) => self.unpacked = Some(*count),
            ParamUse::Mapping => self.is_mapping = true,
            ParamUse::Called { .. } => self.is_called = true,
            ParamUse::Awaited => self.is_awaited = true,
            ParamUse::Entered => self.is_entered = true,
            ParamUse::EnteredAsync => self.is_entered_async = true,
            ParamUse::Arithmetic => self.is_arithmetic = true,
            ParamUse::Text => self.is_text = true,
            ParamUse::Bytes => self.is_bytes = true,
            ParamUse::PathJoined => self.is_path = true,
            ParamUse::Matched(pattern) => push(&mut self.patterns, pattern.clone()),
            ParamUse::Ordered(literal) => push(&mut self.ordered, literal.clone()),
            ParamUse::Equals(literal) => push(&mut self.equals, literal.clone()),
            ParamUse::IsInstance(names) => {
                for name in names {
                    push(&mut self.classes, name.clone());
                }
            }
            ParamUse::Length => self.has_length = true,
            ParamUse::MaybeNone => self.may_be_none = true,
            ParamUse::PassedTo { function, argument } => {
                push(&mut self.passed_to, (function.clone(), argument.clone()));
            }
            ParamUse::Inside { part, inner_use: used } => {
                self.parts.entry(part.clone()).or_default().add_use(used);
            }
        }
    }

    /// The members that a class needs for these uses.
    pub(crate) fn required_members(&self) -> Vec<String> {
        let mut wanted: Vec<String> =
            self.methods.iter().chain(&self.attributes).cloned().collect();
        let indexed = self.is_subscripted
            || self.is_sliced
            || !self.indices.is_empty()
            || !self.keys.is_empty();
        let iterated = self.is_iterated || self.tuples.is_some() || self.unpacked.is_some();
        for (is_wanted, name) in [
            (indexed, "__getitem__"),
            (self.has_items_assigned, "__setitem__"),
            (iterated, "__iter__"),
            (self.has_length, "__len__"),
            (self.is_called, "__call__"),
            (self.is_entered, "__enter__"),
            (self.is_entered_async, "__aenter__"),
            (self.is_iterated_async, "__aiter__"),
            (self.is_awaited, "__await__"),
            (self.is_mapping, "keys"),
            (self.is_membership_tested, "__contains__"),
        ] {
            if is_wanted && !wanted.iter().any(|known| known == name) {
                wanted.push(name.to_owned());
            }
        }
        wanted
    }

    /// Number of attributes and methods that are used by name.
    pub(crate) fn named_member_count(&self) -> usize {
        self.methods.len() + self.attributes.len()
    }
}
