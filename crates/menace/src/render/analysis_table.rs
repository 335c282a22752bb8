//! The analysis for people: modules, totals, and where to look first.

use std::cmp::Reverse;
use std::fmt::Write;

use comfy_table::{Cell, Color};

use menace_model::{AnalyzedModule, FindingSeverity, RepositoryTotals, Section, SectionKind};
use menace_source::Analysis;

use super::table::{escape_for_terminal, keep_end, new_row, new_table, number_cell};

/// The most rows of the module table, without `--all`.
const MAX_MODULES_SHOWN: usize = 40;
const MAX_WORST_SHOWN: usize = 10;
const MAX_PATH_CHARS: usize = 60;

/// Renders the modules to show, worst maintainability first when not all fit.
pub(crate) fn render(analysis: &Analysis, modules: &[&AnalyzedModule], all: bool) -> String {
    let mut out = String::new();
    let shown = choose_modules(modules, all);
    let _ = writeln!(out, "{}", module_table(&shown));
    if shown.len() < modules.len() {
        let _ = writeln!(
            out,
            "The {} hardest to maintain of {} modules; --all shows every one.",
            shown.len(),
            modules.len()
        );
    }
    let _ = writeln!(out, "\n{}", format_totals(analysis, modules));
    add_worst_sections(&mut out, modules);
    add_worst_findings(&mut out, modules);
    add_errors(&mut out, modules);
    add_import_cycles(&mut out, &analysis.cycles);
    out
}

fn choose_modules<'m>(modules: &[&'m AnalyzedModule], all: bool) -> Vec<&'m AnalyzedModule> {
    let mut shown = modules.to_vec();
    if !all && shown.len() > MAX_MODULES_SHOWN {
        shown.sort_by(|a, b| {
            a.code_metrics.maintainability.total_cmp(&b.code_metrics.maintainability)
        });
        shown.truncate(MAX_MODULES_SHOWN);
    }
    shown
}

fn module_table(modules: &[&AnalyzedModule]) -> String {
    let mut table = new_table(&[
        "Module",
        "Sections",
        "Lines",
        "Complexity",
        "Maintainability",
        "Findings",
        "Fan-in",
    ]);
    for module in modules {
        let path = Cell::new(keep_end(&module.path, MAX_PATH_CHARS));
        if module.error.is_some() {
            let dash = || number_cell("–");
            let cells = [path.fg(Color::Red), dash(), dash(), dash(), dash(), dash()];
            table
                .add_row(new_row(cells.into_iter().chain([number_cell(module.imported_by.len())])));
            continue;
        }
        table.add_row(new_row([
            path,
            number_cell(module.sections.len()),
            number_cell(module.code_metrics.lines.sloc),
            number_cell(module.code_metrics.complexity),
            maintainability_cell(module.code_metrics.maintainability),
            findings_cell(module),
            number_cell(module.imported_by.len()),
        ]));
    }
    table.to_string()
}

/// Coloured by radon's ranks: A above 19, B above 9, C below.
fn maintainability_cell(index: f64) -> Cell {
    let cell = number_cell(format!("{index:.1}"));
    match index {
        index if index > 19.0 => cell,
        index if index > 9.0 => cell.fg(Color::Yellow),
        _ => cell.fg(Color::Red),
    }
}

fn findings_cell(module: &AnalyzedModule) -> Cell {
    let cell = number_cell(module.findings.len());
    match module.findings.iter().map(|finding| finding.severity).max() {
        Some(FindingSeverity::High) => cell.fg(Color::Red),
        Some(FindingSeverity::Medium) => cell.fg(Color::Yellow),
        _ => cell,
    }
}

fn format_totals(analysis: &Analysis, modules: &[&AnalyzedModule]) -> String {
    let totals = RepositoryTotals::sum_modules(modules.iter().copied());
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

fn add_worst_sections(out: &mut String, modules: &[&AnalyzedModule]) {
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
    if sections.len() > MAX_WORST_SHOWN {
        sections.select_nth_unstable_by(MAX_WORST_SHOWN, order);
        sections.truncate(MAX_WORST_SHOWN);
    }
    sections.sort_by(order);
    let mut table = new_table(&["Most complex sections", "Line", "Complexity"]);
    for section in sections {
        let id = keep_end(section.id.as_str(), MAX_PATH_CHARS + 20);
        table.add_row(new_row([
            Cell::new(id),
            number_cell(section.line),
            number_cell(section.complexity),
        ]));
    }
    let _ = writeln!(out, "\n{table}");
}

fn add_worst_findings(out: &mut String, modules: &[&AnalyzedModule]) {
    let mut findings: Vec<_> = modules
        .iter()
        .flat_map(|module| module.findings.iter().map(move |finding| (module, finding)))
        .filter(|(module, finding)| {
            finding.severity > FindingSeverity::Low && menace_track::is_risk(finding, module)
        })
        .map(|(module, finding)| (&module.path, finding))
        .collect();
    findings.sort_by_key(|(path, finding)| {
        (Reverse(finding.severity), Reverse(finding.confidence), *path, finding.line)
    });
    findings.truncate(MAX_WORST_SHOWN);
    if findings.is_empty() {
        return;
    }
    let mut table = new_table(&["Most severe findings", "Rule", "Severity", "What"]);
    for (path, finding) in findings {
        let place = format!("{}:{}", keep_end(path, MAX_PATH_CHARS - 15), finding.line);
        let severity = Cell::new(format!("{:?}", finding.severity).to_lowercase());
        let what = Cell::new(escape_for_terminal(&finding.message));
        table.add_row([Cell::new(place), Cell::new(&finding.rule), severity, what]);
    }
    let _ = writeln!(out, "\n{table}");
}

fn add_errors(out: &mut String, modules: &[&AnalyzedModule]) {
    let errors: Vec<_> = modules.iter().filter_map(|module| module.error.as_ref()).collect();
    if errors.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nNot understood:");
    for error in errors {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        let _ = writeln!(
            out,
            "  {}{line}: {}",
            escape_for_terminal(&error.file),
            escape_for_terminal(&error.reason)
        );
    }
}

fn add_import_cycles(out: &mut String, cycles: &[Vec<String>]) {
    if cycles.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nImport cycles:");
    for cycle in cycles.iter().take(MAX_WORST_SHOWN) {
        let names: Vec<String> =
            cycle.iter().take(8).map(|path| escape_for_terminal(path)).collect();
        let more = cycle.len().saturating_sub(names.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(out, "  {}{more}", names.join(", "));
    }
    if cycles.len() > MAX_WORST_SHOWN {
        let _ = writeln!(out, "  and {} more", cycles.len() - MAX_WORST_SHOWN);
    }
}
