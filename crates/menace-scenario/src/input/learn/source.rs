//! Methods of an instance whose results can be arguments of its other methods.

use menace_model::{FixtureFile, SectionKind, Value};

use super::{Lessons, Returned};
use crate::input::facts::Facts;
use crate::input::topic::words;

/// A method that gave something.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    method: &'a str,
    is_property: bool,
    returned: &'a Returned,
}

impl Source<'_> {
    pub(crate) fn files(&self) -> &[FixtureFile] {
        &self.returned.files
    }

    /// What the method gives when it is called on a value; of several things the first.
    pub(crate) fn value(&self, on: Value) -> Value {
        let on = Box::new(on);
        let (name, args, kwargs) = if self.is_property {
            ("__getattribute__", vec![Value::from(self.method)], Vec::new())
        } else {
            let (args, kwargs) = self.returned.given.clone();
            (self.method, args, kwargs)
        };
        let result = Value::Method { on, name: name.to_owned(), args, kwargs };
        // Of an instance that has something in it, which the one from before may not have had.
        if self.returned.gave == "list" {
            let (name, args) = ("__getitem__".to_owned(), vec![Value::Int(0)]);
            return Value::Method { on: Box::new(result), name, args, kwargs: Vec::new() };
        }
        result
    }
}

impl Lessons {
    /// What an instance of a class gives that a parameter of that name may want, the likeliest
    /// first.
    pub(in crate::input) fn sources<'a>(
        &'a self,
        facts: &Facts<'a>,
        class: &str,
        but: &str,
        param: &str,
    ) -> Vec<Source<'a>> {
        let methods = facts.class(class).map_or(&[][..], |class| &class.methods);
        let mut sources: Vec<(u8, Source<'a>)> = Vec::new();
        for method in methods.iter().filter(|method| method.name != but) {
            let Some(told) = facts.method(class, &method.name) else { continue };
            let known = self.calls.get(&told.section.id).map_or(&[][..], Vec::as_slice);
            // One that gave more than nothing says more.
            let best = known.iter().max_by_key(|known| known.length.unwrap_or(0));
            let Some(returned) = best.filter(|known| known.gave != "NoneType") else { continue };
            if told.section.is_async || told.section.is_generator {
                continue;
            }
            let is_property = told.section.kind == SectionKind::Property;
            let source = Source { method: &method.name, is_property, returned };
            sources.push((affinity(&method.name, param), source));
        }
        sources.sort_by_key(|(affinity, _)| std::cmp::Reverse(*affinity));
        sources.into_iter().map(|(_, source)| source).collect()
    }
}

/// How much a method sounds like a parameter: `sections` like `section`, `getstate` like `state`.
fn affinity(method: &str, param: &str) -> u8 {
    let (method, param) = (method.to_lowercase(), param.to_lowercase());
    if param.len() > 2 && method.contains(&param) {
        return 2;
    }
    let own = words(&param);
    u8::from(own.iter().any(|word| word.len() > 2 && method.contains(word.as_str())))
}
