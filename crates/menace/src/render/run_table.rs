//! The summary of a run for the terminal: failures, then scenarios and modules, then what to do
//! next. Fits 80 columns.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, Color};

use menace_model::{FindingAssessment, WeaknessKind, format_count, is_test_path};
use menace_store::{
    FailureReport, ModuleScoreReport, RunReport, ScenarioReport, SkippedStageReport,
};

use super::labelled_lines::truncate_line;
use super::table::{escape_for_terminal, keep_end, new_row, new_table, number_cell};
use crate::finding_filter::describe_hidden;

const MAX_MODULES_SHOWN: usize = 12;
const MAX_FAILURES_SHOWN: usize = 20;
const MAX_UNREACHED_SHOWN: usize = 5;
const PATH_WIDTH: usize = 38;
const LINE_WIDTH: usize = 78;
/// Below a heading that is indented.
const INDENTED_WIDTH: usize = LINE_WIDTH - 7;
const SUBJECT_WIDTH: usize = 38;
/// Longer ones are in the JSON.
const MAX_REASON_LINES: usize = 3;

/// The report for people, with the failures that `is_shown` selects; `data` is the data directory
/// that later commands need as a flag.
pub(crate) fn render(
    report: &RunReport,
    is_shown: &dyn Fn(&FailureReport) -> bool,
    data: Option<&str>,
) -> String {
    let mut out = String::new();
    add_head(&mut out, report);
    let mut failures = failures_worst_first(&report.failures);
    failures.retain(|failure| is_shown(failure));
    add_failures(&mut out, &failures, report.calls);
    if let Some(hidden) = describe_hidden(report.failures.len() - failures.len()) {
        let _ = writeln!(out, "{hidden}");
    }
    add_scenarios(&mut out, report);
    add_modules(&mut out, &report.modules);
    add_uncovered(&mut out, report);
    add_next_steps(&mut out, report, failures.first().copied(), data);
    out
}

/// By confidence and severity; without an assessment by kind. Of equal ones new failures first.
fn failures_worst_first(failures: &[FailureReport]) -> Vec<&FailureReport> {
    let rank =
        |failure: &FailureReport| failure.assessment.as_ref().map_or(0.0, FindingAssessment::rank);
    let mut sorted: Vec<&FailureReport> = failures.iter().collect();
    sorted.sort_by(|one, other| {
        let by_kind = |failure: &FailureReport| (failure.kind.rank(), !failure.new);
        rank(other).total_cmp(&rank(one)).then(by_kind(one).cmp(&by_kind(other)))
    });
    sorted
}

fn add_head(out: &mut String, report: &RunReport) {
    let RunReport { run_id, seed, elapsed_s, sections, calls, coverage, roi, cycles, .. } = report;
    let sections = format_count(*sections, "section");
    let calls = format_count(*calls as usize, "call");
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
    let roi = roi.map_or("–".to_owned(), |roi| format!("{roi:.3}"));
    let delta = report.roi_delta.map_or(String::new(), |delta| format!(" ({delta:+.3})"));
    let lines = 100.0 * coverage.lines;
    let _ = writeln!(
        out,
        "ROI {roi}{delta} · {} called, {} unreachable · {lines:.0} % of lines reached",
        coverage.called, coverage.uncallable
    );
    let mut text = String::new();
    for (verdict, count) in &report.verdicts {
        let word = format!("{verdict} {count}");
        if text.len() + word.len() > LINE_WIDTH {
            let _ = writeln!(out, "{}", text.trim_end());
            text.clear();
        }
        text.push_str(&word);
        text.push_str("   ");
    }
    let _ = writeln!(out, "{}", text.trim_end());
}

fn add_scenarios(out: &mut String, report: &RunReport) {
    if report.scenarios.is_empty() {
        return;
    }
    let mut shown: Vec<&ScenarioReport> = report.scenarios.iter().collect();
    shown.sort_by(|one, other| one.roi.total_cmp(&other.roi).then(one.name.cmp(&other.name)));
    let mut table = new_table(&["Scenario", "ROI", "Delta", "Calls", ""]);
    for scenario in shown {
        let is_worst = report.worst_scenario.as_ref() == Some(&scenario.name);
        table.add_row(new_row([
            Cell::new(keep_end(&scenario.name, PATH_WIDTH)),
            number_cell(format!("{:.3}", scenario.roi)),
            delta_cell(scenario.roi_delta),
            number_cell(scenario.calls),
            Cell::new(if is_worst { "<== WORST" } else { "" }).fg(Color::Red),
        ]));
    }
    let _ = writeln!(out, "\n{table}");
}

