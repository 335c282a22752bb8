//! The decisions of a run, with the evidence for each (one row for each statistical check), and its
//! forecasts.

use menace_store::{BorderlineStatus, DecisionReport};
use menace_track::stats::evidence::{DecisionAnswer, DecisionEvidence, StatisticalDecision};
use menace_track::stats::forecast_calibrator::FeatureDrift;
use menace_track::stats::foresight::{CollapsePrediction, CollapseRisk};
use serde::Serialize;

use super::paging::{PageAddress, SortableColumn, TableSorting, sort_by_number};
use super::table_query::TableQuery;
use crate::text::format_grouped_count;

/// Rows of each table that a page has room for; files have all.
pub(crate) const MAX_ROWS: usize = 40;

/// A table that does not have the sorted column keeps its own order.
const UNSORTED: TableSorting = TableSorting { by: "", descending: false };

const DECISION_COLUMNS: &[(&str, &str, bool)] =
    &[("question", "Question", false), ("answer", "Answer", false)];
const OUTLOOK_COLUMNS: &[(&str, &str, bool)] =
    &[("of", "Of", false), ("what", "What", false), ("value", "Value", true)];

pub(crate) fn decision_columns(query: &TableQuery, here: &PageAddress) -> Vec<SortableColumn> {
    query.sorting(DECISION_COLUMNS, UNSORTED).column_heads(DECISION_COLUMNS, here)
}

pub(crate) fn outlook_columns(query: &TableQuery, here: &PageAddress) -> Vec<SortableColumn> {
    query.sorting(OUTLOOK_COLUMNS, UNSORTED).column_heads(OUTLOOK_COLUMNS, here)
}

/// Decisions that match the query, sorted.
pub(crate) fn decision_rows(
    decisions: Option<&DecisionReport>,
    query: &TableQuery,
) -> Vec<DecisionRow> {
    let mut rows: Vec<_> = decisions.into_iter().flat_map(all_decision_rows).collect();
    rows.retain(|row| query.matches_search(&[&row.what]));
    let sorting = query.sorting(DECISION_COLUMNS, UNSORTED);
    match sorting.by {
        "question" => rows.sort_by(|one, other| one.what.cmp(&other.what)),
        "answer" => rows.sort_by_key(|row| format!("{:?}", row.answer)),
        _ => {}
    }
    if sorting.descending {
        rows.reverse();
    }
    rows
}

/// Forecasts that match the query, sorted.
pub(crate) fn outlook_rows(
    decisions: Option<&DecisionReport>,
    query: &TableQuery,
) -> Vec<OutlookRow> {
    let mut rows: Vec<_> = decisions.into_iter().flat_map(all_outlook_rows).collect();
    rows.retain(|row| query.matches_search(&[&row.of, &row.what, &row.note]));
    let sorting = query.sorting(OUTLOOK_COLUMNS, UNSORTED);
    let reverse = sorting.descending && sorting.by != "value";
    match sorting.by {
        "of" => rows.sort_by(|one, other| one.of.cmp(&other.of)),
        "what" => rows.sort_by(|one, other| one.what.cmp(&other.what)),
        "value" => sort_by_number(&mut rows, sorting.descending, |row| row.value),
        _ => {}
    }
    if reverse {
        rows.reverse();
    }
    rows
}

#[derive(Debug, Serialize)]
pub(crate) struct DecisionRow {
    /// The question: of the run, a module or a metric.
    pub what: String,
    pub answer: DecisionAnswer,
    pub confidence: f64,
    pub needed: usize,
    pub samples: usize,
    pub evidence: Vec<DecisionEvidence>,
}

/// A forecast for the run or a module.
#[derive(Debug, Serialize)]
pub(crate) struct OutlookRow {
    pub of: String,
    pub what: String,
    pub value: Option<f64>,
    pub note: String,
}

