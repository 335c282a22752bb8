//! `menace show`: everything about one failure.

use clap::Args;

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::{failure_table, output};

/// Show a failure: the input, the conditions, the traceback with the source, since
/// when.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace show f3a91c2e44
  menace show f3a9 --format json   # with the call and the outcome as they are kept")]
pub(crate) struct ShowCommand {
    /// The id of the failure, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

impl ShowCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let store = data_dir::open_existing_store(&context)?;
        let record = store.failure(&self.id).map_err(CommandError::request)?;
        match self.format {
            OutputFormat::Json => output::print_json(&record)?,
            OutputFormat::Table => {
                // The repository of the last run that saw the failure, unless the user names
                // another one.
                let run = store.run(&record.last_seen.run.0).map_err(CommandError::request)?;
                let runs =
                    store.occurrences_by_run(&record.failure.id).map_err(CommandError::request)?;
                let repository = std::path::PathBuf::from(run.repository);
                let data = global.sandbox_data_dir.as_deref();
                output::print(&failure_table::render_detail(&record, &runs, &repository, data))?;
            }
        }
        Ok(())
    }
}