fn add_modules(out: &mut String, modules: &[ModuleScoreReport]) {
    // Test modules of the repository are not ranked.
    let modules: Vec<&ModuleScoreReport> =
        modules.iter().filter(|module| !is_test_path(&module.path)).collect();
    if modules.is_empty() {
        return;
    }
    let mut table = new_table(&["Weakest modules", "ROI", "Delta", "RAROI", "Risk", "Flags"]);
    for module in modules.iter().take(MAX_MODULES_SHOWN) {
        let risk = module.metrics.get("risk_index");
        table.add_row(new_row([
            Cell::new(keep_end(&module.path, PATH_WIDTH)),
            number_cell(format!("{:.3}", module.roi)),
            delta_cell(module.roi_delta),
            number_cell(format!("{:.3}", module.raroi)),
            number_cell(risk.map_or("–".to_owned(), |risk| format!("{risk:.2}"))),
            if module.is_left_out() {
                number_cell("left out")
            } else {
                number_cell(module.risk_flags.len())
            },
        ]));
    }
    let _ = writeln!(out, "\n{table}");
    if modules.len() > MAX_MODULES_SHOWN {
        let _ =
            writeln!(out, "and {} more; --format json has all", modules.len() - MAX_MODULES_SHOWN);
    }
}

fn delta_cell(delta: Option<f64>) -> Cell {
    match delta {
        None => number_cell("–"),
        Some(delta) if delta <= -0.0005 => number_cell(format!("{delta:+.3}")).fg(Color::Red),
        Some(delta) if delta >= 0.0005 => number_cell(format!("{delta:+.3}")).fg(Color::Green),
        Some(_) => number_cell("0.000"),
    }
}

fn add_failures(out: &mut String, failures: &[&FailureReport], calls: u64) {
    if failures.is_empty() {
        let nothing = match calls {
            0 => "Nothing was called.".to_owned(),
            calls => format!("Nothing broke in {}.", format_count(calls as usize, "call")),
        };
        let _ = writeln!(out, "\n{nothing}");
        return;
    }
    let new = failures.iter().filter(|failure| failure.new).count();
    let _ = writeln!(out, "\n{} ({new} new):", format_count(failures.len(), "failure"));
    let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
    let dim = Style::new().dimmed();
    for failure in failures.iter().take(MAX_FAILURES_SHOWN) {
        let mark = if failure.new { "new" } else { "   " };
        let location = keep_end(&failure.location, LINE_WIDTH - 34);
        let FailureReport { id, kind, section, count, scenario, .. } = failure;
        let _ = writeln!(out, "{red}{mark}{red:#} {id}  {kind:<18} {location}");
        let _ = writeln!(out, "      {}", truncate_line(&failure.message, INDENTED_WIDTH));
        let _ =
            writeln!(out, "      {dim}{}{dim:#}", truncate_line(&failure.input, INDENTED_WIDTH));
        let occurrences = match count {
            0 => "not looked at again in this run".to_owned(),
            count => format!("{count}×"),
        };
        let place = format!("in {}, under {scenario}, {occurrences}", section.qualname());
        let _ = writeln!(out, "      {dim}{}{dim:#}", truncate_line(&place, INDENTED_WIDTH));
    }
    if failures.len() > MAX_FAILURES_SHOWN {
        let more = failures.len() - MAX_FAILURES_SHOWN;
        let _ = writeln!(out, "and {more} more: `menace failures` lists all");
    }
}

