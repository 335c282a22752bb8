//! The HTML report of a run: the import graph in it, and its file.

use std::path::Path;

use anyhow::Context as _;
use menace_model::is_test_path;
use menace_serve::{DataSource, ImportGraph, ImportGraphNode};
use menace_source::Analysis;

use crate::exit::CommandError;

/// Writes the report of a run; with `analysis`, it shows the import graph.
pub(crate) fn write(
    data_source: &DataSource,
    run: &str,
    analysis: Option<&Analysis>,
    file: &Path,
) -> Result<(), CommandError> {
    let graph = analysis.map(build_import_graph);
    let page = menace_serve::render_report(data_source, Some(run), graph.as_ref())
        .map_err(CommandError::request)?;
    menace_files::write_named_file(file, page.as_bytes())
        .with_context(|| format!("cannot write the report to `{}`", file.display()))
        .map_err(CommandError::Request)
}

/// Which module imports which at run time.
fn build_import_graph(analysis: &Analysis) -> ImportGraph {
    let modules = &analysis.modules;
    let place = |path: &str| modules.iter().position(|module| module.path == path);
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (from, module) in modules.iter().enumerate() {
        let imported = module.imports.iter().filter(|import| !import.type_checking);
        edges.extend(imported.filter_map(|import| Some((from, place(import.path.as_deref()?)?))));
    }
    edges.retain(|(from, to)| from != to);
    edges.sort_unstable();
    edges.dedup();
    let nodes = modules.iter().map(|module| ImportGraphNode {
        orphan: module.imported_by.is_empty() && !is_started_by_name(&module.path),
        path: module.path.clone(),
    });
    ImportGraph { nodes: nodes.collect(), edges }
}

/// Modules that run without being imported: a package's own file, a program, a test, a file that
/// tools look for.
fn is_started_by_name(path: &str) -> bool {
    let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
    is_test_path(path) || ["__init__.py", "__main__.py", "setup.py", "noxfile.py"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_runs_without_an_import_is_no_orphan() {
        for path in
            ["a/__init__.py", "setup.py", "tests/x.py", "a/test_b.py", "b_test.py", "a/__main__.py"]
        {
            assert!(is_started_by_name(path), "{path}");
        }
        assert!(!is_started_by_name("shop/testing.py"));
        assert!(!is_started_by_name("latest/cart.py"));
    }
}
