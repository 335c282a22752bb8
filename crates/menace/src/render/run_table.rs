//! A run for people: verdicts, scenarios, modules, failures, and what to do next. Fits 80 columns.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color};

use menace_loop::report::{FailureReport, ModuleRow, RunReport, ScenarioReport};
use menace_model::WeaknessKind;

use super::table::{number, printable, row, table, tail};
use super::units::counted;

const MODULES_SHOWN: usize = 12;
const FAILURES_SHOWN: usize = 20;
const UNREACHED_SHOWN: usize = 5;
const PATH_WIDTH: usize = 38;
const LINE: usize = 78;
const SUBJECT_WIDTH: usize = 38;
/// Longer ones are in the JSON.
const REASON_LINES: usize = 3;

/// The report for people; `data` is the data directory that later commands have to be told, too.
pub(crate) fn render(report: &RunReport, data: Option<&str>) -> String {
    let mut out = String::new();
    head(&mut out, report);
    scenarios(&mut out, report);
    modules(&mut out, &report.modules);
    failures(&mut out, &report.failures, report.calls);
    untouched(&mut out, report);
    next(&mut out, report, data);
    out
}

fn head(out: &mut String, report: &RunReport) {
    let RunReport { run_id, seed, elapsed_s, sections, calls, coverage, roi, cycles, .. } = report;
    let sections = counted(*sections, "section");
    let calls = counted(*calls as usize, "call");
    let took = format!("in {elapsed_s:.1} s");
    match cycles {
        0 | 1 => {
            let _ = writeln!(out, "{sections}, {calls} {took} · seed {seed} · run {run_id}");
        }
        cycles => {
            let _ = writeln!(out, "{sections}, {calls} {took}, {cycles} cycles · seed {seed}");
            let _ = writeln!(out, "run {run_id} · ROI and the tables are of the last cycle");
        }
    }
    let roi = if roi.is_finite() { format!("{roi:.3}") } else { "–".to_owned() };
    let delta = report.roi_delta.map_or(String::new(), |delta| format!(" ({delta:+.3})"));
    let lines = 100.0 * coverage.lines;
    let _ = writeln!(
        out,
        "ROI {roi}{delta} · {} called, {} unreachable · {lines:.0} % of lines reached",
        coverage.called, coverage.unreachable
    );
    let mut text = String::new();
    for (verdict, count) in &report.verdicts {
        let word = format!("{verdict} {count}");
        if text.len() + word.len() > LINE {
            let _ = writeln!(out, "{}", text.trim_end());
            text.clear();
        }
        text.push_str(&word);
        text.push_str("   ");
    }
    let _ = writeln!(out, "{}", text.trim_end());
}

fn scenarios(out: &mut String, report: &RunReport) {
    if report.scenarios.is_empty() {
        return;
    }
    let mut shown: Vec<&ScenarioReport> = report.scenarios.iter().collect();
    shown.sort_by(|one, other| one.roi.total_cmp(&other.roi).then(one.name.cmp(&other.name)));
    let mut table = table(&["Scenario", "ROI", "Delta", "Calls", ""]);
    for scenario in shown {
        let is_worst = report.worst_scenario.as_ref() == Some(&scenario.name);
        table.add_row(row([
            Cell::new(tail(&scenario.name, PATH_WIDTH)),
            number(format!("{:.3}", scenario.roi)),
            delta(scenario.roi_delta),
            number(scenario.calls),
            Cell::new(if is_worst { "<== WORST" } else { "" }).fg(Color::Red),
        ]));
    }
    let _ = writeln!(out, "\n{table}");
}

fn modules(out: &mut String, modules: &[ModuleRow]) {
    if modules.is_empty() {
        return;
    }
    let mut table = table(&["Weakest modules", "ROI", "Delta", "RAROI", "Risk", "Flags"]);
    for module in modules.iter().take(MODULES_SHOWN) {
        let risk = module.metrics.get("risk_index");
        table.add_row(row([
            Cell::new(tail(&module.path, PATH_WIDTH)),
            number(format!("{:.3}", module.roi)),
            delta(module.roi_delta),
            number(format!("{:.3}", module.raroi)),
            number(risk.map_or("–".to_owned(), |risk| format!("{risk:.2}"))),
            if module.is_left_out() { number("left out") } else { number(module.risk_flags.len()) },
        ]));
    }
    let _ = writeln!(out, "\n{table}");
    if modules.len() > MODULES_SHOWN {
        let _ = writeln!(out, "and {} more; --format json has all", modules.len() - MODULES_SHOWN);
    }
}