/// Adds a subject and a reason: the subject is cut to half a line, the reason is wrapped.
fn add_reason(out: &mut String, subject: &str, why: &str) {
    let subject = match subject {
        "" => String::new(),
        subject => keep_end(subject, SUBJECT_WIDTH) + ": ",
    };
    let clean = escape_for_terminal(&why.replace(['\n', '\t'], " "));
    let mut line = format!("  {subject}");
    let mut is_begun = false;
    let mut lines = 1;
    for word in clean.split_whitespace() {
        let width = line.chars().count() + word.chars().count() + 1;
        if is_begun && width > LINE_WIDTH {
            if lines == MAX_REASON_LINES {
                line.truncate(line.trim_end().len());
                line.push('…');
                break;
            }
            let _ = writeln!(out, "{}", line.trim_end());
            "    ".clone_into(&mut line);
            lines += 1;
        }
        // A single word may be longer than a line.
        line.extend(word.chars().take(LINE_WIDTH - line.chars().count()));
        line.push(' ');
        is_begun = true;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn add_uncovered(out: &mut String, report: &RunReport) {
    if !report.not_importable.is_empty() {
        let _ = writeln!(out, "\nNot importable:");
        for module in &report.not_importable {
            add_reason(out, &module.module, &module.reason);
        }
    }
    // Sections of modules that cannot be imported are listed with the module.
    let uncallable_sections: Vec<_> = report
        .uncallable_sections
        .iter()
        .filter(|one| !report.not_importable.iter().any(|shut| shut.module == one.section.path()))
        .collect();
    if !uncallable_sections.is_empty() {
        let _ = writeln!(out, "\nUnreachable:");
        for one in uncallable_sections.iter().take(MAX_UNREACHED_SHOWN) {
            add_reason(out, one.section.as_str(), &one.reason);
        }
        if uncallable_sections.len() > MAX_UNREACHED_SHOWN {
            let more = uncallable_sections.len() - MAX_UNREACHED_SHOWN;
            let _ = writeln!(out, "  and {more} more; --format json has all");
        }
    }
    if !report.discrepancies.is_empty() {
        let _ = writeln!(out, "\nDiscrepancies:");
        for one in report.discrepancies.iter().take(MAX_UNREACHED_SHOWN) {
            match one.split_once(": ") {
                Some((subject, sentence)) => add_reason(out, subject, sentence),
                None => add_reason(out, "", one),
            }
        }
        if report.discrepancies.len() > MAX_UNREACHED_SHOWN {
            let more = report.discrepancies.len() - MAX_UNREACHED_SHOWN;
            let _ = writeln!(out, "  and {more} more; --format json has all");
        }
    }
    if !report.skipped_stages.is_empty() {
        let _ = writeln!(out, "\nThe time was up before these; raise --budget:");
        for one in &report.skipped_stages {
            let _ = writeln!(out, "  {}", describe_skipped(one));
        }
    }
}

fn describe_skipped(skipped: &SkippedStageReport) -> String {
    let SkippedStageReport { kind, count, .. } = skipped;
    format!("{}: {}", escape_for_terminal(kind.as_str()), format_count(*count, kind.unit()))
}

/// The heading above suggested commands.
pub(crate) fn next_steps_heading(data: Option<&str>) -> String {
    match data {
        Some(data) => format!("Next, each with{}:", data_dir_flag(data)),
        None => "Next:".to_owned(),
    }
}

/// ` --sandbox-data-dir 'my data'`, as a shell takes it.
pub(crate) fn data_dir_flag(data: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+@%:,~".contains(char);
    let data = escape_for_terminal(data);
    if data.chars().all(is_plain) {
        format!(" --sandbox-data-dir {data}")
    } else {
        format!(" --sandbox-data-dir '{}'", data.replace('\'', "'\\''"))
    }
}

fn add_next_steps(
    out: &mut String,
    report: &RunReport,
    first: Option<&FailureReport>,
    data: Option<&str>,
) {
    let missing: Vec<&str> =
        report.not_importable.iter().filter_map(|module| module.missing.as_deref()).collect();
    if first.is_none() && missing.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", next_steps_heading(data));
    if !missing.is_empty() {
        let mut names: Vec<String> = missing.iter().map(|name| escape_for_terminal(name)).collect();
        names.sort();
        names.dedup();
        let names = names.join(", ");
        let _ = writeln!(out, "  install for the interpreter of the repository: {names}");
    }
    if let Some(failure) = first {
        let id = &failure.id;
        // An import takes none.
        let takes_input = failure.kind != WeaknessKind::Import;
        let shrink = takes_input
            .then(|| (format!("menace shrink {id}"), "the smallest input that shows it"));
        let export = "menace export-tests".to_owned();
        for (command, what) in [(format!("menace show {id}"), "the first failure in full")]
            .into_iter()
            .chain(shrink)
            .chain([(export, "pytest files that fail until it is fixed")])
        {
            // As wide as the longest command.
            let width = "menace shrink ".len() + id.len();
            let _ = writeln!(out, "  {command:<width$}   {what}");
        }
    }
}

#[cfg(test)]
mod tests {
    use menace_model::{SectionId, Verdict};
    use menace_store::SkippedStage;

    use super::*;

    fn failure(id: &str, kind: WeaknessKind, new: bool) -> FailureReport {
        FailureReport {
            id: id.to_owned(),
            section: SectionId::new("shop/cart.py", "total"),
            scenario: "normal".to_owned(),
            kind,
            verdict: Verdict::Raised,
            exception: None,
            message: String::new(),
            input: String::new(),
            snippet: String::new(),
            location: "shop/cart.py:1".to_owned(),
            count: 1,
            new,
            assessment: None,
        }
    }

    #[test]
    fn the_worst_failure_comes_first_and_of_one_kind_the_new_one() {
        let failures = [
            failure("slow", WeaknessKind::Slow, true),
            failure("known", WeaknessKind::Unhandled, false),
            failure("new", WeaknessKind::Unhandled, true),
            failure("injection", WeaknessKind::Injection, false),
        ];
        let sorted = failures_worst_first(&failures);
        let ids: Vec<&str> = sorted.iter().map(|failure| failure.id.as_str()).collect();
        assert_eq!(ids, ["injection", "new", "known", "slow"]);
    }

    #[test]
    fn test_modules_are_not_among_the_weakest() {
        let module = |path: &str| ModuleScoreReport {
            path: path.to_owned(),
            roi: 0.1,
            roi_delta: None,
            raroi: 0.1,
            metrics: std::collections::BTreeMap::new(),
            risk_flags: Vec::new(),
            flagged: false,
        };
        let mut out = String::new();
        add_modules(&mut out, &[module("tests/test_cart.py"), module("shop/cart.py")]);
        assert!(out.contains("shop/cart.py") && !out.contains("test_cart.py"), "{out}");
    }

    fn rendered_reason(subject: &str, why: &str) -> String {
        let mut out = String::new();
        add_reason(&mut out, subject, why);
        out
    }

    #[test]
    fn a_reason_is_read_to_its_end_however_long_the_name_is() {
        let name = "a/very/long/path/to/some/module.py::Class.method_with_a_long_name";
        let why = "it is defined inside of a function, so that no other code can reach it";
        let text = rendered_reason(name, why);
        assert!(text.lines().all(|line| line.chars().count() <= LINE_WIDTH), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").ends_with(why), "{text}");
        assert!(text.contains("method_with_a_long_name: it is"), "{text}");
    }

    #[test]
    fn commands_to_go_on_with_find_the_data_of_the_run() {
        assert_eq!(next_steps_heading(None), "Next:");
        assert_eq!(
            next_steps_heading(Some("/tmp/d")),
            "Next, each with --sandbox-data-dir /tmp/d:"
        );
        assert_eq!(data_dir_flag("Ann's data"), r" --sandbox-data-dir 'Ann'\''s data'");
    }

    #[test]
    fn skipped_work_is_counted_in_the_unit_of_its_stage() {
        let skipped = |kind| describe_skipped(&SkippedStageReport { kind, count: 2, ids: vec![] });
        assert_eq!(skipped(SkippedStage::Cycles), "cycles: 2 cycles");
        assert_eq!(skipped(SkippedStage::Confirmation), "confirmation: 2 candidates");
        assert_eq!(skipped(SkippedStage::Scenario("normal".into())), "normal: 2 sections");
    }

    #[test]
    fn a_reason_without_end_is_cut() {
        let text = rendered_reason("m.py", &"word ".repeat(200));
        assert_eq!(text.lines().count(), MAX_REASON_LINES);
        assert!(text.ends_with("…\n"), "{text}");
        let text = rendered_reason("m.py", &"x".repeat(500));
        assert!(text.lines().all(|line| line.chars().count() <= LINE_WIDTH), "{text}");
    }
}
