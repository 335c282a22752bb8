//! `menace show`: the whole story of one failure.

use clap::Args;

use crate::args::{Format, Global};
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::render::{failure_table, output};

/// Tell the story of a failure: the input, the conditions, the traceback with the source, since when.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace show f3a91c2e44
  menace show f3a9 --format json   # with the call and the outcome as they are kept")]
pub(crate) struct Show {
    /// The id of the failure, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Show {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let context = Context::new(global, Flags::new())?;
        let store = data::store(&context)?;
        let known = store.failure(&self.id).map_err(Failure::request)?;
        match self.format {
            Format::Json => output::print_json(&known)?,
            Format::Table => {
                // The repository of the run that saw it last, unless it is somewhere else now.
                let run = store.run(&known.last.run.0).map_err(Failure::request)?;
                let runs = store.sightings(&known.failure.id).map_err(Failure::request)?;
                let repository = std::path::PathBuf::from(run.repository);
                let data = global.sandbox_data_dir.as_deref();
                output::print(&failure_table::story(&known, &runs, &repository, data))?;
            }
        }
        Ok(())
    }
}
