//! `menace report`: one run in one HTML file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use menace_model::is_test_path;
use menace_serve::{DataSource, ImportGraph, ImportGraphNode};
use menace_source::{Analysis, ScannerChoice};

use crate::analysis;
use crate::args::GlobalArgs;
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;
use crate::servers;

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
    /// The run, by its id or the beginning of it; `last` for the last one that has results
    /// [default: last].
    #[arg(long, value_name = "ID")]
    run: Option<String>,

    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
}

impl ReportCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let data_source = servers::open_data_source(&context.settings);
        let (id, repository) = {
            let store = data_dir::open_existing_store(&context)?;
            let run = data_dir::find_run(&store, self.run.as_deref())?;
            (run.id.0, run.repository)
        };
        let graph = if Path::new(&repository).is_dir() {
            let context = data_dir::context_for_repository(context, global, repository)?;
            let analysis = analysis::analyze(&context, ScannerChoice::Builtin)?;
            Some(build_import_graph(&analysis))
        } else {
            None
        };
        write_report(&data_source, &id, graph.as_ref(), &self.out)?;
        Ok(output::print(&format!("The report of {id} is in {}\n", self.out.display()))?)
    }
}

pub(crate) fn write_report(
    data_source: &DataSource,
    run: &str,
    graph: Option<&ImportGraph>,
    file: &Path,
) -> Result<(), CommandError> {
    let page = menace_serve::render_report(data_source, Some(run), graph)
        .map_err(CommandError::request)?;
    menace_files::write_named_file(file, page.as_bytes())
        .with_context(|| format!("cannot write the report to `{}`", file.display()))
        .map_err(CommandError::Request)
}

/// Which module imports which at run time.
pub(crate) fn build_import_graph(analysis: &Analysis) -> ImportGraph {
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
