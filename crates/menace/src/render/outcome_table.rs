//! One outcome for people. Everything that comes from the guest is cleaned on its way out.

use anstyle::{AnsiColor, Style};

use menace_model::{
    BurstReport, Changed, Coverage, EnforcedBy, Felt, FileChange, Frame, Outcome, Output, Raised,
    Returned, Stage, Stood, Touched, UpstreamReport, Verdict,
};

use super::outcome_json::Header;
use super::sheet::{Sheet, head};
use super::units::{bytes, counted, millis};

const LINES_SHOWN: usize = 10;
const LINE_WIDTH: usize = 160;
const REPR_WIDTH: usize = 1000;
const FRAMES_SHOWN: usize = 12;
const ITEMS_SHOWN: usize = 10;

pub(crate) fn render(header: &Header<'_>, outcome: &Outcome) -> String {
    let mut sheet = Sheet::default();
    sheet.add("target", &place(header));
    drifted(&mut sheet, header);
    sheet.styled("verdict", style(outcome.verdict), outcome.verdict.as_str());
    if let Some(reason) = &outcome.reason {
        sheet.add("reason", reason);
    }
    if outcome.stage != Stage::Call && outcome.verdict != Verdict::Returned {
        sheet.add("stage", stage(outcome.stage));
    }
    if let Some(value) = &outcome.value {
        returned(&mut sheet, value);
    }
    if let Some(exception) = &outcome.exception {
        raised(&mut sheet, "exception", exception);
    }
    if let Some(Stood { frames: common, among }) = &outcome.stood {
        sheet.add("where it was", &counted(common.len() + among.len(), "line"));
        frames(&mut sheet, common);
        frames(&mut sheet, among);
    }
    stream(&mut sheet, "stdout", &outcome.stdout);
    stream(&mut sheet, "stderr", &outcome.stderr);
    if header.tier.is_some() {
        metrics(&mut sheet, outcome);
    }
    sheet.list("faults", outcome.felt.iter().map(felt));
    if let Some(report) = &outcome.upstream {
        asked(&mut sheet, report);
    }
    if let Some(report) = &outcome.burst {
        burst(&mut sheet, report);
    }
    if let Some(coverage) = &outcome.coverage {
        sheet.add("coverage", &reached(coverage));
    }
    traces(&mut sheet, outcome);
    conditions(&mut sheet, header, outcome);
    sheet.list("notes", &outcome.notes);
    sheet.into_text()
}

pub(crate) fn place(header: &Header<'_>) -> String {
    let target = &header.target;
    let line = target.line.map_or(String::new(), |line| format!(":{line}"));
    match target.path {
        Some(path) => format!("{} ({path}{line})", target.name),
        None => target.name.clone(),
    }
}

/// What the section was called with instead of what was given.
pub(crate) fn drifted(sheet: &mut Sheet, header: &Header<'_>) {
    if let Some(drifted) = &header.drifted {
        sheet.add("drifted", &head(&drifted.to_python(), REPR_WIDTH));
    }
}

pub(crate) fn style(verdict: Verdict) -> Style {
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

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Import => "while the module was imported",
        Stage::Resolve => "while the name was looked up",
        Stage::Construct => "while the instance was made",
        Stage::Arguments => "while the arguments were made",
        Stage::Call => "in the call",
        Stage::Consume => "while what it returned was used up",
    }
}

fn returned(sheet: &mut Sheet, value: &Returned) {
    let cut = if value.truncated { " (cut)" } else { "" };
    sheet.add("value", &format!("{}{cut}", head(&value.repr, REPR_WIDTH)));
    let length = value.length.map_or(String::new(), |length| format!(", length {length}"));
    let items = match (value.items, value.more) {
        (Some(items), true) => format!(", {items} items taken of more"),
        (Some(items), false) => format!(", {items} items"),
        (None, _) => String::new(),
    };
    sheet.add("type", &format!("{}{length}{items}", value.kind));
}

fn raised(sheet: &mut Sheet, label: &str, exception: &Raised) {
    let mut message = exception.message.lines();
    let first = head(message.next().unwrap_or_default(), REPR_WIDTH);
    let bold = Style::new().bold();
    if first.is_empty() {
        sheet.styled(label, bold, &exception.kind);
    } else {
        sheet.styled(label, bold, &format!("{}: {first}", exception.kind));
    }
    for line in message.take(LINES_SHOWN) {
        sheet.more(&head(line, LINE_WIDTH));
    }
    frames(sheet, &exception.frames);
    for note in exception.notes.iter().take(ITEMS_SHOWN) {
        sheet.more(&format!("note: {note}"));
    }
    for inner in exception.group.iter().take(ITEMS_SHOWN) {
        raised(sheet, "  of group", inner);
    }
    if let Some(cause) = &exception.cause {
        raised(sheet, "  cause", cause);
    }
}

