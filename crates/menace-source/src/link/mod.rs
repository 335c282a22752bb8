//! Puts the facts of all files together: names, import graph, types, constructors.

mod construct;
mod graph;
mod names;
mod resolve;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use menace_model::{CallEdge, ModuleError, ModuleReport, Section};

use crate::facts::{FileFacts, Reference};
use construct::Classes;
pub(crate) use names::Names;
use resolve::Resolver;

/// All modules, linked, and the import cycles among them.
#[derive(Debug)]
pub(crate) struct Linked {
    pub modules: Vec<ModuleReport>,
    /// Paths of modules that import each other while being imported.
    pub cycles: Vec<Vec<String>>,
}

/// Links files; `names` and `facts` go together, in the order of paths.
pub(crate) fn link(names: &Names, mut facts: Vec<FileFacts>) -> Linked {
    let constructions: Vec<_> = {
        let resolver = Resolver::new(names, &facts);
        let classes = Classes::new(&resolver);
        (0..facts.len()).into_par_iter().map(|module| classes.constructions(module)).collect()
    };
    let mut sections: Vec<Vec<Section>> =
        facts.iter_mut().map(|facts| std::mem::take(&mut facts.sections)).collect();
    let resolver = Resolver::new(names, &facts);
    sections.par_iter_mut().zip(constructions).enumerate().for_each(
        |(module, (sections, constructions))| {
            for (section, construction) in sections.iter_mut().zip(constructions) {
                resolve_section(&resolver, module, section);
                section.construction = construction;
            }
        },
    );
    let mut imports: Vec<_> =
        (0..facts.len()).into_par_iter().map(|module| graph::imports(&resolver, module)).collect();
    let importers = graph::importers(names, &imports);
    let cycles = graph::cycles(names, &imports);

    let modules = facts
        .into_iter()
        .zip(sections)
        .zip(importers)
        .enumerate()
        .map(|(index, ((facts, sections), imported_by))| {
            let path = names.path(index).to_owned();
            ModuleReport {
                name: names.name(index).to_owned(),
                sections,
                imports: std::mem::take(&mut imports[index]),
                imported_by,
                numbers: facts.numbers,
                findings: facts.findings,
                lints: facts.lints,
                error: facts.error.map(|error| ModuleError {
                    file: path.clone(),
                    line: error.line,
                    reason: error.reason,
                }),
                path,
            }
        })
        .collect();
    Linked { modules, cycles }
}

fn resolve_section(resolver: &Resolver<'_>, module: usize, section: &mut Section) {
    for param in &mut section.params {
        resolver.resolve_type(module, param.resolved.as_mut());
    }
    resolver.resolve_type(module, section.returns.as_mut());
    for decorator in &mut section.decorators {
        *decorator = resolver.resolve(module, decorator).name;
    }
    section.calls.retain_mut(|call| {
        let callee = resolver.resolve(module, &call.target);
        // A name without a binding that no star import brings is a builtin.
        let known = callee.module.is_some() || Reference::parse(&call.target).is_some();
        let path = callee.module.map(|target| resolver.names.path(target).to_owned());
        *call = CallEdge { target: callee.name, path, line: call.line };
        known
    });
}
