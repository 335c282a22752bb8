//! Formats one outcome for display. Everything from the guest is escaped when it is printed.

use anstyle::{AnsiColor, Style};

use menace_model::{
    BurstReport, CallCoverage, CallStage, FaultStats, FileChangeKind, HangLocation,
    LimitEnforcement, Outcome, RaisedException, ReturnedValue, StackFrame, StateChanges,
    StreamOutput, TouchedFile, UpstreamReport, Verdict, format_bytes, format_count, format_millis,
};

use super::labelled_lines::{LabelledLines, truncate};
use super::outcome_json::OutcomeHeader;

const MAX_LINES_SHOWN: usize = 10;
const MAX_LINE_CHARS: usize = 160;
const MAX_REPR_CHARS: usize = 1000;
const MAX_FRAMES_SHOWN: usize = 12;
const MAX_ITEMS_SHOWN: usize = 10;

pub(crate) fn render(header: &OutcomeHeader<'_>, outcome: &Outcome) -> String {
    let mut sheet = LabelledLines::default();
    sheet.add("target", &target_location(header));
    add_drifted_arguments(&mut sheet, header);
    sheet.add_styled("verdict", verdict_style(outcome.verdict), outcome.verdict.as_str());
    if let Some(reason) = &outcome.reason {
        sheet.add("reason", reason);
    }
    if outcome.stage != CallStage::Call && outcome.verdict != Verdict::Returned {
        sheet.add("stage", stage_name(outcome.stage));
    }
    if let Some(value) = &outcome.value {
        add_returned(&mut sheet, value);
    }
    if let Some(exception) = &outcome.exception {
        add_exception(&mut sheet, "exception", exception);
    }
    if let Some(HangLocation { frames, loop_frames }) = &outcome.hang_location {
        sheet.add("stack", &format_count(frames.len() + loop_frames.len(), "line"));
        add_frames(&mut sheet, frames);
        add_frames(&mut sheet, loop_frames);
    }
    add_stream(&mut sheet, "stdout", &outcome.stdout);
    add_stream(&mut sheet, "stderr", &outcome.stderr);
    if header.tier.is_some() {
        add_metrics(&mut sheet, outcome);
    }
    sheet.add_list("faults", outcome.fault_stats.iter().map(describe_fault_stats));
    if let Some(report) = &outcome.upstream {
        add_upstream_requests(&mut sheet, report);
    }
    if let Some(report) = &outcome.burst {
        add_burst(&mut sheet, report);
    }
    if let Some(coverage) = &outcome.coverage {
        sheet.add("coverage", &describe_coverage(coverage));
    }
    add_side_effects(&mut sheet, outcome);
    add_conditions(&mut sheet, header, outcome);
    sheet.add_list("notes", &outcome.notes);
    sheet.into_text()
}

pub(crate) fn target_location(header: &OutcomeHeader<'_>) -> String {
    let target = &header.target;
    let line = target.line.map_or(String::new(), |line| format!(":{line}"));
    match target.path {
        Some(path) => format!("{} ({path}{line})", target.name),
        None => target.name.clone(),
    }
}

/// Adds the arguments that the section was called with, if they differ from the given ones.
pub(crate) fn add_drifted_arguments(sheet: &mut LabelledLines, header: &OutcomeHeader<'_>) {
    if let Some(drifted) = &header.drifted {
        sheet.add("drifted", &truncate(&drifted.to_python(), MAX_REPR_CHARS));
    }
}

pub(crate) fn verdict_style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Returned => AnsiColor::Green,
        Verdict::Refused | Verdict::Unreachable => AnsiColor::Yellow,
        Verdict::Raised
        | Verdict::Crashed
        | Verdict::TimedOut
        | Verdict::OutOfMemory
        | Verdict::OutOfDisk
        | Verdict::Violated => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

fn stage_name(stage: CallStage) -> &'static str {
    match stage {
        CallStage::Import => "while the module was imported",
        CallStage::Resolve => "while the name was looked up",
        CallStage::Construct => "while the instance was made",
        CallStage::Arguments => "while the arguments were made",
        CallStage::Call => "in the call",
        CallStage::Consume => "while what it returned was used up",
    }
}

