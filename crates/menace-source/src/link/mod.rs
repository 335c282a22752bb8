//! Links the facts of all files: names, import graph, types, constructors.

mod construct;
mod graph;
mod names;
mod resolve;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use menace_model::{AnalyzedModule, CallEdge, ModuleError, Section};

use crate::facts::{FileFacts, NameReference};
pub(crate) use construct::{RepositoryClasses, SurveyedClasses, strip_definition_number};
pub(crate) use names::ModuleNames;
pub(crate) use resolve::{ReferenceResolver, ResolvedName};

/// All linked modules, and the import cycles among them.
#[derive(Debug)]
pub(crate) struct LinkedModules {
    pub modules: Vec<AnalyzedModule>,
    /// Paths of modules that import each other while being imported.
    pub cycles: Vec<Vec<String>>,
    /// The facts that later queries need: names and classes.
    pub facts: Vec<FileFacts>,
}

/// Links files; `names` and `facts` go together, in the order of paths.
pub(crate) fn link(names: &ModuleNames, mut facts: Vec<FileFacts>) -> LinkedModules {
    let mut sections: Vec<Vec<Section>> =
        facts.iter_mut().map(|facts| std::mem::take(&mut facts.sections)).collect();
    let resolver = ReferenceResolver::new(names, &facts);
    sections.par_iter_mut().enumerate().for_each(|(module, sections)| {
        for section in sections {
            resolve_section(&resolver, module, section);
        }
    });
    let classes =
        RepositoryClasses::new(resolver, sections.iter().map(Vec::as_slice).collect(), None);
    let modules = (0..facts.len()).into_par_iter();
    let constructions: Vec<_> =
        modules.clone().map(|module| classes.plan_constructions(module)).collect();
    let mut imports: Vec<_> =
        modules.map(|module| graph::resolve_imports(classes.resolver(), module)).collect();
    let importers = graph::collect_importers(names, &imports);
    let cycles = graph::find_cycles(names, &imports);
    for (section, construction) in
        sections.iter_mut().flatten().zip(constructions.into_iter().flatten())
    {
        section.construction = construction;
    }
    let modules = facts
        .iter_mut()
        .zip(sections)
        .zip(importers)
        .enumerate()
        .map(|(index, ((facts, sections), imported_by))| {
            let path = names.path(index).to_owned();
            AnalyzedModule {
                name: names.name(index).to_owned(),
                sections,
                imports: std::mem::take(&mut imports[index]),
                imported_by,
                code_metrics: facts.code_metrics,
                findings: std::mem::take(&mut facts.findings),
                lints: std::mem::take(&mut facts.lints),
                error: facts.error.take().map(|error| ModuleError {
                    file: path.clone(),
                    line: error.line,
                    reason: error.reason,
                }),
                path,
            }
        })
        .collect();
    LinkedModules { modules, cycles, facts }
}

fn resolve_section(resolver: &ReferenceResolver<'_>, module: usize, section: &mut Section) {
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
        let known = callee.module.is_some() || NameReference::parse(&call.target).is_some();
        let path = callee.module.map(|target| resolver.names.path(target).to_owned());
        *call = CallEdge { target: callee.name, path, line: call.line };
        known
    });
}
