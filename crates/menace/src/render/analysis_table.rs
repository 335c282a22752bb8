//! The analysis for people: modules, totals, and where to look first.

use std::cmp::Reverse;
use std::fmt::Write;

use comfy_table::{Cell, Color};

use menace_model::{ModuleReport, Section, SectionKind, Severity, Totals};
use menace_source::Analysis;

use super::table::{number, printable, row, table, tail};

/// Rows of the module table unless all are asked for.
const MODULES_SHOWN: usize = 40;
const WORST_SHOWN: usize = 10;
const PATH_WIDTH: usize = 60;

/// Renders the modules to show, worst maintainability first when not all fit.
pub(crate) fn render(analysis: &Analysis, modules: &[&ModuleReport], all: bool) -> String {
    let mut out = String::new();
    let shown = choose(modules, all);
    let _ = writeln!(out, "{}", module_table(&shown));
    if shown.len() < modules.len() {
        let _ = writeln!(
            out,
            "The {} hardest to maintain of {} modules; --all shows every one.",
            shown.len(),
            modules.len()
        );
    }
    let _ = writeln!(out, "\n{}", totals(analysis, modules));
    worst_sections(&mut out, modules);
    worst_findings(&mut out, modules);
    errors(&mut out, modules);
    cycles(&mut out, &analysis.cycles);
    out
}

fn choose<'m>(modules: &[&'m ModuleReport], all: bool) -> Vec<&'m ModuleReport> {
    let mut shown = modules.to_vec();
    if !all && shown.len() > MODULES_SHOWN {
        shown.sort_by(|a, b| a.numbers.maintainability.total_cmp(&b.numbers.maintainability));
        shown.truncate(MODULES_SHOWN);
    }
    shown
}

fn module_table(modules: &[&ModuleReport]) -> String {
    let mut table = table(&[
        "Module",
        "Sections",
        "Lines",
        "Complexity",
        "Maintainability",
        "Findings",
        "Fan-in",
    ]);
    for module in modules {
        let path = Cell::new(tail(&module.path, PATH_WIDTH));
        if module.error.is_some() {
            let dash = || number("–");
            let cells = [path.fg(Color::Red), dash(), dash(), dash(), dash(), dash()];
            table.add_row(row(cells.into_iter().chain([number(module.imported_by.len())])));
            continue;
        }
        table.add_row(row([
            path,
            number(module.sections.len()),
            number(module.numbers.lines.sloc),
            number(module.numbers.complexity),
            maintainability(module.numbers.maintainability),
            findings(module),
            number(module.imported_by.len()),
        ]));
    }
    table.to_string()
}

/// Coloured by radon's ranks: A above 19, B above 9, C below.
fn maintainability(index: f64) -> Cell {
    let cell = number(format!("{index:.1}"));
    match index {
        index if index > 19.0 => cell,
        index if index > 9.0 => cell.fg(Color::Yellow),
        _ => cell.fg(Color::Red),
    }
}

fn findings(module: &ModuleReport) -> Cell {
    let cell = number(module.findings.len());
    match module.findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::High) => cell.fg(Color::Red),
        Some(Severity::Medium) => cell.fg(Color::Yellow),
        _ => cell,
    }
}

fn totals(analysis: &Analysis, modules: &[&ModuleReport]) -> String {
    let totals = Totals::of(modules.iter().copied());
    format!(
        "{} modules, {} sections, {} lines of code, {} findings ({}), {} unreadable",
        totals.modules,
        totals.sections,
        totals.sloc,
        totals.findings,
        analysis.scanner,
        totals.errors
    )
}

fn worst_sections(out: &mut String, modules: &[&ModuleReport]) {
    let mut sections: Vec<&Section> = modules
        .iter()
        .flat_map(|module| &module.sections)
        .filter(|section| section.kind != SectionKind::Module)
        .collect();
    if sections.is_empty() {
        return;
    }
    let order =
        |a: &&Section, b: &&Section| b.complexity.cmp(&a.complexity).then_with(|| a.id.cmp(&b.id));
    if sections.len() > WORST_SHOWN {
        sections.select_nth_unstable_by(WORST_SHOWN, order);
        sections.truncate(WORST_SHOWN);
    }
    sections.sort_by(order);
    let mut table = table(&["Most complex sections", "Line", "Complexity"]);
    for section in sections {
        let id = tail(section.id.as_str(), PATH_WIDTH + 20);
        table.add_row(row([Cell::new(id), number(section.line), number(section.complexity)]));
    }
    let _ = writeln!(out, "\n{table}");
}

fn worst_findings(out: &mut String, modules: &[&ModuleReport]) {
    let mut findings: Vec<_> = modules
        .iter()
        .flat_map(|module| module.findings.iter().map(move |finding| (&module.path, finding)))
        .filter(|(_, finding)| finding.severity > Severity::Low)
        .collect();
    findings.sort_by_key(|(path, finding)| {
        (Reverse(finding.severity), Reverse(finding.confidence), *path, finding.line)
    });
    findings.truncate(WORST_SHOWN);
    if findings.is_empty() {
        return;
    }
    let mut table = table(&["Most severe findings", "Rule", "Severity", "What"]);
    for (path, finding) in findings {
        let place = format!("{}:{}", tail(path, PATH_WIDTH - 15), finding.line);
        let severity = Cell::new(format!("{:?}", finding.severity).to_lowercase());
        let what = Cell::new(printable(&finding.message));
        table.add_row([Cell::new(place), Cell::new(&finding.rule), severity, what]);
    }
    let _ = writeln!(out, "\n{table}");
}

fn errors(out: &mut String, modules: &[&ModuleReport]) {
    let errors: Vec<_> = modules.iter().filter_map(|module| module.error.as_ref()).collect();
    if errors.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nNot understood:");
    for error in errors {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        let _ = writeln!(out, "  {}{line}: {}", printable(&error.file), printable(&error.reason));
    }
}

fn cycles(out: &mut String, cycles: &[Vec<String>]) {
    if cycles.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nImport cycles:");
    for cycle in cycles.iter().take(WORST_SHOWN) {
        let names: Vec<String> = cycle.iter().take(8).map(|path| printable(path)).collect();
        let more = cycle.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(out, "  {}{more}", names.join(", "));
    }
    if cycles.len() > WORST_SHOWN {
        let _ = writeln!(out, "  and {} more", cycles.len() - WORST_SHOWN);
    }
}