/// Rows of the whole run first, then predicted collapses of modules, then the rest.
fn all_outlook_rows(decisions: &DecisionReport) -> Vec<OutlookRow> {
    let row = |of: &str, what: &str, value: Option<f64>, note: String| OutlookRow {
        of: of.to_owned(),
        what: what.to_owned(),
        value,
        note,
    };
    let mut rows = Vec::new();
    let next = decisions.forecast.as_ref().and_then(|forecast| forecast.points.first());
    rows.extend(next.map(|point| {
        let note = point.interval.map(|(low, high)| format!("between {low:.3} and {high:.3}"));
        row("the run", "ROI of the next cycle", Some(point.mean), note.unwrap_or_default())
    }));
    rows.extend(decisions.calibrated.map(|one| {
        let note = if one.low_confidence { "not to be trusted much" } else { "" };
        let what = "ROI of the next cycle, calibrated";
        row("the run", what, Some(one.value), note.to_owned())
    }));
    for (module, collapse) in &decisions.collapse {
        rows.push(row(module, "collapse", None, collapse_heading(collapse)));
    }
    for one in &decisions.borderline {
        let became = match one.status {
            BorderlineStatus::Pending => "it waits for a micro-pilot",
            BorderlineStatus::Promoted => "its micro-pilot went well",
            BorderlineStatus::Terminated => "its micro-pilot went badly",
        };
        let raroi = one.raroi.last().copied();
        let note = format!("{became}, confidence {:.2}", one.confidence);
        rows.push(row(&one.module, "RAROI on the border", raroi, note));
    }
    for (module, held_back) in &decisions.bottlenecks {
        for one in held_back {
            let what = format!("held back by {}", one.what);
            rows.push(row(module, &what, Some(one.gain), one.hint.clone()));
        }
    }
    for (module, confidence) in &decisions.confidence {
        rows.push(row(module, "confidence", Some(*confidence), String::new()));
    }
    for (name, value) in &decisions.predictions {
        rows.push(row("the run", name, Some(*value), String::new()));
    }
    rows
}

fn collapse_heading(collapse: &CollapsePrediction) -> String {
    let CollapsePrediction { risk, collapse_in, brittle, samples, .. } = collapse;
    let risk = match risk {
        CollapseRisk::Stable => "stable",
        CollapseRisk::SlowDecay => "slow decay",
        CollapseRisk::Volatile => "volatile",
        CollapseRisk::ImmediateCollapse => "immediate collapse risk",
    };
    let when =
        collapse_in.map(|cycles| format!(", in {}", format_grouped_count(cycles as u64, "cycle")));
    let brittle = if *brittle { ", brittle" } else { "" };
    let when = when.unwrap_or_default();
    format!("{risk}{when}{brittle}, from {}", format_grouped_count(*samples as u64, "cycle"))
}

/// Rows of the whole run first, then those that require action.
fn all_decision_rows(report: &DecisionReport) -> Vec<DecisionRow> {
    let judgement = &report.convergence;
    let run = [("ROI of the run has converged".to_owned(), &judgement.roi)];
    let synergy = judgement.synergy.metrics.iter();
    let synergy = synergy.map(|(name, one)| (format!("{name} has come to rest"), one));
    let modules = judgement.modules.iter();
    let modules = modules.map(|(path, one)| (format!("ROI of {path} has converged"), one));
    let entropy = judgement.entropy.iter().flat_map(|(path, one)| {
        let ceiling = (format!("more entropy in {path} does not pay"), &one.ceiling);
        let plateau = one.plateau.as_ref().map(|one| (format!("entropy of {path} is flat"), one));
        std::iter::once(ceiling).chain(plateau)
    });
    let border = report.borderline_evidence.iter();
    let border = border.map(|(module, one)| (format!("{module} holds the border"), one));
    let features: Vec<_> = report.drifts.iter().map(|one| (one, one.decision())).collect();
    let (moved, still): (Vec<_>, Vec<_>) = features.iter().partition(|(one, _)| one.drifted);
    let feature = |(one, decision): &'_ (&FeatureDrift, StatisticalDecision)| {
        let name = one.feature.strip_prefix("predicted_").unwrap_or(&one.feature);
        decision_row(format!("forecasts of {name} look as in training"), decision)
    };
    let acute = run.into_iter().chain(border).map(|(what, one)| decision_row(what, one));
    let rest = synergy.chain(modules).chain(entropy).map(|(what, one)| decision_row(what, one));
    acute
        .chain(moved.into_iter().map(feature))
        .chain(rest)
        .chain(still.into_iter().map(feature))
        .collect()
}

fn decision_row(what: String, decision: &StatisticalDecision) -> DecisionRow {
    let StatisticalDecision { answer, confidence, needed, samples, evidence } = decision;
    DecisionRow {
        what,
        answer: *answer,
        confidence: *confidence,
        needed: *needed,
        samples: *samples,
        evidence: evidence.clone(),
    }
}