fn add_returned(sheet: &mut LabelledLines, value: &ReturnedValue) {
    let cut = if value.truncated { " (cut)" } else { "" };
    sheet.add("value", &format!("{}{cut}", truncate(&value.repr, MAX_REPR_CHARS)));
    let length = value.length.map_or(String::new(), |length| format!(", length {length}"));
    let items = match (value.items, value.more) {
        (Some(items), true) => format!(", {items} items taken of more"),
        (Some(items), false) => format!(", {items} items"),
        (None, _) => String::new(),
    };
    sheet.add("type", &format!("{}{length}{items}", value.kind));
}

fn add_exception(sheet: &mut LabelledLines, label: &str, exception: &RaisedException) {
    let mut message = exception.message.lines();
    let first = truncate(message.next().unwrap_or_default(), MAX_REPR_CHARS);
    let bold = Style::new().bold();
    if first.is_empty() {
        sheet.add_styled(label, bold, &exception.kind);
    } else {
        sheet.add_styled(label, bold, &format!("{}: {first}", exception.kind));
    }
    for line in message.take(MAX_LINES_SHOWN) {
        sheet.add_continuation(&truncate(line, MAX_LINE_CHARS));
    }
    add_frames(sheet, &exception.frames);
    for note in exception.notes.iter().take(MAX_ITEMS_SHOWN) {
        sheet.add_continuation(&format!("note: {note}"));
    }
    for inner in exception.group.iter().take(MAX_ITEMS_SHOWN) {
        add_exception(sheet, "  of group", inner);
    }
    if let Some(cause) = &exception.cause {
        add_exception(sheet, "  cause", cause);
    }
}

/// The repository's own frames are highlighted. A long traceback is cut in its middle.
fn add_frames(sheet: &mut LabelledLines, frames: &[StackFrame]) {
    let own = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let foreign = Style::new().dimmed();
    let skipped = frames.len().saturating_sub(MAX_FRAMES_SHOWN);
    let first = if skipped > 0 { MAX_FRAMES_SHOWN / 3 } else { frames.len() };
    for (index, frame) in frames.iter().enumerate() {
        if (first..first + skipped).contains(&index) {
            if index == first {
                sheet.add_continuation(&format!("  … {skipped} frames"));
            }
            continue;
        }
        let style = if frame.in_repository { own } else { foreign };
        let text = format!("  {}:{} in {}", frame.file, frame.line, frame.function);
        sheet.add_styled("", style, &text);
    }
}

fn add_stream(sheet: &mut LabelledLines, label: &str, output: &StreamOutput) {
    if output.bytes == 0 {
        return;
    }
    let lines: Vec<&str> = output.text.lines().collect();
    let shown = lines.iter().take(MAX_LINES_SHOWN).map(|line| truncate(line, MAX_LINE_CHARS));
    sheet.add_list(label, shown);
    let cut = lines.len() > MAX_LINES_SHOWN
        || lines.iter().any(|line| line.chars().count() > MAX_LINE_CHARS);
    if output.truncated {
        sheet.add_continuation(&format!(
            "… {} in all, the beginning was kept",
            format_bytes(output.bytes)
        ));
    } else if cut {
        sheet.add_continuation(&format!(
            "… {} in all; --format json shows them",
            format_bytes(output.bytes)
        ));
    }
}

fn add_metrics(sheet: &mut LabelledLines, outcome: &Outcome) {
    let of = &outcome.runtime_metrics;
    sheet.add(
        "time",
        &format!(
            "{} (cpu {} user, {} system); with the sandbox {}",
            format_millis(of.wall_ms),
            format_millis(of.user_cpu_ms),
            format_millis(of.system_cpu_ms),
            format_millis(of.total_ms)
        ),
    );
    sheet.add("memory", &format!("{} at most", format_bytes(of.peak_memory_bytes)));
    let (read, written) = (format_bytes(of.bytes_read), format_bytes(of.bytes_written));
    sheet.add("io", &format!("{read} read, {written} written"));
}

