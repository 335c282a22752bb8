//! `menace failures`: what broke, in all runs or in one.

use clap::Args;
use serde::Serialize;

use menace_store::FailureRecord;

use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::render::{failure_table, output};

/// List failures: what broke, where, how often, and since when.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace failures                 # those of all runs that are still there
  menace failures --run r-2026    # those of one run, by the beginning of its id
  menace failures --all --format json

`menace show ID` shows all details of one.")]
pub(crate) struct FailuresCommand {
    /// Those that this run saw, by its id or the beginning of it; `last` for the last one
    /// that has results.
    #[arg(long, value_name = "ID")]
    run: Option<String>,

    /// Those that are gone, too.
    #[arg(long)]
    all: bool,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// A failure as machines read it.
#[derive(Debug, Serialize)]
pub(crate) struct FailureListJson<'a> {
    id: &'a str,
    section: &'a str,
    kind: &'a str,
    scenario: &'a str,
    verdict: &'a str,
    exception: Option<&'a str>,
    message: &'a str,
    input: String,
    location: String,
    count: u64,
    first_run: &'a str,
    last_run: &'a str,
    gone: bool,
}

impl<'a> FailureListJson<'a> {
    fn new(record: &'a FailureRecord) -> Self {
        let failure = &record.failure;
        Self {
            id: &failure.id.0,
            section: failure.section.as_str(),
            kind: failure.kind.as_str(),
            scenario: &failure.scenario,
            verdict: failure.verdict.as_str(),
            exception: failure.exception.as_deref(),
            message: &failure.message,
            input: record.shrunk.as_ref().unwrap_or(&failure.call).to_python(),
            location: failure.location.to_string(),
            count: record.count_in_run.unwrap_or(record.count),
            first_run: &record.first_seen.run.0,
            last_run: &record.last_seen.run.0,
            gone: record.gone_ms.is_some(),
        }
    }
}

impl FailuresCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let context = CommandContext::new(global, FlagValues::new())?;
        let store = data_dir::open_existing_store(&context)?;
        let mut failures = match self.run.as_deref() {
            None => store.failures(),
            Some(name) => {
                let run = data_dir::find_run(&store, Some(name))?;
                store.failures_of_run(&run.id)
            }
        }
        .map_err(CommandError::request)?;
        if self.run.is_none() && !self.all {
            failures.retain(|record| record.gone_ms.is_none());
        }
        // Failures in the same file are listed together.
        failures.sort_by(|one, other| {
            let key = |record: &FailureRecord| {
                (record.failure.location.clone(), record.failure.kind.as_str())
            };
            key(one).cmp(&key(other)).then_with(|| one.failure.id.cmp(&other.failure.id))
        });
        match self.format {
            OutputFormat::Json => {
                let all: Vec<FailureListJson<'_>> =
                    failures.iter().map(FailureListJson::new).collect();
                output::print_json(&all)?;
            }
            OutputFormat::Table => {
                let data = global.sandbox_data_dir.as_deref();
                output::print(&failure_table::render_list(&failures, data))?;
            }
        }
        Ok(())
    }
}
