//! Objects of no class of the repository: stubs made for the call, and known library instances.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use menace_model::{PyReference, Value};
use serde::Deserialize;

use super::{ValueMaker, ValueStyle};
use crate::input::shape::{DuckType, ValueShape};

impl ValueMaker<'_, '_> {
    /// A stub object with the members of the duck type.
    pub(crate) fn make_duck(&mut self, duck: &DuckType, style: ValueStyle) -> Value {
        let mut members = Vec::new();
        for (name, shape) in &duck.attributes {
            members.push((name.clone(), self.make_value(shape, name, style)));
        }
        for (name, shape) in &duck.methods {
            if members.iter().all(|(known, _)| known != name) {
                let returned = self.make_value(shape, name, style);
                members.push((name.clone(), Value::Returns(Box::new(returned))));
            }
        }
        for (name, shape) in &duck.async_methods {
            if members.iter().all(|(known, _)| known != name) {
                let returned = self.make_value(shape, name, style);
                members.push((name.clone(), make_coroutine(returned)));
            }
        }
        if let Some(shape) = &duck.element {
            let element = self.make_value(shape, "element", style);
            members.push(("__getitem__".to_owned(), Value::Returns(Box::new(element))));
        }
        if let Some(shape) = &duck.item {
            let items = self.make_several(shape, "item", style, 2);
            members.push(("__iter__".to_owned(), Value::Yields(items)));
        }
        if duck.has_length {
            members.push(("__len__".to_owned(), Value::Returns(Box::new(Value::Int(2)))));
        }
        if let Some(shape) = &duck.call_result {
            let returned = self.make_value(shape, "returned", style);
            members.push(("__call__".to_owned(), Value::Returns(Box::new(returned))));
        }
        if duck.is_context_manager {
            members.push(("__enter__".to_owned(), Value::Argument(0)));
            members.push(("__exit__".to_owned(), Value::Returns(Box::new(Value::None))));
        }
        if duck.is_async_context_manager {
            members.push(("__aenter__".to_owned(), Value::Async(Box::new(Value::Argument(0)))));
            members.push(("__aexit__".to_owned(), make_coroutine(Value::None)));
        }
        stub_object(Vec::new(), members)
    }

    pub(crate) fn make_context_manager(
        &mut self,
        gives: &ValueShape,
        is_async: bool,
        style: ValueStyle,
    ) -> Value {
        let entered = self.make_value(gives, "", style);
        let members = if is_async {
            vec![
                ("__aenter__".to_owned(), make_coroutine(entered)),
                ("__aexit__".to_owned(), make_coroutine(Value::None)),
            ]
        } else {
            vec![
                ("__enter__".to_owned(), Value::Returns(Box::new(entered))),
                ("__exit__".to_owned(), Value::Returns(Box::new(Value::None))),
            ]
        };
        stub_object(Vec::new(), members)
    }
}

/// An object that accepts every operation: attributes, calls and items give the object itself.
pub(crate) fn blank_object() -> Value {
    let member = |name: &str, value: Value| (name.to_owned(), value);
    stub_object(
        Vec::new(),
        vec![
            member("__getattr__", Value::Argument(0)),
            member("__call__", Value::Argument(0)),
            member("__getitem__", Value::Argument(0)),
            member("__setitem__", Value::Returns(Box::new(Value::None))),
            member("__enter__", Value::Argument(0)),
            member("__exit__", Value::Returns(Box::new(Value::None))),
            member("__iter__", Value::Yields(Vec::new())),
            member("__len__", Value::Returns(Box::new(Value::Int(0)))),
            member("__contains__", Value::Returns(Box::new(Value::Bool(false)))),
        ],
    )
}

pub(crate) fn stub_object(bases: Vec<PyReference>, members: Vec<(String, Value)>) -> Value {
    Value::Stub { bases, members, args: Vec::new(), kwargs: Vec::new() }
}

pub(crate) fn make_coroutine(returned: Value) -> Value {
    Value::Async(Box::new(Value::Returns(Box::new(returned))))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownInstances {
    #[serde(default)]
    aliases: Vec<String>,
    pub valid: Vec<Value>,
    pub boundary: Vec<Value>,
}

struct KnownInstanceTable {
    known: Vec<KnownInstances>,
    by_name: HashMap<String, usize>,
}

fn instance_table() -> &'static KnownInstanceTable {
    static KNOWN_INSTANCE_TABLE: OnceLock<KnownInstanceTable> = OnceLock::new();
    KNOWN_INSTANCE_TABLE.get_or_init(|| {
        let read: BTreeMap<String, KnownInstances> =
            serde_json::from_str(include_str!("../data/known.json")).expect("tested");
        let mut table = KnownInstanceTable { known: Vec::new(), by_name: HashMap::new() };
        for (name, mut known) in read {
            let names = std::mem::take(&mut known.aliases);
            for name in names.into_iter().chain([name]) {
                table.by_name.insert(name, table.known.len());
            }
            table.known.push(known);
        }
        table
    })
}

/// The known instances of a library class, by its dotted name, from `data/known.json`.
pub(crate) fn find_known_instances(name: &str) -> Option<&'static KnownInstances> {
    let table = instance_table();
    let name = name.strip_prefix("builtins.").unwrap_or(name);
    table.by_name.get(name).map(|index| &table.known[*index])
}
