//! The import graph: which module imports which, in which way, and the import cycles.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use rustc_hash::FxHashSet;

use menace_model::ModuleImport;

use super::ModuleNames;
use super::resolve::ReferenceResolver;
use crate::facts::{NameReference, UnlinkedImport};

/// The imports of one module, each leading to one module.
pub(crate) fn resolve_imports(resolver: &ReferenceResolver<'_>, index: usize) -> Vec<ModuleImport> {
    let mut found = Vec::new();
    for raw in &resolver.facts[index].imports {
        let Some(absolute) = resolver.names.absolute_name(index, &raw.module) else {
            found.push(build_import(raw, raw.module.clone(), None, None));
            continue;
        };
        if raw.names.is_empty() {
            let target = resolver.names.find_module(index, &absolute);
            found.push(build_import(raw, absolute, module_path(resolver, target), None));
        } else {
            resolve_from_import(resolver, index, raw, &absolute, &mut found);
        }
    }
    let mut seen = FxHashSet::default();
    found.retain(|import| {
        seen.insert((
            import.module.clone(),
            import.line,
            import.path.clone(),
            import.reexported_by.clone(),
        ))
    });
    found
}

/// `from package import name`: a submodule, a name of the package, or one it passes on.
fn resolve_from_import(
    resolver: &ReferenceResolver<'_>,
    module: usize,
    raw: &UnlinkedImport,
    package: &str,
    found: &mut Vec<ModuleImport>,
) {
    let names = resolver.names;
    let package_module = names.find_module(module, package);
    for name in &raw.names {
        let full = if package.is_empty() { name.clone() } else { format!("{package}.{name}") };
        let shadowed = package_module
            .is_some_and(|target| resolver.facts[target].defined_names.binary_search(name).is_ok());
        if !shadowed && let Some(submodule) = names.find_module(module, &full) {
            found.push(build_import(raw, full, module_path(resolver, Some(submodule)), None));
            continue;
        }
        found.push(build_import(
            raw,
            package.to_owned(),
            module_path(resolver, package_module),
            None,
        ));
        let Some(package_module) = package_module.filter(|_| name != "*") else { continue };
        let origin = resolver.resolve(module, &NameReference::format_reference(&raw.module, name));
        if let Some(origin) = origin.module
            && origin != package_module
        {
            let through = Some(names.name(package_module).to_owned());
            let path = module_path(resolver, Some(origin));
            found.push(build_import(raw, names.name(origin).to_owned(), path, through));
        }
    }
}

fn module_path(resolver: &ReferenceResolver<'_>, module: Option<usize>) -> Option<String> {
    module.map(|module| resolver.names.path(module).to_owned())
}

fn build_import(
    raw: &UnlinkedImport,
    module: String,
    path: Option<String>,
    through: Option<String>,
) -> ModuleImport {
    ModuleImport {
        module,
        path,
        reexported_by: through,
        line: raw.line,
        kind: raw.how,
        conditional: raw.conditional,
        type_checking: raw.type_checking,
        deferred: raw.deferred,
    }
}

fn import_edges<'i>(
    names: &'i ModuleNames,
    imports: &'i [Vec<ModuleImport>],
    counts: impl Fn(&ModuleImport) -> bool + Copy + 'i,
) -> impl Iterator<Item = (usize, usize)> + 'i {
    imports.iter().enumerate().flat_map(move |(from, imports)| {
        imports
            .iter()
            .filter(move |import| counts(import))
            .filter_map(|import| names.module_at(import.path.as_deref()?))
            .map(move |to| (from, to))
            .filter(|(from, to)| from != to)
    })
}

/// For each module, the paths of those that import it at run time, sorted.
///
/// Importing `a.b.c` runs the `__init__` of `a` and `a.b` as well, so their importers count too,
/// unless they are inside of the package themselves.
pub(crate) fn collect_importers(
    names: &ModuleNames,
    imports: &[Vec<ModuleImport>],
) -> Vec<Vec<String>> {
    let mut importers: Vec<Vec<usize>> = vec![Vec::new(); imports.len()];
    let mut add = |from: usize, to: usize| {
        // Edges come module by module: a repeated one is the last one.
        if importers[to].last() != Some(&from) {
            importers[to].push(from);
        }
    };
    for (from, to) in import_edges(names, imports, |import| !import.type_checking) {
        add(from, to);
        for package in names.enclosing_packages(to) {
            if !names.is_inside(from, package) {
                add(from, package);
            }
        }
    }
    let path = |module| names.path(module).to_owned();
    importers.into_iter().map(|from| from.into_iter().map(path).collect()).collect()
}

/// Groups of modules that import each other while they are being imported, smallest path first.
pub(crate) fn find_cycles(names: &ModuleNames, imports: &[Vec<ModuleImport>]) -> Vec<Vec<String>> {
    // A re-export is imported by the package that passes it on, not by its user.
    let at_import = |import: &ModuleImport| {
        !import.type_checking && !import.deferred && import.reexported_by.is_none()
    };
    let mut graph = DiGraph::<(), (), usize>::with_capacity(imports.len(), imports.len());
    for _ in imports {
        graph.add_node(());
    }
    for (from, to) in import_edges(names, imports, at_import) {
        graph.update_edge(from.into(), to.into(), ());
    }
    let mut cycles: Vec<Vec<String>> = kosaraju_scc(&graph)
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| {
            let mut paths: Vec<String> =
                group.into_iter().map(|node| names.path(node.index()).to_owned()).collect();
            paths.sort_unstable();
            paths
        })
        .collect();
    cycles.sort_unstable();
    cycles
}