fn delta(delta: Option<f64>) -> Cell {
    match delta {
        None => number("–"),
        Some(delta) if delta <= -0.0005 => number(format!("{delta:+.3}")).fg(Color::Red),
        Some(delta) if delta >= 0.0005 => number(format!("{delta:+.3}")).fg(Color::Green),
        Some(_) => number("0.000"),
    }
}

fn failures(out: &mut String, failures: &[FailureReport], calls: u64) {
    if failures.is_empty() {
        let nothing = match calls {
            0 => "Nothing was called.".to_owned(),
            calls => format!("Nothing broke in {}.", counted(calls as usize, "call")),
        };
        let _ = writeln!(out, "\n{nothing}");
        return;
    }
    let new = failures.iter().filter(|failure| failure.new).count();
    let _ = writeln!(out, "\n{} ({new} new):", counted(failures.len(), "failure"));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let dim = Style::new().dimmed();
    for failure in failures.iter().take(FAILURES_SHOWN) {
        let mark = if failure.new { "new" } else { "   " };
        let location = tail(&failure.location, LINE - 34);
        let FailureReport { id, kind, section, count, scenario, .. } = failure;
        let _ = writeln!(out, "{red}{mark}{red:#} {id}  {kind:<18} {location}");
        let _ = writeln!(out, "      {}", cut(&failure.message));
        let _ = writeln!(out, "      {dim}{}{dim:#}", cut(&failure.input));
        let seen = match count {
            0 => "not looked at again in this run".to_owned(),
            count => format!("{count}×"),
        };
        let place = format!("in {}, under {scenario}, {seen}", section.qualname());
        let _ = writeln!(out, "      {dim}{}{dim:#}", cut(&place));
    }
    if failures.len() > FAILURES_SHOWN {
        let more = failures.len() - FAILURES_SHOWN;
        let _ = writeln!(out, "and {more} more: `menace failures` lists all");
    }
}

/// The beginning of a text on one line.
fn cut(text: &str) -> String {
    let clean = printable(&text.replace(['\n', '\t'], " "));
    let room = LINE - 6;
    if clean.chars().count() <= room {
        return clean;
    }
    let kept: String = clean.chars().take(room - 1).collect();
    format!("{kept}…")
}