/// Describes how often a fault was injected.
pub(super) fn describe_fault_stats(stats: &FaultStats) -> String {
    let FaultStats {
        mode,
        opportunities: offered,
        injected,
        first_injected: first,
        last_injected_ms: last_ms,
    } = stats;
    let first = first.as_ref().map(|first| format!(", first: {}", truncate(first, MAX_LINE_CHARS)));
    let last = last_ms.map(|last| format!("; last after {}", format_millis(last)));
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    format!("{mode} injected {injected} of {offered} times{first}{last}")
}

fn add_burst(sheet: &mut LabelledLines, report: &BurstReport) {
    let BurstReport {
        threads_spawned,
        tasks_spawned,
        finished,
        deadlocked,
        waits_at,
        raised,
        distinct_results,
        differs,
    } = report;
    sheet.add(
        "burst",
        &format!(
            "{threads_spawned} threads, {tasks_spawned} tasks: {finished} finished, \
             {distinct_results} different results"
        ),
    );
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    if *deadlocked {
        sheet.add_styled("", red, "deadlock: some never came to an end");
        if let Some(StackFrame { file, line, .. }) = waits_at {
            sheet.add_continuation(&format!("one of them waits in {file}:{line}"));
        }
    }
    if *differs {
        sheet.add_styled("", red, "some result differs from that of an isolated run");
    }
    if !raised.is_empty() {
        let shown: Vec<&str> = raised.iter().take(MAX_ITEMS_SHOWN).map(String::as_str).collect();
        sheet.add_styled("", red, &format!("raised only when concurrent: {}", shown.join(", ")));
    }
}

/// Requests of the section to upstreams, and the replies.
fn add_upstream_requests(sheet: &mut LabelledLines, report: &UpstreamReport) {
    let UpstreamReport { requests, without_timeout } = report;
    let shown = requests.iter().take(MAX_ITEMS_SHOWN);
    sheet.add_list("requests", shown.map(|one| format!("{}: {}", one.request, one.answer)));
    let more = requests.len().saturating_sub(MAX_ITEMS_SHOWN);
    if more > 0 {
        sheet.add_continuation(&format!("… and {more} more"));
    }
    if *without_timeout > 0 {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let times = format_count(*without_timeout as usize, "time");
        sheet.add_styled("", red, &format!("waited without a timeout: {times}"));
    }
}

fn describe_coverage(coverage: &CallCoverage) -> String {
    let lines: usize = coverage.files.iter().map(|file| file.lines.len()).sum();
    let branches: usize = coverage.files.iter().map(|file| file.branches.len()).sum();
    let [lines, branches] = [format_count(lines, "line"), format_count(branches, "branch")];
    format!("{lines} and {branches} reached in {}", format_count(coverage.files.len(), "file"))
}

/// Adds what the call did besides returning.
fn add_side_effects(sheet: &mut LabelledLines, outcome: &Outcome) {
    let files = &outcome.files;
    sheet.add_list("files", files.touched.iter().take(MAX_ITEMS_SHOWN).map(describe_touched_file));
    let more = files.total.saturating_sub(files.touched.len().min(MAX_ITEMS_SHOWN) as u64);
    if more > 0 {
        sheet.add_continuation(&format!("… and {more} more"));
    }
    let leaked = &outcome.leaked;
    let named = |what: &'static str, items: &'_ [String]| -> Vec<String> {
        items.iter().take(MAX_ITEMS_SHOWN).map(|item| format!("{what} {item}")).collect()
    };
    let all = [
        named("thread", &leaked.threads),
        named("process", &leaked.processes),
        named("descriptor", &leaked.descriptors),
    ];
    sheet.add_list("leaked", all.concat());
    sheet.add_list("state", describe_state_changes(&outcome.state_changes));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    for violation in &outcome.violations {
        sheet.add_styled("violation", red, &format!("{}: {}", violation.kind, violation.detail));
    }
}

fn describe_touched_file(file: &TouchedFile) -> String {
    match file.change {
        FileChangeKind::Created => format!("created {} ({})", file.path, format_bytes(file.bytes)),
        FileChangeKind::Changed => format!("changed {} ({})", file.path, format_bytes(file.bytes)),
        FileChangeKind::Deleted => format!("deleted {}", file.path),
    }
}