/// The repository's own frames stand out. Of a long traceback, the ends say most.
fn frames(sheet: &mut Sheet, frames: &[Frame]) {
    let own = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let foreign = Style::new().dimmed();
    let skipped = frames.len().saturating_sub(FRAMES_SHOWN);
    let first = if skipped > 0 { FRAMES_SHOWN / 3 } else { frames.len() };
    for (index, frame) in frames.iter().enumerate() {
        if (first..first + skipped).contains(&index) {
            if index == first {
                sheet.more(&format!("  … {skipped} frames"));
            }
            continue;
        }
        let style = if frame.own { own } else { foreign };
        let text = format!("  {}:{} in {}", frame.file, frame.line, frame.function);
        sheet.styled("", style, &text);
    }
}

fn stream(sheet: &mut Sheet, label: &str, output: &Output) {
    if output.bytes == 0 {
        return;
    }
    let lines: Vec<&str> = output.text.lines().collect();
    let shown = lines.iter().take(LINES_SHOWN).map(|line| head(line, LINE_WIDTH));
    sheet.list(label, shown);
    let cut =
        lines.len() > LINES_SHOWN || lines.iter().any(|line| line.chars().count() > LINE_WIDTH);
    if output.truncated {
        sheet.more(&format!("… {} in all, the beginning was kept", bytes(output.bytes)));
    } else if cut {
        sheet.more(&format!("… {} in all; --format json shows them", bytes(output.bytes)));
    }
}

fn metrics(sheet: &mut Sheet, outcome: &Outcome) {
    let of = &outcome.runtime_metrics;
    sheet.add(
        "time",
        &format!(
            "{} (cpu {} user, {} system); with the sandbox {}",
            millis(of.wall_ms),
            millis(of.user_cpu_ms),
            millis(of.system_cpu_ms),
            millis(of.total_ms)
        ),
    );
    sheet.add("memory", &format!("{} at most", bytes(of.peak_memory_bytes)));
    let (read, written) = (bytes(of.bytes_read), bytes(of.bytes_written));
    sheet.add("io", &format!("{read} read, {written} written"));
}

/// What a fault did to a call, in words.
pub(super) fn felt(felt: &Felt) -> String {
    let Felt { mode, offered, struck, first, last_ms } = felt;
    let first = first.as_ref().map(|first| format!(", first: {}", head(first, LINE_WIDTH)));
    let last = last_ms.map(|last| format!("; last after {}", millis(last)));
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    format!("{mode} struck {struck} of {offered} times{first}{last}")
}

fn burst(sheet: &mut Sheet, report: &BurstReport) {
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
        sheet.styled("", red, "deadlock: some never came to an end");
        if let Some(Frame { file, line, .. }) = waits_at {
            sheet.more(&format!("one of them waits in {file}:{line}"));
        }
    }
    if *differs {
        sheet.styled("", red, "some result is not that of a run alone");
    }
    if !raised.is_empty() {
        let shown: Vec<&str> = raised.iter().take(ITEMS_SHOWN).map(String::as_str).collect();
        sheet.styled("", red, &format!("raised only in company: {}", shown.join(", ")));
    }
}

/// What the section asked of others, and what it was told.
fn asked(sheet: &mut Sheet, report: &UpstreamReport) {
    let UpstreamReport { requests, without_timeout } = report;
    let shown = requests.iter().take(ITEMS_SHOWN);
    sheet.list("asked", shown.map(|one| format!("{}: {}", one.what, one.answer)));
    let more = requests.len().saturating_sub(ITEMS_SHOWN);
    if more > 0 {
        sheet.more(&format!("… and {more} more"));
    }
    if *without_timeout > 0 {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let times = counted(*without_timeout as usize, "time");
        sheet.styled("", red, &format!("waited without a timeout: {times}"));
    }
}

fn reached(coverage: &Coverage) -> String {
    let lines: usize = coverage.files.iter().map(|file| file.lines.len()).sum();
    let branches: usize = coverage.files.iter().map(|file| file.branches.len()).sum();
    let [lines, branches] = [counted(lines, "line"), counted(branches, "branch")];
    format!("{lines} and {branches} reached in {}", counted(coverage.files.len(), "file"))
}

