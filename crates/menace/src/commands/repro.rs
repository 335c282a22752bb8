//! `menace repro` and `menace shrink`: a failure once more, and with less.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde::Serialize;

use menace_loop::failure::{Repro, Shrinking, Shrunk, python, repro, shrink};
use menace_sandbox::Cancel;
use menace_source::Analysis;
use menace_store::{KnownFailure, Store};

use crate::args::{Format, Global};
use crate::cache;
use crate::commands::exec;
use crate::context::{Context, Flags};
use crate::data;
use crate::exit::Failure;
use crate::isolation::{self, IsolationArgs};
use crate::render::sheet::{Sheet, head};
use crate::render::units::counted;
use crate::render::{failure_table, output};

/// Longer inputs are cut on a terminal.
const WIDTH: usize = 400;

/// What both commands are told.
#[derive(Debug, Args)]
struct Which {
    /// The id of the failure, or the beginning of it.
    #[arg(value_name = "ID")]
    id: String,

    /// The repository [default: `SANDBOX_REPO_PATH`, else the one that the run had].
    #[arg(long, value_name = "DIR")]
    repo: Option<String>,

    #[command(flatten)]
    isolation: IsolationArgs,

    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Make the call of a failure again and say whether it still fails.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace repro f3a91c2e44
  menace repro f3a9 --repo . --format json

It says `still`, `other` (it fails in another way, which is another failure: this one is gone), `fixed`
or `vanished` (the section is gone).")]
pub(crate) struct ReproCommand {
    #[command(flatten)]
    which: Which,
}

/// Find the smallest input and the least trouble that still show a failure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  menace shrink f3a91c2e44
  menace shrink f3a9 --attempts 2000

What is found is kept: `menace show` and `menace export-tests` use it.")]
pub(crate) struct ShrinkCommand {
    #[command(flatten)]
    which: Which,

    /// Candidates that are tried at most.
    #[arg(long, value_name = "N", default_value_t = 500)]
    attempts: usize,
}

/// Everything that it takes to make the call.
struct Ready {
    context: Context,
    store: Store,
    known: KnownFailure,
    analysis: Analysis,
    cancel: Cancel,
}

impl Which {
    fn ready(&self, global: &Global) -> Result<Ready, Failure> {
        let first = Context::new(global, self.flags())?;
        let store = data::store(&first)?;
        let known = store.failure(&self.id).map_err(Failure::request)?;
        let repository = data::repository_of(&store, &known)?;
        let context = data::at_repository(first, global, repository)?;
        let cancel = Cancel::default();
        exec::interrupt::ends(&cancel)?;
        let analysis = exec::analyze(&context, cache::directory(&context))?;
        Ok(Ready { context, store, known, analysis, cancel })
    }

    fn flags(&self) -> Flags {
        self.repo.iter().map(|repo| ("--repo".to_owned(), repo.clone())).collect()
    }
}

#[derive(Debug, Serialize)]
struct ReproJson<'a> {
    id: &'a str,
    result: &'static str,
    /// What is seen today, or why nothing can be.
    message: Option<String>,
    verdict: Option<&'static str>,
    input: String,
}

impl ReproCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let Ready { context, store, known, analysis, cancel } = self.which.ready(global)?;
        let interpreter = self.which.isolation.interpreter(&context)?;
        let backend = self.which.isolation.backend(&context, &interpreter, &cancel)?;
        let failure = &known.failure;
        let found = repro(failure, &backend, &analysis).map_err(isolation::failure)?;
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        let gone = match &found {
            Repro::Still { .. } => None,
            // As in a run: what is seen instead is another failure.
            Repro::Other { .. } | Repro::Fixed { .. } | Repro::Vanished { .. } => Some(now_ms()),
        };
        store.set_gone(&failure.id, gone).map_err(Failure::request)?;
        let (result, message, outcome) = match &found {
            Repro::Still { outcome } => ("still", Some(failure.message.clone()), Some(outcome)),
            Repro::Other { weakness, outcome } => {
                ("other", Some(format!("{}: {}", weakness.kind, weakness.evidence)), Some(outcome))
            }
            Repro::Fixed { outcome } => ("fixed", None, Some(outcome)),
            Repro::Vanished { why } => ("vanished", Some(why.clone()), None),
        };
        let json = ReproJson {
            id: &failure.id.0,
            result,
            message,
            verdict: outcome.map(|outcome| outcome.verdict.as_str()),
            input: python(&failure.call),
        };
        match self.which.format {
            Format::Json => output::print_json(&json)?,
            Format::Table => output::print(&told(&json, &known))?,
        }
        Ok(())
    }
}

