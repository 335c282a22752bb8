//! Follows a reference to the module that defines it: through imports, re-exports and stars.

use menace_model::TypeExpr;

use crate::facts::{FileFacts, Reference};
use crate::link::Names;

/// Re-exports of re-exports end here; what is deeper is a loop.
const MAX_HOPS: u8 = 16;

/// Where a reference leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Dotted name, as seen from the module that defines it.
    pub name: String,
    /// That module, when it belongs to the repository.
    pub module: Option<usize>,
    /// The part of the name inside of that module.
    pub attributes: String,
}

#[derive(Debug)]
pub(crate) struct Resolver<'f> {
    pub names: &'f Names,
    pub facts: &'f [FileFacts],
}

impl<'f> Resolver<'f> {
    pub(crate) fn new(names: &'f Names, facts: &'f [FileFacts]) -> Self {
        Self { names, facts }
    }

    /// Resolves a reference found in the file `from`.
    pub(crate) fn resolve(&self, from: usize, text: &str) -> Resolved {
        self.follow(from, text, 0)
    }

    /// Resolves every name in a type found in the file `from`.
    pub(crate) fn resolve_type(&self, from: usize, kind: Option<&mut TypeExpr>) {
        if let Some(kind) = kind {
            kind.for_each_name(&mut |name| *name = self.resolve(from, name).name);
        }
    }

    fn follow(&self, from: usize, text: &str, hops: u8) -> Resolved {
        let Some(Reference { module, attributes }) = Reference::parse(text) else {
            return self.through_stars(from, text, hops).unwrap_or_else(|| Resolved {
                name: text.to_owned(),
                module: None,
                attributes: String::new(),
            });
        };
        if module.is_empty() {
            return self.defined(from, attributes);
        }
        let Some(absolute) = self.names.absolute(from, module) else {
            return external(format!("{module}.{attributes}"));
        };
        let full = match (absolute.is_empty(), attributes.is_empty()) {
            (_, true) => absolute,
            (true, false) => attributes.to_owned(),
            (false, false) => format!("{absolute}.{attributes}"),
        };
        match self.names.split(from, &full) {
            None => external(full),
            Some((target, rest)) => self.attribute_of(target, rest, hops),
        }
    }

    /// What the dotted name `attributes` of a module stands for.
    fn attribute_of(&self, module: usize, attributes: &str, hops: u8) -> Resolved {
        let (first, rest) = attributes.split_once('.').unwrap_or((attributes, ""));
        let facts = &self.facts[module];
        if first.is_empty() || hops > MAX_HOPS {
            return self.defined(module, attributes);
        }
        if let Some(reference) = facts.imported_names.get(first) {
            let mut next = reference.clone();
            if !rest.is_empty() {
                next.push_str(if next.ends_with(':') { "" } else { "." });
                next.push_str(rest);
            }
            return self.follow(module, &next, hops + 1);
        }
        if self.defines(module, first) {
            return self.defined(module, attributes);
        }
        self.through_stars(module, attributes, hops)
            .unwrap_or_else(|| self.defined(module, attributes))
    }

    fn through_stars(&self, module: usize, attributes: &str, hops: u8) -> Option<Resolved> {
        let first = attributes.split('.').next().filter(|first| !first.starts_with('_'))?;
        if hops > MAX_HOPS {
            return None;
        }
        self.facts[module].star_imports.iter().find_map(|written| {
            let target = self.names.find(module, &self.names.absolute(module, written)?)?;
            let known = self.defines(target, first)
                || self.facts[target].imported_names.contains_key(first)
                || !self.facts[target].star_imports.is_empty();
            let resolved = (target != module && known)
                .then(|| self.attribute_of(target, attributes, hops + 1))?;
            // A star of a star may not have it after all.
            let found = resolved.module.is_none_or(|found| {
                self.defines(found, resolved.attributes.split('.').next().unwrap_or_default())
            });
            found.then_some(resolved)
        })
    }

    fn defines(&self, module: usize, name: &str) -> bool {
        self.facts[module].defined_names.binary_search_by(|each| each.as_str().cmp(name)).is_ok()
    }

    fn defined(&self, module: usize, attributes: &str) -> Resolved {
        let own = self.names.name(module);
        let name =
            if attributes.is_empty() { own.to_owned() } else { format!("{own}.{attributes}") };
        Resolved { name, module: Some(module), attributes: attributes.to_owned() }
    }
}

fn external(name: String) -> Resolved {
    Resolved { name, module: None, attributes: String::new() }
}
