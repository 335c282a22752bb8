//! Follows a reference to the module that defines it: through imports, re-exports and stars.
//!
//! Invariant: the work for one reference is bounded, however modules pass names around.

use std::borrow::Cow;

use menace_model::TypeExpr;
use rustc_hash::FxHashSet;

use crate::facts::{FileFacts, NameReference};
use crate::link::ModuleNames;

/// The longest chain of re-exports that is followed.
const MAX_REEXPORT_HOPS: usize = 1_000;
/// The most modules that are searched through star imports, starting from one module.
const MAX_STAR_IMPORT_MODULES: usize = 256;
/// Aliases of aliases of types.
const MAX_ALIAS_DEPTH: u8 = 8;

/// The result of resolving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedName {
    /// Dotted name, as seen from the module that defines it.
    pub name: String,
    /// The index of that module, if it belongs to the repository.
    pub module: Option<usize>,
    /// The part of the name inside of that module.
    pub attributes: String,
}

/// A module that star imports bring the names of, and the `__all__` they have to pass.
#[derive(Debug, Clone, Copy)]
struct StarImport {
    module: usize,
    filtering_module: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct ReferenceResolver<'f> {
    pub names: &'f ModuleNames,
    pub facts: &'f [FileFacts],
    /// For each module, all modules that it reaches through star imports, nearest first.
    reachable_star_imports: Vec<Vec<StarImport>>,
}

/// One step of resolving a reference.
enum ResolutionStep {
    Done(ResolvedName),
    /// The module passes the name on: go on with this reference of its own.
    Next {
        module: usize,
        reference: String,
    },
}

impl<'f> ReferenceResolver<'f> {
    pub(crate) fn new(names: &'f ModuleNames, facts: &'f [FileFacts]) -> Self {
        let mut resolver = Self { names, facts, reachable_star_imports: Vec::new() };
        resolver.reachable_star_imports =
            (0..facts.len()).map(|module| resolver.collect_star_imports(module)).collect();
        resolver
    }

    /// Resolves a reference found in the file `from`.
    pub(crate) fn resolve(&self, from: usize, text: &str) -> ResolvedName {
        let mut module = from;
        let mut text = Cow::Borrowed(text);
        // Brent's way to notice a circle: compare with a place that moves ever more rarely.
        let mut anchor: Option<(usize, String)> = None;
        let mut moves_at = 1;
        for hop in 1.. {
            match self.resolve_step(module, &text) {
                ResolutionStep::Done(resolved) => return resolved,
                ResolutionStep::Next { module: next, reference } => {
                    let seen = |at: &(usize, String)| at.0 == next && at.1 == reference;
                    if hop > MAX_REEXPORT_HOPS || anchor.as_ref().is_some_and(seen) {
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
        // A circle: there is no definition.
        let attributes = NameReference::parse(&text).map_or(&*text, |parts| parts.attributes);
        self.resolved_in_module(module, attributes)
    }

    /// Resolves all names in a type of the file `from`, and replaces aliases by their types.
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
                    .filter(|_| depth < MAX_ALIAS_DEPTH);
                match (alias, resolved.module) {
                    (Some(alias), Some(module)) => {
                        let mut resolved_alias = alias.clone();
                        self.resolve_type_at(module, &mut resolved_alias, depth + 1);
                        *kind = resolved_alias;
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

    fn resolve_step(&self, from: usize, text: &str) -> ResolutionStep {
        let Some(NameReference { module, attributes }) = NameReference::parse(text) else {
            return self
                .resolve_through_stars(from, text)
                .unwrap_or_else(|| external_name(text.to_owned()));
        };
        if module.is_empty() {
            return ResolutionStep::Done(self.resolved_in_module(from, attributes));
        }
        let Some(absolute) = self.names.absolute_name(from, module) else {
            return external_name(format!("{module}.{attributes}"));
        };
        let full = match (absolute.is_empty(), attributes.is_empty()) {
            (_, true) => absolute,
            (true, false) => attributes.to_owned(),
            (false, false) => format!("{absolute}.{attributes}"),
        };
        match self.names.split_module_prefix(from, &full) {
            None => external_name(full),
            Some((target, rest)) => self
                .resolve_attribute(target, rest)
                .or_else(|| self.resolve_through_stars(target, rest))
                .unwrap_or_else(|| ResolutionStep::Done(self.resolved_in_module(target, rest))),
        }
    }

    /// Resolves the dotted name `attributes` of a module, if the module itself defines or imports
    /// it.
    fn resolve_attribute(&self, module: usize, attributes: &str) -> Option<ResolutionStep> {
        let (first, rest) = attributes.split_once('.').unwrap_or((attributes, ""));
        if first.is_empty() || self.defines(module, first) {
            return Some(ResolutionStep::Done(self.resolved_in_module(module, attributes)));
        }
        let mut reference = self.facts[module].imported_names.get(first)?.clone();
        if !rest.is_empty() {
            reference.push_str(if reference.ends_with(':') { "" } else { "." });
            reference.push_str(rest);
        }
        Some(ResolutionStep::Next { module, reference })
    }

    fn resolve_through_stars(&self, module: usize, attributes: &str) -> Option<ResolutionStep> {
        let first = attributes.split('.').next()?;
        self.reachable_star_imports[module].iter().find_map(|star| {
            let passes = star.filtering_module.is_none_or(|gate| self.exports(gate, first));
            (passes && self.exports(star.module, first))
                .then(|| self.resolve_attribute(star.module, attributes))?
        })
    }

    /// Breadth first, so that nearer modules win, each module once.
    fn collect_star_imports(&self, from: usize) -> Vec<StarImport> {
        let mut reached: Vec<StarImport> = Vec::new();
        let mut seen = FxHashSet::from_iter([from]);
        let mut next = 0;
        let mut module = from;
        let mut filtering_module = None;
        loop {
            for written in &self.facts[module].star_imports {
                let target = self.names.absolute_name(module, written);
                let target = target.and_then(|name| self.names.find_module(module, &name));
                if let Some(target) = target.filter(|&target| seen.insert(target)) {
                    reached.push(StarImport { module: target, filtering_module });
                }
            }
            let Some(&star) = reached.get(next).filter(|_| reached.len() < MAX_STAR_IMPORT_MODULES)
            else {
                return reached;
            };
            next += 1;
            module = star.module;
            let restricts = self.facts[module].exports.is_some();
            filtering_module = star.filtering_module.or_else(|| restricts.then_some(module));
        }
    }

    /// Whether a star import of the module provides this name.
    fn exports(&self, module: usize, name: &str) -> bool {
        match &self.facts[module].exports {
            Some(all) => all.iter().any(|each| each == name),
            None => !name.starts_with('_'),
        }
    }

    fn defines(&self, module: usize, name: &str) -> bool {
        self.facts[module].defined_names.binary_search_by(|each| each.as_str().cmp(name)).is_ok()
    }

    fn resolved_in_module(&self, module: usize, attributes: &str) -> ResolvedName {
        let own = self.names.name(module);
        let name =
            if attributes.is_empty() { own.to_owned() } else { format!("{own}.{attributes}") };
        ResolvedName { name, module: Some(module), attributes: attributes.to_owned() }
    }
}

fn external_name(name: String) -> ResolutionStep {
    ResolutionStep::Done(ResolvedName { name, module: None, attributes: String::new() })
}