/// Milliseconds since 1970.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn told(json: &ReproJson<'_>, known: &KnownFailure) -> String {
    let failure = &known.failure;
    let mut sheet = Sheet::default();
    sheet.add("failure", &format!("{} in {}", failure.id, failure.section));
    sheet.add("call", &head(&json.input, WIDTH));
    let result = match json.result {
        "still" => "it still fails",
        "other" => "it fails in another way: this failure is gone, that one is another",
        "fixed" => "it does not fail any more",
        _ => "it cannot be called any more",
    };
    sheet.add("result", result);
    sheet.list("seen", json.verdict);
    sheet.list("message", json.message.as_deref());
    sheet.into_text()
}

/// What was tried, and what came of it.
fn effort(tried: usize, steps: usize, is_smallest: bool) -> String {
    let candidates = counted(tried, "candidate");
    match (steps, is_smallest) {
        (0, true) => format!("{candidates}; it was as small as it gets"),
        (0, false) => format!("{candidates}; none was smaller and still showed it"),
        _ => format!("{candidates}; it became smaller in {}", counted(steps, "step")),
    }
}

#[derive(Debug, Serialize)]
struct ShrunkJson<'a> {
    id: &'a str,
    before: String,
    after: String,
    tried: usize,
    steps: usize,
    note: Option<&'a str>,
}

impl ShrinkCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), Failure> {
        let Ready { context, store, known, analysis, cancel } = self.which.ready(global)?;
        let interpreter = self.which.isolation.interpreter(&context)?;
        let backend = self.which.isolation.backend(&context, &interpreter, &cancel)?;
        let shrinking = Shrinking {
            budget: self.attempts,
            workers: self.which.isolation.workers(),
            cancel: cancel.clone(),
            deadline: None,
        };
        let found = shrink(&known.failure, &backend, &analysis, &shrinking);
        if cancel.is_cancelled() {
            return Err(Failure::Interrupted);
        }
        let Shrunk { failure, tried, steps, is_smallest, note } =
            found.map_err(Failure::request)?;
        if steps > 0 || is_smallest {
            store.set_shrunk(&failure.id, &failure.call).map_err(Failure::request)?;
        }
        let json = ShrunkJson {
            id: &failure.id.0,
            before: python(&known.failure.call),
            after: python(&failure.call),
            tried,
            steps,
            note: note.as_deref(),
        };
        match self.which.format {
            Format::Json => output::print_json(&json)?,
            Format::Table => {
                let mut sheet = Sheet::default();
                sheet.add("failure", &format!("{} in {}", failure.id, failure.section));
                sheet.add("before", &head(&json.before, WIDTH));
                sheet.add("after", &head(&json.after, WIDTH));
                let (before, after) = (&known.failure.call.conditions, &failure.call.conditions);
                if before != after {
                    let left = failure_table::conditions(after);
                    let left =
                        if left.is_empty() { vec!["none is needed".to_owned()] } else { left };
                    sheet.list("trouble", left);
                }
                sheet.add("tried", &effort(tried, steps, is_smallest));
                sheet.list("note", json.note);
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
    fn what_came_of_shrinking_is_told_in_words() {
        assert_eq!(effort(1, 0, true), "1 candidate; it was as small as it gets");
        assert_eq!(effort(9, 0, false), "9 candidates; none was smaller and still showed it");
        assert_eq!(effort(209, 26, true), "209 candidates; it became smaller in 26 steps");
    }
}
