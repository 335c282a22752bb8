//! The import graph: who imports whom, how, and in which circles.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use rustc_hash::FxHashSet;

use menace_model::Import;

use super::Names;
use super::resolve::Resolver;
use crate::facts::{RawImport, Reference};

/// The imports of one module, each leading to one module.
pub(crate) fn imports(resolver: &Resolver<'_>, module: usize) -> Vec<Import> {
    let mut found = Vec::new();
    for raw in &resolver.facts[module].imports {
        let Some(absolute) = resolver.names.absolute(module, &raw.module) else {
            found.push(import(raw, raw.module.clone(), None, None));
            continue;
        };
        if raw.names.is_empty() {
            let target = resolver.names.find(module, &absolute);
            found.push(import(raw, absolute, path(resolver, target), None));
        } else {
            from_imports(resolver, module, raw, &absolute, &mut found);
        }
    }
    let mut seen = FxHashSet::default();
    found.retain(|import| {
        seen.insert((
            import.module.clone(),
            import.line,
            import.path.clone(),
            import.through.clone(),
        ))
    });
    found
}

/// `from package import name`: a submodule, a name of the package, or one it passes on.
fn from_imports(
    resolver: &Resolver<'_>,
    module: usize,
    raw: &RawImport,
    package: &str,
    found: &mut Vec<Import>,
) {
    let names = resolver.names;
    let package_module = names.find(module, package);
    for name in &raw.names {
        let full = if package.is_empty() { name.clone() } else { format!("{package}.{name}") };
        let shadowed = package_module
            .is_some_and(|target| resolver.facts[target].defined_names.binary_search(name).is_ok());
        if !shadowed && let Some(submodule) = names.find(module, &full) {
            found.push(import(raw, full, path(resolver, Some(submodule)), None));
            continue;
        }
        found.push(import(raw, package.to_owned(), path(resolver, package_module), None));
        let Some(package_module) = package_module.filter(|_| name != "*") else { continue };
        let origin = resolver.resolve(module, &Reference::to(&raw.module, name));
        if let Some(origin) = origin.module
            && origin != package_module
        {
            let through = Some(names.name(package_module).to_owned());
            let path = path(resolver, Some(origin));
            found.push(import(raw, names.name(origin).to_owned(), path, through));
        }
    }
}

fn path(resolver: &Resolver<'_>, module: Option<usize>) -> Option<String> {
    module.map(|module| resolver.names.path(module).to_owned())
}

fn import(
    raw: &RawImport,
    module: String,
    path: Option<String>,
    through: Option<String>,
) -> Import {
    Import {
        module,
        path,
        through,
        line: raw.line,
        how: raw.how,
        conditional: raw.conditional,
        type_checking: raw.type_checking,
        deferred: raw.deferred,
    }
}

fn edges<'i>(
    names: &'i Names,
    imports: &'i [Vec<Import>],
    counts: impl Fn(&Import) -> bool + Copy + 'i,
) -> impl Iterator<Item = (usize, usize)> + 'i {
    imports.iter().enumerate().flat_map(move |(from, imports)| {
        imports
            .iter()
            .filter(move |import| counts(import))
            .filter_map(|import| names.at(import.path.as_deref()?))
            .map(move |to| (from, to))
            .filter(|(from, to)| from != to)
    })
}

/// For each module, the paths of those that import it at run time, sorted.
///
/// Importing `a.b.c` runs the `__init__` of `a` and `a.b` as well, so their importers count too,
/// unless they are inside of the package themselves.
pub(crate) fn importers(names: &Names, imports: &[Vec<Import>]) -> Vec<Vec<String>> {
    let mut importers: Vec<Vec<usize>> = vec![Vec::new(); imports.len()];
    let mut add = |from: usize, to: usize| {
        // Edges come module by module: a repeated one is the last one.
        if importers[to].last() != Some(&from) {
            importers[to].push(from);
        }
    };
    for (from, to) in edges(names, imports, |import| !import.type_checking) {
        add(from, to);
        for package in names.packages_around(to) {
            if !names.is_inside(from, package) {
                add(from, package);
            }
        }
    }
    let path = |module| names.path(module).to_owned();
    importers.into_iter().map(|from| from.into_iter().map(path).collect()).collect()
}

/// Groups of modules that import each other while they are being imported, smallest path first.
pub(crate) fn cycles(names: &Names, imports: &[Vec<Import>]) -> Vec<Vec<String>> {
    // A re-export is imported by the package that passes it on, not by its user.
    let at_import =
        |import: &Import| !import.type_checking && !import.deferred && import.through.is_none();
    let mut graph = DiGraph::<(), (), usize>::with_capacity(imports.len(), imports.len());
    for _ in imports {
        graph.add_node(());
    }
    for (from, to) in edges(names, imports, at_import) {
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
