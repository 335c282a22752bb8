//! Failures for people: a list, and one in full.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use menace_model::{
    CallLimits, RaisedException, SourceLocation, StackFrame, WeaknessKind, format_bytes,
    format_count, format_millis,
};
use menace_store::{FailureRecord, RunOccurrences, read_source_lines};

use super::labelled_lines::{LabelledLines, truncate};
use super::outcome_table::describe_fault_stats;
use super::run_table::{data_dir_flag, next_steps_heading};
use super::table::{escape_for_terminal, keep_end};

/// The longest kind, the end of a place, a count: with an id, a line of 80 columns.
const KIND_WIDTH: usize = 18;
const LOCATION_WIDTH: usize = 36;
const COUNT_WIDTH: usize = 7;
/// The message is indented by the width of an id.
const MESSAGE_INDENT: usize = 13;
const MESSAGE_WIDTH: usize = 66;
/// Longer inputs are cut.
const MAX_INPUT_CHARS: usize = 800;
/// Lines of source before and after the one in question.
const CONTEXT_LINES: usize = 2;
/// Frames of a deep traceback that are shown.
const MAX_FRAMES_SHOWN: usize = 8;

/// Two lines for each, which 80 columns have room for.
pub(crate) fn render_list(failures: &[FailureRecord], data: Option<&str>) -> String {
    if failures.is_empty() {
        return "No failures.\n".to_owned();
    }
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let mut out = String::new();
    for record in failures {
        let failure = &record.failure;
        let place = keep_end(&failure.location.to_string(), LOCATION_WIDTH);
        let count = format!("{}×", record.count_in_run.unwrap_or(record.count));
        let kind = failure.kind.as_str();
        let _ = writeln!(
            out,
            "{id}  {red}{kind:<KIND_WIDTH$}{red:#}  {place:<LOCATION_WIDTH$}  \
             {count:>COUNT_WIDTH$}",
            id = failure.id
        );
        let gone = if record.gone_ms.is_some() { "(gone) " } else { "" };
        let what = escape_for_terminal(&failure.message.replace('\n', " "));
        let _ = writeln!(
            out,
            "{:MESSAGE_INDENT$}{}",
            "",
            truncate(&format!("{gone}{what}"), MESSAGE_WIDTH)
        );
    }
    let all = format_count(failures.len(), "failure");
    let with = data.map_or(String::new(), data_dir_flag);
    format!("{out}\n{all}; `menace show ID{with}` shows one in full.\n")
}

/// All details of one failure; source lines come from the present repository. `data` is the data
/// directory, if commands need it as a flag.
pub(crate) fn render_detail(
    record: &FailureRecord,
    runs: &[RunOccurrences],
    repository: &Path,
    data: Option<&str>,
) -> String {
    let failure = &record.failure;
    let mut sheet = LabelledLines::default();
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    sheet.add("failure", &failure.id.0);
    sheet.add("section", failure.section.as_str());
    sheet.add_styled("kind", red, failure.kind.as_str());
    sheet.add("message", &failure.message);
    sheet.add("location", &failure.location.to_string());
    sheet.add("scenario", &failure.scenario);
    sheet.add("verdict", failure.verdict.as_str());
    sheet.add("call", &truncate(&failure.call.to_python(), MAX_INPUT_CHARS));
    if let Some(shrunk) = &record.shrunk {
        sheet.add("smallest", &truncate(&shrunk.to_python(), MAX_INPUT_CHARS));
    }
    sheet.add_list("limits", describe_limits(&failure.call.limits));
    sheet.add_list("faults", failure.call.conditions.describe());
    sheet.add_list("injected", failure.outcome.fault_stats.iter().map(describe_fault_stats));
    sheet.add("seed", &failure.call.seed.to_string());
    let (first, last) = (&record.first_seen.run, &record.last_seen.run);
    sheet.add("occurrences", &format!("{}× in {}", record.count, format_count(runs.len(), "run")));
    sheet.add_continuation(&format!("first in {first}, last in {last}"));
    if record.gone_ms.is_some() {
        sheet.add_continuation("gone: the last rerun did not show it");
    }
    let mut out = sheet.into_text();
    if let Some(raised) = &failure.outcome.exception {
        add_traceback(&mut out, raised, repository);
    }
    if let Some(hang_location) = &failure.outcome.hang_location {
        let _ = writeln!(out, "\nhang location");
        add_frames(&mut out, &hang_location.frames, repository);
        if let Some(StackFrame { file, function, .. }) = hang_location.loop_frames.first() {
            let lines: Vec<String> =
                hang_location.loop_frames.iter().map(|at| at.line.to_string()).collect();
            let (file, lines) = (escape_for_terminal(file), lines.join(", "));
            let _ =
                writeln!(out, "  {file} in {}, on lines {lines}", escape_for_terminal(function));
            let SourceLocation { file, line } = &failure.location;
            add_source_lines(&mut out, repository, file, *line, CONTEXT_LINES);
        }
    }
    let id = &failure.id;
    let _ = writeln!(out, "\n{}", next_steps_heading(data));
    let _ = writeln!(out, "  menace repro {id}          does it still fail?");
    // An import takes none.
    if record.shrunk.is_none() && failure.kind != WeaknessKind::Import {
        let _ = writeln!(out, "  menace shrink {id}         the smallest input that shows it");
    }
    let _ =
        writeln!(out, "  menace export-tests {id}   a pytest file that fails until it is fixed");
    out
}

