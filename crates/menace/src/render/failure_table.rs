//! Failures for people: a list, and the story of one.

use std::fmt::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};

use menace_loop::failure::{self, python};
use menace_model::{Conditions, Frame, Limits, Network, Place, Raised, WeaknessKind};
use menace_store::{KnownFailure, Sighting};

use super::outcome_table::felt;
use super::run_table::{heading_of_next, with_data};
use super::sheet::{Sheet, head};
use super::table::{printable, tail};
use super::units::{bytes, counted, millis};

/// The longest kind, the end of a place, a count: with an id, a line of 80 columns.
const KIND: usize = 18;
const PLACE: usize = 36;
const COUNT: usize = 7;
/// What was seen goes below, after the width of an id.
const INDENT: usize = 13;
const WHAT: usize = 66;
/// Longer inputs are cut.
const INPUT: usize = 800;
/// Lines of source before and after the one in question.
const AROUND: usize = 2;
/// Frames of a deep traceback that are shown.
const FRAMES: usize = 8;

/// Two lines for each, which 80 columns have room for.
pub(crate) fn list(failures: &[KnownFailure], data: Option<&str>) -> String {
    if failures.is_empty() {
        return "No failures.\n".to_owned();
    }
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let mut out = String::new();
    for known in failures {
        let failure = &known.failure;
        let place = tail(&failure.location.to_string(), PLACE);
        let count = format!("{}×", known.count_in_run.unwrap_or(known.count));
        let kind = failure.kind.as_str();
        let _ = writeln!(
            out,
            "{id}  {red}{kind:<KIND$}{red:#}  {place:<PLACE$}  {count:>COUNT$}",
            id = failure.id
        );
        let gone = if known.gone_ms.is_some() { "(gone) " } else { "" };
        let what = printable(&failure.message.replace('\n', " "));
        let _ = writeln!(out, "{:INDENT$}{}", "", head(&format!("{gone}{what}"), WHAT));
    }
    let all = counted(failures.len(), "failure");
    let with = data.map_or(String::new(), with_data);
    format!("{out}\n{all}; `menace show ID{with}` tells the story of one.\n")
}

/// Everything about one; source lines come from the repository as it is now. `data` is the data directory
/// that later commands have to be told, too.
pub(crate) fn story(
    known: &KnownFailure,
    runs: &[Sighting],
    repository: &Path,
    data: Option<&str>,
) -> String {
    let failure = &known.failure;
    let mut sheet = Sheet::default();
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    sheet.add("failure", &failure.id.0);
    sheet.add("section", failure.section.as_str());
    sheet.styled("kind", red, failure.kind.as_str());
    sheet.add("what", &failure.message);
    sheet.add("where", &failure.location.to_string());
    sheet.add("scenario", &failure.scenario);
    sheet.add("verdict", failure.verdict.as_str());
    sheet.add("call", &head(&python(&failure.call), INPUT));
    if let Some(shrunk) = &known.shrunk {
        sheet.add("smallest", &head(&python(shrunk), INPUT));
    }
    sheet.list("limits", limits(&failure.call.limits));
    sheet.list("trouble", conditions(&failure.call.conditions));
    sheet.list("felt", failure.outcome.felt.iter().map(felt));
    sheet.add("seed", &failure.call.seed.to_string());
    let (first, last) = (&known.first.run, &known.last.run);
    sheet.add("seen", &format!("{}× in {}", known.count, counted(runs.len(), "run")));
    sheet.more(&format!("first in {first}, last in {last}"));
    if known.gone_ms.is_some() {
        sheet.more("it was not there any more when it was looked for last");
    }
    let mut out = sheet.into_text();
    if let Some(raised) = &failure.outcome.exception {
        traceback(&mut out, raised, repository);
    }
    if let Some(stood) = &failure.outcome.stood {
        let _ = writeln!(out, "\nwhere it was");
        frames(&mut out, &stood.frames, repository);
        if let Some(Frame { file, function, .. }) = stood.among.first() {
            let lines: Vec<String> = stood.among.iter().map(|at| at.line.to_string()).collect();
            let (file, lines) = (printable(file), lines.join(", "));
            let _ = writeln!(out, "  {file} in {}, on lines {lines}", printable(function));
            let Place { file, line } = &failure.location;
            source(&mut out, repository, file, *line as usize, AROUND);
        }
    }
    let id = &failure.id;
    let _ = writeln!(out, "\n{}", heading_of_next(data));
    let _ = writeln!(out, "  menace repro {id}          does it still fail?");
    // An import takes none.
    if known.shrunk.is_none() && failure.kind != WeaknessKind::Import {
        let _ = writeln!(out, "  menace shrink {id}         the smallest input that shows it");
    }
    let _ =
        writeln!(out, "  menace export-tests {id}   a pytest file that fails until it is mended");
    out
}

