//! How ROI came about, for people. Fits 80 columns.

use std::fmt::Write;

use comfy_table::Cell;
use menace_model::format_millis;
use menace_store::{CallRecord, StoredMetricMap};
use menace_track::{RoiBottleneck, RoiBreakdown, find_metric};
use serde::Serialize;

use super::labelled_lines::{LabelledLines, truncate_line};
use super::table::{keep_end, new_row, new_table, number_cell};

const NAME_WIDTH: usize = 26;
const MAX_CALLS_SHOWN: usize = 15;
const LINE_WIDTH: usize = 78;

#[derive(Debug, Serialize)]
pub(crate) struct RoiExplanation {
    pub what: String,
    pub run: String,
    pub cycle: u32,
    pub profile: String,
    pub roi: Option<RoiBreakdown>,
    pub raroi: Option<f64>,
    /// Of a module: how far its returns can be trusted, where the run could tell.
    pub confidence: Option<f64>,
    /// Of a module: what holds it back most, as the run concluded.
    pub bottlenecks: Vec<RoiBottleneck>,
    /// Of a module: its sections with their ROI, the weakest first.
    pub sections: Vec<ExplainedPart>,
    /// Of a section: what each scenario made of it.
    pub scenarios: Vec<ExplainedPart>,
    /// Those that show a failure, others that did not go well, the rest; of a module, some of each
    /// section.
    pub calls: Vec<CallRecord>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ExplainedPart {
    pub name: String,
    pub roi: Option<f64>,
    pub calls: Option<u64>,
    pub metrics: StoredMetricMap,
}

pub(crate) fn render(explanation: &RoiExplanation) -> String {
    let mut sheet = LabelledLines::default();
    sheet.add("what", &explanation.what);
    sheet.add("run", &format!("{}, cycle {}", explanation.run, explanation.cycle + 1));
    sheet.add("profile", &explanation.profile);
    let value =
        explanation.roi.as_ref().map_or("–".to_owned(), |roi| format!("{:.4}", roi.value));
    sheet.add("ROI", &value);
    sheet.add_list("RAROI", explanation.raroi.map(|raroi| format!("{raroi:.4}")));
    sheet.add_list("confidence", explanation.confidence.map(|share| format!("{share:.3}")));
    if let Some(roi) = &explanation.roi {
        sheet.add_list("veto", &roi.vetoes);
    }
    let mut out = sheet.into_text();
    add_terms(&mut out, explanation);
    add_bottlenecks(&mut out, explanation);
    add_parts(&mut out, "Section", &explanation.sections);
    add_parts(&mut out, "Scenario", &explanation.scenarios);
    add_calls(&mut out, explanation);
    out
}

fn add_terms(out: &mut String, explanation: &RoiExplanation) {
    let Some(roi) = &explanation.roi else {
        let _ = writeln!(out, "\nNothing was measured that the profile has a weight for.");
        return;
    };
    let mut table = new_table(&["Term", "Value", "Scaled", "Weight", "Gives"]);
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    for term in &roi.terms {
        table.add_row(new_row([
            Cell::new(keep_end(&term.metric, NAME_WIDTH)),
            number_cell(shown(term.value)),
            number_cell(shown(term.scaled)),
            number_cell(format!("{:+.3}", term.weight)),
            number_cell(format!("{:+.4}", term.contribution)),
        ]));
    }
    let _ = writeln!(out, "\n{table}\n");
    for term in &roi.terms {
        if let Some(metric) = find_metric(&term.metric) {
            add_wrapped(out, &format!("{}: {}", term.metric, metric.definition));
        }
    }
}

fn add_bottlenecks(out: &mut String, explanation: &RoiExplanation) {
    if explanation.bottlenecks.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nWhat holds it back:");
    for one in &explanation.bottlenecks {
        let _ = writeln!(
            out,
            "{}",
            truncate_line(&format!("  {:+.3}  {}", one.gain, one.hint), LINE_WIDTH)
        );
    }
}

fn add_parts(out: &mut String, what: &str, parts: &[ExplainedPart]) {
    let mut table = new_table(&[what, "ROI", "Calls", "Reliability", "Resilience", "Risk"]);
    for part in parts {
        let metric = |name: &str| {
            let value = part.metrics.get(name).copied().flatten();
            value.map(|value| format!("{value:.3}"))
        };
        let numbers = [
            part.roi.map(|roi| format!("{roi:.3}")),
            part.calls.map(|calls| calls.to_string()),
            metric("reliability"),
            metric("resilience"),
            metric("risk_index"),
        ];
        // A part that was never called is left out.
        if numbers.iter().any(Option::is_some) {
            let shown = numbers.map(|one| number_cell(one.unwrap_or_else(|| "–".to_owned())));
            let name = Cell::new(keep_end(&part.name, NAME_WIDTH));
            table.add_row(new_row(std::iter::once(name).chain(shown)));
        }
    }
    if table.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{table}");
}

fn add_calls(out: &mut String, explanation: &RoiExplanation) {
    if explanation.calls.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nCalls:");
    for call in explanation.calls.iter().take(MAX_CALLS_SHOWN) {
        let what = match (&call.exception, &call.message) {
            (Some(kind), Some(message)) => format!("{kind}: {message}"),
            (Some(kind), None) => kind.clone(),
            (None, message) => message.clone().unwrap_or_default(),
        };
        let (verdict, time) = (call.verdict.as_str(), format_millis(call.wall_ms));
        let section = keep_end(call.cell.section.qualname(), NAME_WIDTH);
        let (scenario, number, intent) = (&call.cell.scenario, call.number, call.intent.as_str());
        let text = format!("  {verdict:<10} {time:>9}  {section}, {scenario} {number}, {intent}");
        let _ = writeln!(out, "{}", truncate_line(&text, LINE_WIDTH));
        if !what.is_empty() {
            let _ = writeln!(out, "{}", truncate_line(&format!("      {what}"), LINE_WIDTH));
        }
    }
    if explanation.calls.len() > MAX_CALLS_SHOWN {
        let more = explanation.calls.len() - MAX_CALLS_SHOWN;
        let _ = writeln!(out, "and {more} more; --format json has them");
    }
}

/// A text on as many lines as it takes.
fn add_wrapped(out: &mut String, text: &str) {
    let mut width = 0;
    for word in text.split_whitespace() {
        let next = word.chars().count();
        let space = match width {
            0 => "",
            width if width + 1 + next > LINE_WIDTH => "\n    ",
            _ => " ",
        };
        width = if space.starts_with('\n') { 4 + next } else { width + space.len() + next };
        let _ = write!(out, "{space}{word}");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_of_a_term_is_wrapped_and_not_cut() {
        let mut out = String::new();
        let text = format!("resilience: {}the end", "share of answered calls ".repeat(12));
        add_wrapped(&mut out, &text);
        assert!(out.lines().count() > 3, "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= LINE_WIDTH), "{out}");
        assert_eq!(out.split_whitespace().collect::<Vec<_>>().join(" "), text);
    }
}
