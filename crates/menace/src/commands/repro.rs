//! `menace repro` and `menace shrink`: a failure once more, and with less.

use clap::Args;
use serde::Serialize;

use menace_loop::failure::{ReproResult, ShrinkRequest, ShrinkResult, repro, shrink};
use menace_model::{format_count, now_ms};
use menace_sandbox::CancelToken;
use menace_source::{Analysis, ScannerChoice};
use menace_store::{FailureRecord, Store};

use crate::analysis;
use crate::args::{GlobalArgs, OutputFormat};
use crate::context::{CommandContext, FlagValues};
use crate::data_dir;
use crate::exit::CommandError;
use crate::interrupt;
use crate::isolation::{self, IsolationArgs};
use crate::render::labelled_lines::{LabelledLines, truncate};
use crate::render::output;

/// Longer inputs are cut on a terminal.
const MAX_INPUT_CHARS: usize = 400;

/// Arguments of both commands.
#[derive(Debug, Args)]
struct FailureArgs {
    /// The id of the failure, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,

    /// The repository [default: `SANDBOX_REPO_PATH`, else the one that the run had].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    #[command(flatten)]
    isolation: IsolationArgs,

    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
}

/// Make the call of a failure again and say whether it still fails.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace repro f3a91c2e44
  menace repro f3a9 --repo . --format json

It says `still`, `other` (it fails in another way, which is another failure: this one is gone),
`fixed` or `vanished` (the section is gone).")]
pub(crate) struct ReproCommand {
    #[command(flatten)]
    failure_args: FailureArgs,
}

/// Find the smallest input and the fewest faults that still show a failure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace shrink f3a91c2e44
  menace shrink f3a9 --attempts 2000

What is found is kept: `menace show` and `menace export-tests` use it.")]
pub(crate) struct ShrinkCommand {
    #[command(flatten)]
    failure_args: FailureArgs,

    /// Candidates that are tried at most.
    #[arg(long, value_name = "N", default_value_t = 500)]
    attempts: usize,
}

/// Everything that the rerun needs.
struct PreparedRepro {
    context: CommandContext,
    store: Store,
    record: FailureRecord,
    analysis: Analysis,
    cancel: CancelToken,
}

impl FailureArgs {
    fn prepare(&self, global: &GlobalArgs) -> Result<PreparedRepro, CommandError> {
        let first = CommandContext::new(global, self.flags())?;
        let store = data_dir::open_existing_store(&first)?;
        let record = store.failure(&self.id).map_err(CommandError::request)?;
        let repository = data_dir::failure_repository(&store, &record)?;
        let context = data_dir::context_for_repository(first, global, repository)?;
        let cancel = CancelToken::default();
        interrupt::install_handler(&cancel)?;
        let analysis = analysis::analyze(&context, ScannerChoice::Builtin)?;
        Ok(PreparedRepro { context, store, record, analysis, cancel })
    }

    fn flags(&self) -> FlagValues {
        self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone())).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum ReproStatus {
    Still,
    Other,
    Fixed,
    Vanished,
}

impl ReproStatus {
    fn label(self) -> &'static str {
        match self {
            Self::Still => "it still fails",
            Self::Other => "it fails in another way: this failure is gone, that one is another",
            Self::Fixed => "it does not fail any more",
            Self::Vanished => "it cannot be called any more",
        }
    }
}

#[derive(Debug, Serialize)]
struct ReproJson<'a> {
    id: &'a str,
    result: ReproStatus,
    /// What the rerun shows, or why there is none.
    message: Option<String>,
    verdict: Option<&'static str>,
    input: String,
}

