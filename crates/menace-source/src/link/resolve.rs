//! Follows a reference to the module that defines it: through imports, re-exports and stars.
//!
//! Invariant: the work for one reference is bounded, however modules pass names around.

use std::borrow::Cow;

use menace_model::TypeExpr;
use rustc_hash::FxHashSet;

use crate::facts::{FileFacts, Reference};
use crate::link::Names;

/// Re-exports of re-exports; nobody has as many.
const MAX_HOPS: usize = 1_000;
/// Modules that star imports are looked for in, from one module.
const MAX_STARS: usize = 256;
/// Aliases of aliases of types.
const MAX_ALIASES: u8 = 8;

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

/// A module that star imports bring the names of, and the `__all__` they have to pass.
#[derive(Debug, Clone, Copy)]
struct Star {
    module: usize,
    gate: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Resolver<'f> {
    pub names: &'f Names,
    pub facts: &'f [FileFacts],
    /// For each module, all modules that star imports reach from it, nearest first.
    stars: Vec<Vec<Star>>,
}

/// One step of following a reference.
enum Step {
    Done(Resolved),
    /// The module passes the name on: go on with this reference of its own.
    Next {
        module: usize,
        reference: String,
    },
}

impl<'f> Resolver<'f> {
    pub(crate) fn new(names: &'f Names, facts: &'f [FileFacts]) -> Self {
        let mut resolver = Self { names, facts, stars: Vec::new() };
        resolver.stars = (0..facts.len()).map(|module| resolver.reach_stars(module)).collect();
        resolver
    }

    /// Resolves a reference found in the file `from`.
    pub(crate) fn resolve(&self, from: usize, text: &str) -> Resolved {
        let mut module = from;
        let mut text = Cow::Borrowed(text);
        // Brent's way to notice a circle: compare with a place that moves ever more rarely.
        let mut anchor: Option<(usize, String)> = None;
        let mut moves_at = 1;
        for hop in 1.. {
            match self.step(module, &text) {
                Step::Done(resolved) => return resolved,
                Step::Next { module: next, reference } => {
                    let seen = |at: &(usize, String)| at.0 == next && at.1 == reference;
                    if hop > MAX_HOPS || anchor.as_ref().is_some_and(seen) {
                        break;
                    }
                    if hop == moves_at {
                        moves_at *= 2;
                        anchor = Some((next, reference.clone()));
                    }
                    module = next;
                    text = Cow::Owned(reference);
                }
            }
        }
        // A circle: nobody defines it.
        let attributes = Reference::parse(&text).map_or(&*text, |parts| parts.attributes);
        self.defined(module, attributes)
    }

    /// Resolves every name in a type found in the file `from`, and puts what aliases stand for
    /// in their place.
    pub(crate) fn resolve_type(&self, from: usize, kind: Option<&mut TypeExpr>) {
        if let Some(kind) = kind {
            self.resolve_type_at(from, kind, 0);
        }
    }

    fn resolve_type_at(&self, from: usize, kind: &mut TypeExpr, depth: u8) {
        match kind {
            TypeExpr::Name(name) => {
                let resolved = self.resolve(from, name);
                let alias = resolved
                    .module
                    .and_then(|module| self.facts[module].aliases.get(&resolved.attributes))
                    .filter(|_| depth < MAX_ALIASES);
                match (alias, resolved.module) {
                    (Some(alias), Some(module)) => {
                        let mut meant = alias.clone();
                        self.resolve_type_at(module, &mut meant, depth + 1);
                        *kind = meant;
                    }
                    _ => *name = resolved.name,
                }
            }
            TypeExpr::Generic { base, args } => {
                self.resolve_type_at(from, base, depth);
                for arg in args {
                    self.resolve_type_at(from, arg, depth);
                }
            }
            TypeExpr::Union(items) | TypeExpr::List(items) => {
                for item in items {
                    self.resolve_type_at(from, item, depth);
                }
            }
            TypeExpr::Unpack(inner) => self.resolve_type_at(from, inner, depth),
            TypeExpr::Literal(_) | TypeExpr::Ellipsis | TypeExpr::None | TypeExpr::Other(_) => {}
        }
    }

    fn step(&self, from: usize, text: &str) -> Step {
        let Some(Reference { module, attributes }) = Reference::parse(text) else {
            return self.through_stars(from, text).unwrap_or_else(|| external(text.to_owned()));
        };
        if module.is_empty() {
            return Step::Done(self.defined(from, attributes));
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
            Some((target, rest)) => self
                .attribute_of(target, rest)
                .or_else(|| self.through_stars(target, rest))
                .unwrap_or_else(|| Step::Done(self.defined(target, rest))),
        }
    }

    /// What the dotted name `attributes` of a module stands for, if the module knows it itself.
    fn attribute_of(&self, module: usize, attributes: &str) -> Option<Step> {
        let (first, rest) = attributes.split_once('.').unwrap_or((attributes, ""));
        if first.is_empty() || self.defines(module, first) {
            return Some(Step::Done(self.defined(module, attributes)));
        }
        let mut reference = self.facts[module].imported_names.get(first)?.clone();
        if !rest.is_empty() {
            reference.push_str(if reference.ends_with(':') { "" } else { "." });
            reference.push_str(rest);
        }
        Some(Step::Next { module, reference })
    }

    fn through_stars(&self, module: usize, attributes: &str) -> Option<Step> {
        let first = attributes.split('.').next()?;
        self.stars[module].iter().find_map(|star| {
            let passes = star.gate.is_none_or(|gate| self.exports(gate, first));
            (passes && self.exports(star.module, first))
                .then(|| self.attribute_of(star.module, attributes))?
        })
    }

    /// Breadth first, so that nearer modules win, each module once.
    fn reach_stars(&self, from: usize) -> Vec<Star> {
        let mut reached: Vec<Star> = Vec::new();
        let mut seen = FxHashSet::from_iter([from]);
        let mut next = 0;
        let mut module = from;
        let mut gate = None;
        loop {
            for written in &self.facts[module].star_imports {
                let target = self.names.absolute(module, written);
                let target = target.and_then(|name| self.names.find(module, &name));
                if let Some(target) = target.filter(|&target| seen.insert(target)) {
                    reached.push(Star { module: target, gate });
                }
            }
            let Some(&star) = reached.get(next).filter(|_| reached.len() < MAX_STARS) else {
                return reached;
            };
            next += 1;
            module = star.module;
            let restricts = self.facts[module].exports.is_some();
            gate = star.gate.or_else(|| restricts.then_some(module));
        }
    }

    /// Does a star import of the module bring this name?
    fn exports(&self, module: usize, name: &str) -> bool {
        match &self.facts[module].exports {
            Some(all) => all.iter().any(|each| each == name),
            None => !name.starts_with('_'),
        }
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

fn external(name: String) -> Step {
    Step::Done(Resolved { name, module: None, attributes: String::new() })
}