fn describe_state_changes(changes: &StateChanges) -> Vec<String> {
    let StateChanges {
        environment,
        working_directory,
        modules_loaded: _,
        signals,
        recursion_limit,
        defaults,
    } = changes;
    let mut all = Vec::new();
    if !environment.is_empty() {
        let shown: Vec<&str> =
            environment.iter().take(MAX_ITEMS_SHOWN).map(String::as_str).collect();
        all.push(format!("environment: {}", shown.join(", ")));
    }
    all.extend(working_directory.as_ref().map(|path| format!("working directory: {path}")));
    if !signals.is_empty() {
        let shown: Vec<String> = signals.iter().map(i32::to_string).collect();
        all.push(format!("signal handlers: {}", shown.join(", ")));
    }
    all.extend(recursion_limit.map(|limit| format!("recursion limit: {limit}")));
    if !defaults.is_empty() {
        all.push(format!("default of: {}", defaults.join(", ")));
    }
    all
}

fn add_conditions(sheet: &mut LabelledLines, header: &OutcomeHeader<'_>, outcome: &Outcome) {
    if let (Some(tier), Some(python)) = (header.tier, &header.python) {
        sheet.add("isolation", &format!("{tier}: {}", tier.description()));
        let executable = python.executable.display();
        sheet.add("python", &format!("{} ({executable}), seed {}", python.version, header.seed));
    }
    if !outcome.enforced_by.is_empty() {
        sheet.add("limits", &describe_enforcement(&outcome.enforced_by));
    }
    if !outcome.unenforced.is_empty() {
        let names: Vec<&str> = outcome.unenforced.iter().map(|limit| limit.as_str()).collect();
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        sheet.add_styled("unenforced", yellow, &names.join(", "));
    }
}

fn describe_enforcement(by: &LimitEnforcement) -> String {
    let one = |mechanisms: &[menace_model::LimitMechanism]| {
        mechanisms.iter().map(|one| one.as_str()).collect::<Vec<_>>().join("+")
    };
    let all: Vec<String> = by.iter().map(|(limit, by)| format!("{limit} {}", one(by))).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use menace_model::{CallTarget, FaultMode, FileCoverage, ModuleRef, TargetKind};

    use super::*;

    #[test]
    fn what_the_call_had_to_cope_with_is_shown() {
        let outcome = Outcome {
            fault_stats: vec![
                FaultStats {
                    mode: FaultMode::Disk,
                    opportunities: 5,
                    injected: 2,
                    first_injected: Some("write of out.txt: ENOSPC".to_owned()),
                    last_injected_ms: Some(3.21),
                },
                FaultStats {
                    mode: FaultMode::Memory,
                    opportunities: 0,
                    injected: 0,
                    first_injected: None,
                    last_injected_ms: None,
                },
            ],
            burst: Some(BurstReport {
                threads_spawned: 32,
                finished: 31,
                deadlocked: true,
                raised: vec!["KeyError".to_owned()],
                distinct_results: 3,
                differs: true,
                ..BurstReport::default()
            }),
            coverage: Some(CallCoverage {
                files: vec![FileCoverage {
                    file: "mod.py".to_owned(),
                    lines: vec![1, 2, 4],
                    branches: vec![(2, 4)],
                }],
            }),
            ..Outcome::new(Verdict::Returned, CallStage::Call)
        };
        let module = ModuleRef { name: "mod".to_owned(), path: None };
        let target = CallTarget { module, qualname: "f".to_owned(), kind: TargetKind::Function };
        let text = render(&OutcomeHeader::new(&target, None, 0, None), &outcome);
        insta::assert_snapshot!(anstream::adapter::strip_str(&text), @r"
        target      mod:f
        verdict     returned
        faults      disk injected 2 of 5 times, first: write of out.txt: ENOSPC; last after 3.21 ms
                    memory injected 0 of 0 times
        burst       32 threads, 0 tasks: 31 finished, 3 different results
                    deadlock: some never came to an end
                    some result differs from that of an isolated run
                    raised only when concurrent: KeyError
        coverage    3 lines and 1 branch reached in 1 file
        ");
    }
}
