//! `menace report`: one run in one HTML file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use menace_serve::{Graph, Library, Node};
use menace_source::{Analysis, ScannerChoice};

use crate::args::Global;
use crate::cache;
use crate::commands::exec;
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::output;
use crate::serving;

/// Write the report of a run as one HTML file that can be sent to a colleague.
///
/// It needs no network and no scripts. `menace run` writes one by itself, `report.html` in the data
/// directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace report                              # of the last run that has results
  menace report --run r-2026 --out monday.html")]
pub(crate) struct ReportCommand {
    /// The run, by its id or the beginning of it; `last` for the last one that has results [default:
    /// last].
    #[arg(long, value_name = "ID")]
    run: Option<String>,

    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

impl ReportCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, Flags::new())?;
        let library = serving::library(&context.settings);
        let (id, repository) = {
            let store = data::store(&context)?;
            let run = data::run(&store, self.run.as_deref())?;
            (run.id.0, run.repository)
        };
        let graph = if Path::new(&repository).is_dir() {
            let context = data::at_repository(context, global, repository)?;
            let analysis =
                exec::analyze_with(&context, cache::directory(&context), ScannerChoice::Builtin)?;
            Some(graph(&analysis))
        } else {
            None
        };
        write(&library, &id, graph.as_ref(), &self.out)?;
        Ok(output::print(&format!("The report of {id} is in {}\n", self.out.display()))?)
    }
}

pub(crate) fn write(
    library: &Library,
    run: &str,
    graph: Option<&Graph>,
    file: &Path,
) -> Result<(), Failure> {
    let page = menace_serve::report(library, Some(run), graph).map_err(Failure::request)?;
    menace_store::files::write_atomic(file, page.as_bytes())
        .with_context(|| format!("cannot write the report to `{}`", file.display()))
        .map_err(Failure::Request)
}

/// Who imports whom at run time.
pub(crate) fn graph(analysis: &Analysis) -> Graph {
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
    let nodes = modules.iter().map(|module| Node {
        orphan: module.imported_by.is_empty() && !is_started_by_name(&module.path),
        path: module.path.clone(),
    });
    Graph { nodes: nodes.collect(), edges }
}

/// Nobody needs to import it: a package's own file, a program, a test, what tools look for.
fn is_started_by_name(path: &str) -> bool {
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_test = name.starts_with("test_")
        || name.ends_with("_test.py")
        || directories.split('/').any(|part| part == "tests" || part == "test");
    is_test
        || ["__init__.py", "__main__.py", "conftest.py", "setup.py", "noxfile.py"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_started_by_its_name_is_no_orphan() {
        for path in
            ["a/__init__.py", "setup.py", "tests/x.py", "a/test_b.py", "b_test.py", "a/__main__.py"]
        {
            assert!(is_started_by_name(path), "{path}");
        }
        assert!(!is_started_by_name("shop/testing.py"));
        assert!(!is_started_by_name("latest/cart.py"));
    }
}