/// Describes the limits that differ from the defaults.
fn describe_limits(limits: &CallLimits) -> Vec<String> {
    let usual = CallLimits::default();
    let CallLimits {
        timeout_ms,
        cpu_ms,
        cpu_share,
        memory_bytes,
        disk_bytes,
        processes,
        open_files,
        output_bytes,
        gpus,
    } = limits;
    let mut lines = Vec::new();
    let mut add = |is_other: bool, words: String| lines.extend(is_other.then_some(words));
    let or_none = |value: Option<u64>| value.map_or_else(|| "no end of".to_owned(), format_bytes);
    add(*timeout_ms != usual.timeout_ms, format!("{} of time", format_millis(*timeout_ms as f64)));
    if let Some(ms) = cpu_ms {
        add(true, format!("{} of processor time", format_millis(*ms as f64)));
    }
    if let Some(share) = cpu_share {
        add(true, format!("{share} processors at once"));
    }
    add(*memory_bytes != usual.memory_bytes, format!("{} memory", or_none(*memory_bytes)));
    add(*disk_bytes != usual.disk_bytes, format!("{} disk", or_none(*disk_bytes)));
    add(*processes != usual.processes, format!("{processes} processes beside the first"));
    add(*open_files != usual.open_files, format_count(*open_files as usize, "open file"));
    add(
        *output_bytes != usual.output_bytes,
        format!("{} of output kept", format_bytes(*output_bytes)),
    );
    add(*gpus != usual.gpus, format_count(*gpus as usize, "GPU"));
    lines
}

fn add_traceback(out: &mut String, raised: &RaisedException, repository: &Path) {
    let kind = raised.kind.strip_prefix("builtins.").unwrap_or(&raised.kind);
    let message = escape_for_terminal(&raised.message.replace('\n', " "));
    let _ =
        writeln!(out, "\n{}: {}", escape_for_terminal(kind), truncate(&message, MAX_INPUT_CHARS));
    add_frames(out, &raised.frames, repository);
    if let Some(cause) = &raised.cause {
        let _ = writeln!(out, "\ncaused by");
        add_traceback(out, cause, repository);
    }
}

/// The last frames, with source lines for those in the repository.
fn add_frames(out: &mut String, frames: &[StackFrame], repository: &Path) {
    let dim = Style::new().dimmed();
    let skipped = frames.len().saturating_sub(MAX_FRAMES_SHOWN);
    if skipped > 0 {
        let _ = writeln!(out, "  {dim}… {}{dim:#}", format_count(skipped, "frame"));
    }
    let shown = frames.iter().skip(skipped);
    let last_own = frames.iter().rposition(|frame| frame.in_repository);
    for (index, frame) in shown.enumerate() {
        let StackFrame { file, line, function, in_repository: own } = frame;
        let (file, function) = (escape_for_terminal(file), escape_for_terminal(function));
        let _ = writeln!(out, "  {file}:{line} in {function}");
        if *own {
            let around = if Some(index + skipped) == last_own { CONTEXT_LINES } else { 0 };
            add_source_lines(out, repository, &frame.file, *line, around);
        }
    }
}

/// The lines around a frame; empty for a file that cannot be read.
fn add_source_lines(
    out: &mut String,
    repository: &Path,
    file: &str,
    line: u32,
    context_lines: usize,
) {
    for line in read_source_lines(repository, file, line, context_lines) {
        let mark = if line.is_current { ">" } else { " " };
        let text = escape_for_terminal(&line.text);
        let _ = writeln!(out, "   {mark} {:>5} | {text}", line.number);
    }
}
