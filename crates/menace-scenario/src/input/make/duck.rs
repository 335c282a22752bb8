//! Objects that exist only for the call: duck types, protocols, abstract classes.

use menace_model::{Reference, Value};

use super::{Maker, Style};
use crate::input::shape::{Duck, Shape};

impl Maker<'_, '_> {
    /// An object that has what is done with it.
    pub(crate) fn duck(&mut self, duck: &Duck, style: Style) -> Value {
        let mut members = Vec::new();
        for (name, shape) in &duck.attributes {
            members.push((name.clone(), self.make(shape, name, style)));
        }
        for (name, shape) in &duck.methods {
            if members.iter().all(|(known, _)| known != name) {
                let returned = self.make(shape, name, style);
                members.push((name.clone(), Value::Returns(Box::new(returned))));
            }
        }
        for (name, shape) in &duck.async_methods {
            if members.iter().all(|(known, _)| known != name) {
                let returned = self.make(shape, name, style);
                members.push((name.clone(), coroutine(returned)));
            }
        }
        if let Some(shape) = &duck.element {
            let element = self.make(shape, "element", style);
            members.push(("__getitem__".to_owned(), Value::Returns(Box::new(element))));
        }
        if let Some(shape) = &duck.item {
            let items = self.several(shape, "item", style, 2);
            members.push(("__iter__".to_owned(), Value::Yields(items)));
        }
        if duck.has_length {
            members.push(("__len__".to_owned(), Value::Returns(Box::new(Value::Int(2)))));
        }
        if let Some(shape) = &duck.returned {
            let returned = self.make(shape, "returned", style);
            members.push(("__call__".to_owned(), Value::Returns(Box::new(returned))));
        }
        if duck.entered {
            members.push(("__enter__".to_owned(), Value::Argument(0)));
            members.push(("__exit__".to_owned(), Value::Returns(Box::new(Value::None))));
        }
        if duck.entered_async {
            members.push(("__aenter__".to_owned(), Value::Async(Box::new(Value::Argument(0)))));
            members.push(("__aexit__".to_owned(), coroutine(Value::None)));
        }
        stub(Vec::new(), members)
    }

    pub(crate) fn context_manager(&mut self, gives: &Shape, is_async: bool, style: Style) -> Value {
        let entered = self.make(gives, "", style);
        let members = if is_async {
            vec![
                ("__aenter__".to_owned(), coroutine(entered)),
                ("__aexit__".to_owned(), coroutine(Value::None)),
            ]
        } else {
            vec![
                ("__enter__".to_owned(), Value::Returns(Box::new(entered))),
                ("__exit__".to_owned(), Value::Returns(Box::new(Value::None))),
            ]
        };
        stub(Vec::new(), members)
    }
}

/// An object that puts up with everything: whatever is asked of it gives itself.
pub(crate) fn blank() -> Value {
    let member = |name: &str, value: Value| (name.to_owned(), value);
    stub(
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

pub(crate) fn stub(bases: Vec<Reference>, members: Vec<(String, Value)>) -> Value {
    Value::Stub { bases, members, args: Vec::new(), kwargs: Vec::new() }
}

pub(crate) fn coroutine(returned: Value) -> Value {
    Value::Async(Box::new(Value::Returns(Box::new(returned))))
}
