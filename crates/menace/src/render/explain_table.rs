//! How ROI came about, for people. Fits 80 columns.

use std::fmt::Write;

use comfy_table::Cell;

use crate::commands::explain::{Explanation, Part, definition};

use super::sheet::{Sheet, head};
use super::table::{number, printable, row, table, tail};
use super::units::millis;

const NAME: usize = 26;
const CALLS_SHOWN: usize = 15;
const LINE: usize = 78;

pub(crate) fn render(explanation: &Explanation) -> String {
    let mut sheet = Sheet::default();
    sheet.add("what", &explanation.what);
    sheet.add("run", &format!("{}, cycle {}", explanation.run, explanation.cycle + 1));
    sheet.add("profile", &explanation.profile);
    let value =
        explanation.roi.as_ref().map_or("–".to_owned(), |roi| format!("{:.4}", roi.value));
    sheet.add("ROI", &value);
    sheet.list("RAROI", explanation.raroi.map(|raroi| format!("{raroi:.4}")));
    sheet.list("confidence", explanation.confidence.map(|share| format!("{share:.3}")));
    if let Some(roi) = &explanation.roi {
        sheet.list("veto", &roi.vetoes);
    }
    let mut out = sheet.into_text();
    terms(&mut out, explanation);
    bottlenecks(&mut out, explanation);
    parts(&mut out, "Section", &explanation.sections);
    parts(&mut out, "Scenario", &explanation.scenarios);
    calls(&mut out, explanation);
    out
}

fn terms(out: &mut String, explanation: &Explanation) {
    let Some(roi) = &explanation.roi else {
        let _ = writeln!(out, "\nNothing was measured that the profile weighs.");
        return;
    };
    let mut table = table(&["Term", "Value", "Scaled", "Weight", "Gives"]);
    let shown = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    for term in &roi.terms {
        table.add_row(row([
            Cell::new(tail(&term.metric, NAME)),
            number(shown(term.value)),
            number(shown(term.scaled)),
            number(format!("{:+.3}", term.weight)),
            number(format!("{:+.4}", term.contribution)),
        ]));
    }
    let _ = writeln!(out, "\n{table}\n");
    for term in &roi.terms {
        if let Some(meaning) = definition(&term.metric) {
            in_full(out, &format!("{}: {meaning}", term.metric));
        }
    }
}

fn bottlenecks(out: &mut String, explanation: &Explanation) {
    if explanation.bottlenecks.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nWhat holds it back:");
    for one in &explanation.bottlenecks {
        let _ = writeln!(out, "{}", line(&format!("  {:+.3}  {}", one.gain, one.hint)));
    }
}

fn parts(out: &mut String, what: &str, parts: &[Part]) {
    let mut table = table(&[what, "ROI", "Calls", "Reliability", "Resilience", "Risk"]);
    for part in parts {
        let metric = |name: &str| {
            let value = part.metrics.get(name).filter(|value| value.is_finite());
            value.map(|value| format!("{value:.3}"))
        };
        let numbers = [
            part.roi.map(|roi| format!("{roi:.3}")),
            part.calls.map(|calls| calls.to_string()),
            metric("reliability"),
            metric("resilience"),
            metric("risk_index"),
        ];
        // What was never called says nothing.
        if numbers.iter().any(Option::is_some) {
            let shown = numbers.map(|one| number(one.unwrap_or_else(|| "–".to_owned())));
            let name = Cell::new(tail(&part.name, NAME));
            table.add_row(row(std::iter::once(name).chain(shown)));
        }
    }
    if table.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{table}");
}

fn calls(out: &mut String, explanation: &Explanation) {
    if explanation.calls.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nCalls:");
    for call in explanation.calls.iter().take(CALLS_SHOWN) {
        let what = match (&call.exception, &call.message) {
            (Some(kind), Some(message)) => format!("{kind}: {message}"),
            (Some(kind), None) => kind.clone(),
            (None, message) => message.clone().unwrap_or_default(),
        };
        let (verdict, time) = (call.verdict.as_str(), millis(call.wall_ms));
        let section = tail(call.cell.section.qualname(), NAME);
        let (scenario, number, intent) = (&call.cell.scenario, call.number, call.intent.as_str());
        let text = format!("  {verdict:<10} {time:>9}  {section}, {scenario} {number}, {intent}");
        let _ = writeln!(out, "{}", line(&text));
        if !what.is_empty() {
            let _ = writeln!(out, "{}", line(&format!("      {what}")));
        }
    }
    if explanation.calls.len() > CALLS_SHOWN {
        let more = explanation.calls.len() - CALLS_SHOWN;
        let _ = writeln!(out, "and {more} more; --format json has them");
    }
}

/// A text on as many lines as it takes.
fn in_full(out: &mut String, text: &str) {
    let mut width = 0;
    for word in text.split_whitespace() {
        let next = word.chars().count();
        let space = match width {
            0 => "",
            width if width + 1 + next > LINE => "\n    ",
            _ => " ",
        };
        width = if space.starts_with('\n') { 4 + next } else { width + space.len() + next };
        let _ = write!(out, "{space}{word}");
    }
    out.push('\n');
}

/// The beginning of a text on one line.
fn line(text: &str) -> String {
    head(&printable(&text.replace(['\n', '\t'], " ")), LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_term_means_is_told_to_its_end() {
        let mut out = String::new();
        let text = format!("resilience: {}the end", "share of answered calls ".repeat(12));
        in_full(&mut out, &text);
        assert!(out.lines().count() > 3, "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= LINE), "{out}");
        assert_eq!(out.split_whitespace().collect::<Vec<_>>().join(" "), text);
    }
}
