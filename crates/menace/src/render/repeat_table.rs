//! Formats many outcomes of the same call for display.

use menace_model::format_millis;

use crate::repeat::RepeatSummary;

use super::labelled_lines::{LabelledLines, truncate};
use super::outcome_json::OutcomeHeader;
use super::outcome_table::{add_drifted_arguments, target_location, verdict_style};

const MAX_REASON_CHARS: usize = 120;
const MAX_RESULTS_SHOWN: usize = 5;

pub(crate) fn render(header: &OutcomeHeader<'_>, summary: &RepeatSummary) -> String {
    let mut sheet = LabelledLines::default();
    sheet.add("target", &target_location(header));
    add_drifted_arguments(&mut sheet, header);
    let workers = if summary.jobs == 1 { "sandbox" } else { "sandboxes" };
    sheet.add("calls", &format!("{} on {} {workers}", summary.calls, summary.jobs));
    for (&verdict, count) in &summary.verdicts {
        sheet.add_styled("verdict", verdict_style(verdict), &format!("{count} × {verdict}"));
        let sample = summary.samples.get(&verdict);
        let exception = sample.and_then(|outcome| outcome.exception.as_ref());
        let why = match exception {
            Some(exception) => Some(format!("{}: {}", exception.kind, exception.message)),
            None => sample.and_then(|outcome| outcome.reason.clone()),
        };
        if let Some(why) = why {
            sheet.add_continuation(&format!("  {}", truncate(&why, MAX_REASON_CHARS)));
        }
    }
    let mut results: Vec<(&String, &u32)> = summary.results.iter().collect();
    results.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = results.iter().take(MAX_RESULTS_SHOWN);
    sheet.add_list("results", shown.map(|(hash, count)| format!("{count} × {hash}")));
    if results.len() > MAX_RESULTS_SHOWN {
        sheet.add_continuation(&format!("… and {} more", results.len() - MAX_RESULTS_SHOWN));
    }
    let (median, p90) =
        (format_millis(summary.total_ms.median), format_millis(summary.total_ms.p90));
    sheet.add("time", &format!("median {median}, 90 % within {p90}, sandbox included"));
    if let (Some(tier), Some(python)) = (header.tier, &header.python) {
        sheet.add("isolation", &format!("{tier}: {}", tier.description()));
        let executable = python.executable.display();
        sheet.add("python", &format!("{} ({executable}), seed {}", python.version, header.seed));
    }
    if summary.differ {
        sheet.add("note", "the calls were equal, what came of them was not");
    }
    sheet.into_text()
}