/// Who it is about and why: the name is cut to half a line, the reason goes on below where it must.
fn reason(out: &mut String, subject: &str, why: &str) {
    let subject = match subject {
        "" => String::new(),
        subject => tail(subject, SUBJECT_WIDTH) + ": ",
    };
    let clean = printable(&why.replace(['\n', '\t'], " "));
    let mut line = format!("  {subject}");
    let mut is_begun = false;
    let mut lines = 1;
    for word in clean.split_whitespace() {
        let width = line.chars().count() + word.chars().count() + 1;
        if is_begun && width > LINE {
            if lines == REASON_LINES {
                line.truncate(line.trim_end().len());
                line.push('…');
                break;
            }
            let _ = writeln!(out, "{}", line.trim_end());
            "    ".clone_into(&mut line);
            lines += 1;
        }
        // One word may be longer than any line.
        line.extend(word.chars().take(LINE - line.chars().count()));
        line.push(' ');
        is_begun = true;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn untouched(out: &mut String, report: &RunReport) {
    if !report.not_importable.is_empty() {
        let _ = writeln!(out, "\nNot importable:");
        for module in &report.not_importable {
            reason(out, &module.module, &module.why);
        }
    }
    // Those of modules that cannot be imported are told with these.
    let unreachable: Vec<_> = report
        .unreachable
        .iter()
        .filter(|one| !report.not_importable.iter().any(|shut| shut.module == one.section.path()))
        .collect();
    if !unreachable.is_empty() {
        let _ = writeln!(out, "\nUnreachable:");
        for one in unreachable.iter().take(UNREACHED_SHOWN) {
            reason(out, one.section.as_str(), &one.why);
        }
        if unreachable.len() > UNREACHED_SHOWN {
            let more = unreachable.len() - UNREACHED_SHOWN;
            let _ = writeln!(out, "  and {more} more; --format json has all");
        }
    }
    if !report.discrepancies.is_empty() {
        let _ = writeln!(out, "\nDiscrepancies:");
        for one in report.discrepancies.iter().take(UNREACHED_SHOWN) {
            match one.split_once(": ") {
                Some((subject, sentence)) => reason(out, subject, sentence),
                None => reason(out, "", one),
            }
        }
        if report.discrepancies.len() > UNREACHED_SHOWN {
            let more = report.discrepancies.len() - UNREACHED_SHOWN;
            let _ = writeln!(out, "  and {more} more; --format json has all");
        }
    }
    if !report.not_covered.is_empty() {
        let _ = writeln!(out, "\nThe time was up before these; raise --budget:");
        for one in &report.not_covered {
            let _ =
                writeln!(out, "  {}: {}", printable(&one.what), counted(one.sections, "section"));
        }
    }
}

/// What stands over commands to go on with.
pub(crate) fn heading_of_next(data: Option<&str>) -> String {
    match data {
        Some(data) => format!("Next, each with{}:", with_data(data)),
        None => "Next:".to_owned(),
    }
}

/// ` --sandbox-data-dir 'my data'`, as a shell takes it.
pub(crate) fn with_data(data: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+@%:,~".contains(char);
    let data = printable(data);
    if data.chars().all(is_plain) {
        format!(" --sandbox-data-dir {data}")
    } else {
        format!(" --sandbox-data-dir '{}'", data.replace('\'', "'\\''"))
    }
}

fn next(out: &mut String, report: &RunReport, data: Option<&str>) {
    let missing: Vec<&str> =
        report.not_importable.iter().filter_map(|module| module.missing.as_deref()).collect();
    let first = report.failures.first();
    if first.is_none() && missing.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", heading_of_next(data));
    if !missing.is_empty() {
        let mut names: Vec<String> = missing.iter().map(|name| printable(name)).collect();
        names.sort();
        names.dedup();
        let names = names.join(", ");
        let _ = writeln!(out, "  install for the interpreter of the repository: {names}");
    }
    if let Some(failure) = first {
        let id = &failure.id;
        // An import takes none.
        let takes_input = failure.kind != WeaknessKind::Import.as_str();
        let shrink = takes_input
            .then(|| (format!("menace shrink {id}"), "the smallest input that shows it"));
        let export = "menace export-tests".to_owned();
        for (command, what) in
            [(format!("menace show {id}"), "the whole story of the first failure")]
                .into_iter()
                .chain(shrink)
                .chain([(export, "pytest files that fail until it is mended")])
        {
            // As wide as the longest of them.
            let width = "menace shrink ".len() + id.len();
            let _ = writeln!(out, "  {command:<width$}   {what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(subject: &str, why: &str) -> String {
        let mut out = String::new();
        reason(&mut out, subject, why);
        out
    }

    #[test]
    fn a_reason_is_read_to_its_end_however_long_the_name_is() {
        let name = "a/very/long/path/to/some/module.py::Class.method_with_a_long_name";
        let why = "it is defined inside of a function, so that nobody else can get hold of it";
        let text = told(name, why);
        assert!(text.lines().all(|line| line.chars().count() <= LINE), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").ends_with(why), "{text}");
        assert!(text.contains("method_with_a_long_name: it is"), "{text}");
    }

    #[test]
    fn commands_to_go_on_with_find_the_data_of_the_run() {
        assert_eq!(heading_of_next(None), "Next:");
        assert_eq!(heading_of_next(Some("/tmp/d")), "Next, each with --sandbox-data-dir /tmp/d:");
        assert_eq!(with_data("Ann's data"), r" --sandbox-data-dir 'Ann'\''s data'");
    }

    #[test]
    fn a_reason_without_end_is_cut() {
        let text = told("m.py", &"word ".repeat(200));
        assert_eq!(text.lines().count(), REASON_LINES);
        assert!(text.ends_with("…\n"), "{text}");
        let text = told("m.py", &"x".repeat(500));
        assert!(text.lines().all(|line| line.chars().count() <= LINE), "{text}");
    }
}
