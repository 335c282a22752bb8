//! Many outcomes of the same call for people.

use crate::commands::exec::repeat::Summary;

use super::outcome_json::Header;
use super::outcome_table::{drifted, place, style};
use super::sheet::{Sheet, head};
use super::units::millis;

const WHY_WIDTH: usize = 120;
const RESULTS_SHOWN: usize = 5;

pub(crate) fn render(header: &Header<'_>, summary: &Summary) -> String {
    let mut sheet = Sheet::default();
    sheet.add("target", &place(header));
    drifted(&mut sheet, header);
    let workers = if summary.jobs == 1 { "sandbox" } else { "sandboxes" };
    sheet.add("calls", &format!("{} on {} {workers}", summary.calls, summary.jobs));
    for (&verdict, count) in &summary.verdicts {
        sheet.styled("verdict", style(verdict), &format!("{count} × {verdict}"));
        let sample = summary.samples.get(&verdict);
        let exception = sample.and_then(|outcome| outcome.exception.as_ref());
        let why = match exception {
            Some(exception) => Some(format!("{}: {}", exception.kind, exception.message)),
            None => sample.and_then(|outcome| outcome.reason.clone()),
        };
        if let Some(why) = why {
            sheet.more(&format!("  {}", head(&why, WHY_WIDTH)));
        }
    }
    let mut results: Vec<(&String, &u32)> = summary.results.iter().collect();
    results.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let shown = results.iter().take(RESULTS_SHOWN);
    sheet.list("results", shown.map(|(hash, count)| format!("{count} × {hash}")));
    if results.len() > RESULTS_SHOWN {
        sheet.more(&format!("… and {} more", results.len() - RESULTS_SHOWN));
    }
    let (median, p90) = (millis(summary.total_ms.median), millis(summary.total_ms.p90));
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