/// What was arranged around a call, in words.
pub(crate) fn conditions(conditions: &Conditions) -> Vec<String> {
    let Conditions { network, faults, burst, upstream } = conditions;
    let mut told: Vec<String> = Vec::new();
    if let Some(burst) = burst {
        let (threads, tasks) = (burst.threads, burst.tasks);
        told.push(format!("at once in {threads} threads, {tasks} tasks"));
    }
    told.extend(faults.iter().map(|fault| format!("fault: {}", fault.mode.as_str())));
    if !network.is_perfect() {
        told.push(format!("network: {}", network_in_words(network).join(", ")));
    }
    if let Some(failure) = upstream.as_ref().and_then(|upstream| upstream.failure) {
        told.push(format!("whoever it calls fails: {failure:?}").to_lowercase());
    }
    told
}

/// What is not perfect about it.
fn network_in_words(network: &Network) -> Vec<String> {
    let Network { latency_ms, jitter_ms, loss, duplication, bits_per_second, partition } = network;
    let mut told = Vec::new();
    let mut add = |is_set: bool, words: String| told.extend(is_set.then_some(words));
    add(*latency_ms > 0.0, format!("{latency_ms:.0} ms latency"));
    add(*jitter_ms > 0.0, format!("{jitter_ms:.0} ms jitter"));
    add(*loss > 0.0, format!("{:.1} % loss", 100.0 * loss));
    add(*duplication > 0.0, format!("{:.1} % duplicated", 100.0 * duplication));
    if let Some(bits) = bits_per_second {
        add(true, format!("{bits} bits per second"));
    }
    for peer in partition {
        let host = peer.host.as_deref().unwrap_or("anybody");
        let port = peer.port.map_or(String::new(), |port| format!(":{port}"));
        add(true, format!("{host}{port} cannot be reached"));
    }
    told
}

/// Those that a preset has set: what is not the default.
fn limits(limits: &Limits) -> Vec<String> {
    let usual = Limits::default();
    let Limits {
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
    let mut told = Vec::new();
    let mut add = |is_other: bool, words: String| told.extend(is_other.then_some(words));
    let or_none = |value: Option<u64>| value.map_or_else(|| "no end of".to_owned(), bytes);
    add(*timeout_ms != usual.timeout_ms, format!("{} of time", millis(*timeout_ms as f64)));
    if let Some(ms) = cpu_ms {
        add(true, format!("{} of processor time", millis(*ms as f64)));
    }
    if let Some(share) = cpu_share {
        add(true, format!("{share} processors at once"));
    }
    add(*memory_bytes != usual.memory_bytes, format!("{} memory", or_none(*memory_bytes)));
    add(*disk_bytes != usual.disk_bytes, format!("{} disk", or_none(*disk_bytes)));
    add(*processes != usual.processes, format!("{processes} processes beside the first"));
    add(*open_files != usual.open_files, counted(*open_files as usize, "open file"));
    add(*output_bytes != usual.output_bytes, format!("{} of output kept", bytes(*output_bytes)));
    add(*gpus != usual.gpus, counted(*gpus as usize, "GPU"));
    told
}

fn traceback(out: &mut String, raised: &Raised, repository: &Path) {
    let kind = raised.kind.strip_prefix("builtins.").unwrap_or(&raised.kind);
    let message = printable(&raised.message.replace('\n', " "));
    let _ = writeln!(out, "\n{}: {}", printable(kind), head(&message, INPUT));
    frames(out, &raised.frames, repository);
    if let Some(cause) = &raised.cause {
        let _ = writeln!(out, "\ncaused by");
        traceback(out, cause, repository);
    }
}

/// The last of them, with the lines of those that are the repository's.
fn frames(out: &mut String, frames: &[Frame], repository: &Path) {
    let dim = Style::new().dimmed();
    let skipped = frames.len().saturating_sub(FRAMES);
    if skipped > 0 {
        let _ = writeln!(out, "  {dim}… {}{dim:#}", counted(skipped, "frame"));
    }
    let shown = frames.iter().skip(skipped);
    let last_own = frames.iter().rposition(|frame| frame.own);
    for (index, frame) in shown.enumerate() {
        let Frame { file, line, function, own } = frame;
        let (file, function) = (printable(file), printable(function));
        let _ = writeln!(out, "  {file}:{line} in {function}");
        if *own {
            let around = if Some(index + skipped) == last_own { AROUND } else { 0 };
            source(out, repository, &frame.file, *line as usize, around);
        }
    }
}

/// The lines around one; nothing for a file that cannot be read.
fn source(out: &mut String, repository: &Path, file: &str, line: usize, around: usize) {
    let Some(text) = failure::source(repository, file) else { return };
    let first = line.saturating_sub(around).max(1);
    for (index, content) in text.lines().enumerate().skip(first - 1).take(line + around + 1 - first)
    {
        let mark = if index + 1 == line { ">" } else { " " };
        let content = printable(&content.replace('\t', "    "));
        let _ = writeln!(out, "   {mark} {:>5} | {content}", index + 1);
    }
}
