//! `menace report`: one run in one HTML file.

use std::path::{Path, PathBuf};

use clap::Args;

use menace_source::ScannerChoice;

use crate::analysis;
use crate::args::GlobalArgs;
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::output;
use crate::report_page;
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
        let analysis = if Path::new(&repository).is_dir() {
            let context = data_dir::context_for_repository(context, global, repository)?;
            Some(analysis::analyze(&context, ScannerChoice::Builtin)?)
        } else {
            None
        };
        report_page::write(&data_source, &id, analysis.as_ref(), &self.out)?;
        Ok(output::print(&format!("The report of {id} is in {}\n", self.out.display()))?)
    }
}