/// What the call did besides returning.
fn traces(sheet: &mut Sheet, outcome: &Outcome) {
    let files = &outcome.files;
    sheet.list("files", files.touched.iter().take(ITEMS_SHOWN).map(touched));
    let more = files.total.saturating_sub(files.touched.len().min(ITEMS_SHOWN) as u64);
    if more > 0 {
        sheet.more(&format!("… and {more} more"));
    }
    let left = &outcome.left;
    let named = |what: &'static str, items: &'_ [String]| -> Vec<String> {
        items.iter().take(ITEMS_SHOWN).map(|item| format!("{what} {item}")).collect()
    };
    let all = [
        named("thread", &left.threads),
        named("process", &left.processes),
        named("descriptor", &left.descriptors),
    ];
    sheet.list("left", all.concat());
    sheet.list("changed", changed(&outcome.changed));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    for violation in &outcome.violations {
        sheet.styled("violation", red, &format!("{}: {}", violation.what, violation.detail));
    }
}

fn touched(file: &Touched) -> String {
    match file.what {
        FileChange::Created => format!("created {} ({})", file.path, bytes(file.bytes)),
        FileChange::Changed => format!("changed {} ({})", file.path, bytes(file.bytes)),
        FileChange::Deleted => format!("deleted {}", file.path),
    }
}

fn changed(changed: &Changed) -> Vec<String> {
    let Changed {
        environment,
        working_directory,
        modules_loaded: _,
        signals,
        recursion_limit,
        defaults,
    } = changed;
    let mut all = Vec::new();
    if !environment.is_empty() {
        let shown: Vec<&str> = environment.iter().take(ITEMS_SHOWN).map(String::as_str).collect();
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

fn conditions(sheet: &mut Sheet, header: &Header<'_>, outcome: &Outcome) {
    if let (Some(tier), Some(python)) = (header.tier, &header.python) {
        sheet.add("isolation", &format!("{tier}: {}", tier.description()));
        let executable = python.executable.display();
        sheet.add("python", &format!("{} ({executable}), seed {}", python.version, header.seed));
    }
    if !outcome.enforced_by.is_empty() {
        sheet.add("limits", &held(&outcome.enforced_by));
    }
    if !outcome.unenforced.is_empty() {
        let names: Vec<&str> = outcome.unenforced.iter().map(|limit| limit.as_str()).collect();
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        sheet.styled("not held", yellow, &names.join(", "));
    }
}

fn held(by: &EnforcedBy) -> String {
    let one = |mechanisms: &[menace_model::Mechanism]| {
        mechanisms.iter().map(|one| one.as_str()).collect::<Vec<_>>().join("+")
    };
    let all: Vec<String> = by.iter().map(|(limit, by)| format!("{limit} {}", one(by))).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use menace_model::{FaultMode, FileCoverage, How, ModuleRef, Target};

    use super::*;

    #[test]
    fn what_the_call_had_to_cope_with_is_shown() {
        let outcome = Outcome {
            felt: vec![
                Felt {
                    mode: FaultMode::Disk,
                    offered: 5,
                    struck: 2,
                    first: Some("write of out.txt: ENOSPC".to_owned()),
                    last_ms: Some(3.21),
                },
                Felt { mode: FaultMode::Memory, offered: 0, struck: 0, first: None, last_ms: None },
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
            coverage: Some(Coverage {
                files: vec![FileCoverage {
                    file: "mod.py".to_owned(),
                    lines: vec![1, 2, 4],
                    branches: vec![(2, 4)],
                }],
            }),
            ..Outcome::of(Verdict::Returned, Stage::Call)
        };
        let module = ModuleRef { name: "mod".to_owned(), path: None };
        let target = Target { module, qualname: "f".to_owned(), how: How::Function };
        let text = render(&Header::new(&target, None, 0, None), &outcome);
        insta::assert_snapshot!(anstream::adapter::strip_str(&text), @r"
        target      mod:f
        verdict     returned
        faults      disk struck 2 of 5 times, first: write of out.txt: ENOSPC; last after 3.2 ms
                    memory struck 0 of 0 times
        burst       32 threads, 0 tasks: 31 finished, 3 different results
                    deadlock: some never came to an end
                    some result is not that of a run alone
                    raised only in company: KeyError
        coverage    3 lines and 1 branch reached in 1 file
        ");
    }
}