impl ReproCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let PreparedRepro { context, store, record, analysis, cancel } =
            self.failure_args.prepare(global)?;
        let interpreter = self.failure_args.isolation.interpreter(&context)?;
        let backend = self.failure_args.isolation.backend(&context, &interpreter, &cancel)?;
        let failure = &record.failure;
        let found = repro(failure, &backend, &analysis).map_err(isolation::command_error)?;
        if cancel.is_cancelled() {
            return Err(CommandError::Interrupted);
        }
        let (result, message, outcome) = match found {
            ReproResult::Still { outcome } => {
                (ReproStatus::Still, Some(failure.message.clone()), Some(outcome))
            }
            ReproResult::Other { weakness, outcome } => {
                let message = format!("{}: {}", weakness.kind, weakness.evidence);
                (ReproStatus::Other, Some(message), Some(outcome))
            }
            ReproResult::Fixed { outcome } => (ReproStatus::Fixed, None, Some(outcome)),
            ReproResult::Vanished { why } => (ReproStatus::Vanished, Some(why), None),
        };
        // As in a run: if the rerun shows another failure, this one is gone.
        let gone = (result != ReproStatus::Still).then(now_ms);
        store.set_gone(&failure.id, gone).map_err(CommandError::request)?;
        let json = ReproJson {
            id: &failure.id.0,
            result,
            message,
            verdict: outcome.map(|outcome| outcome.verdict.as_str()),
            input: failure.call.to_python(),
        };
        match self.failure_args.format {
            OutputFormat::Json => output::print_json(&json)?,
            OutputFormat::Table => output::print(&format_repro(&json, &record))?,
        }
        Ok(())
    }
}

fn format_repro(json: &ReproJson<'_>, record: &FailureRecord) -> String {
    let failure = &record.failure;
    let mut sheet = LabelledLines::default();
    sheet.add("failure", &format!("{} in {}", failure.id, failure.section));
    sheet.add("call", &truncate(&json.input, MAX_INPUT_CHARS));
    sheet.add("result", json.result.label());
    sheet.add_list("verdict", json.verdict);
    sheet.add_list("message", json.message.as_deref());
    sheet.into_text()
}

/// How many calls were tried, and with which result.
fn format_effort(tried: usize, steps: usize, is_smallest: bool) -> String {
    let candidates = format_count(tried, "candidate");
    match (steps, is_smallest) {
        (0, true) => format!("{candidates}; it was as small as it gets"),
        (0, false) => format!("{candidates}; none was smaller and still showed it"),
        _ => format!("{candidates}; it became smaller in {}", format_count(steps, "step")),
    }
}

#[derive(Debug, Serialize)]
struct ShrinkResultJson<'a> {
    id: &'a str,
    before: String,
    after: String,
    tried: usize,
    steps: usize,
    note: Option<&'a str>,
}

impl ShrinkCommand {
    pub(crate) fn run(self, global: &GlobalArgs) -> Result<(), CommandError> {
        let PreparedRepro { context, store, record, analysis, cancel } =
            self.failure_args.prepare(global)?;
        let interpreter = self.failure_args.isolation.interpreter(&context)?;
        let backend = self.failure_args.isolation.backend(&context, &interpreter, &cancel)?;
        let shrinking = ShrinkRequest {
            budget: self.attempts,
            workers: self.failure_args.isolation.workers(),
            cancel: cancel.clone(),
            deadline: None,
        };
        let found = shrink(&record.failure, &backend, &analysis, &shrinking);
        if cancel.is_cancelled() {
            return Err(CommandError::Interrupted);
        }
        let ShrinkResult { failure, tried, steps, is_smallest, note } =
            found.map_err(CommandError::request)?;
        if steps > 0 || is_smallest {
            store.set_shrunk(&failure.id, &failure.call).map_err(CommandError::request)?;
        }
        let json = ShrinkResultJson {
            id: &failure.id.0,
            before: record.failure.call.to_python(),
            after: failure.call.to_python(),
            tried,
            steps,
            note: note.as_deref(),
        };
        match self.failure_args.format {
            OutputFormat::Json => output::print_json(&json)?,
            OutputFormat::Table => {
                let mut sheet = LabelledLines::default();
                sheet.add("failure", &format!("{} in {}", failure.id, failure.section));
                sheet.add("before", &truncate(&json.before, MAX_INPUT_CHARS));
                sheet.add("after", &truncate(&json.after, MAX_INPUT_CHARS));
                let (before, after) = (&record.failure.call.conditions, &failure.call.conditions);
                if before != after {
                    let left = after.describe();
                    let left =
                        if left.is_empty() { vec!["none is needed".to_owned()] } else { left };
                    sheet.add_list("faults", left);
                }
                sheet.add("tried", &format_effort(tried, steps, is_smallest));
                sheet.add_list("note", json.note);
                output::print(&sheet.into_text())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_shrinking_is_described_in_words() {
        assert_eq!(format_effort(1, 0, true), "1 candidate; it was as small as it gets");
        assert_eq!(
            format_effort(9, 0, false),
            "9 candidates; none was smaller and still showed it"
        );
        assert_eq!(format_effort(209, 26, true), "209 candidates; it became smaller in 26 steps");
    }
}
