//! What a run decided, with the evidence for it: one row for each question that was put to the data;
//! and what it expects.

use menace_loop::decided::Decided;
use menace_store::CandidateStatus;
use menace_track::stats::evidence::{Check, Decision, Evidence, Verdict};
use menace_track::stats::foresight::{Collapse, Risk};
use menace_track::stats::truth::FeatureDrift;
use serde::Serialize;

use super::paging::{Column, Here, Sorting, by_number};
use super::wish::Wish;
use crate::text::counted;

/// Rows of each table that a page has room for; files have all.
pub(crate) const MOST: usize = 40;

/// A table that somebody else's column is sorted by keeps its own order.
const OWN: Sorting = Sorting { by: "", descending: false };

const DECISIONS: &[(&str, &str, bool)] =
    &[("question", "Question", false), ("answer", "Answer", false)];
const OUTLOOK: &[(&str, &str, bool)] =
    &[("of", "Of", false), ("what", "What", false), ("value", "Value", true)];

pub(crate) fn decision_heads(asked: &Wish, here: &Here) -> Vec<Column> {
    asked.sorting(DECISIONS, OWN).heads(DECISIONS, here)
}

pub(crate) fn outlook_heads(asked: &Wish, here: &Here) -> Vec<Column> {
    asked.sorting(OUTLOOK, OWN).heads(OUTLOOK, here)
}

/// Decisions that fit what was asked for, sorted.
pub(crate) fn found(decided: Option<&Decided>, asked: &Wish) -> Vec<DecisionView> {
    let mut rows: Vec<_> = decided.into_iter().flat_map(decisions).collect();
    rows.retain(|row| asked.finds(&[&row.what]));
    let sorting = asked.sorting(DECISIONS, OWN);
    match sorting.by {
        "question" => rows.sort_by(|one, other| one.what.cmp(&other.what)),
        "answer" => rows.sort_by_key(|row| format!("{:?}", row.verdict)),
        _ => {}
    }
    if sorting.descending {
        rows.reverse();
    }
    rows
}

/// The same of what is expected.
pub(crate) fn expected(decided: Option<&Decided>, asked: &Wish) -> Vec<Expected> {
    let mut rows: Vec<_> = decided.into_iter().flat_map(outlook).collect();
    rows.retain(|row| asked.finds(&[&row.of, &row.what, &row.note]));
    let sorting = asked.sorting(OUTLOOK, OWN);
    let reverse = sorting.descending && sorting.by != "value";
    match sorting.by {
        "of" => rows.sort_by(|one, other| one.of.cmp(&other.of)),
        "what" => rows.sort_by(|one, other| one.what.cmp(&other.what)),
        "value" => by_number(&mut rows, sorting.descending, |row| row.value),
        _ => {}
    }
    if reverse {
        rows.reverse();
    }
    rows
}

#[derive(Debug, Serialize)]
pub(crate) struct DecisionView {
    /// The question: of the run, a module or a metric.
    pub what: String,
    pub verdict: Verdict,
    pub confidence: f64,
    pub needed: usize,
    pub samples: usize,
    pub evidence: Vec<EvidenceRow>,
}

#[derive(Debug, Serialize)]
pub(crate) struct EvidenceRow {
    pub check: Check,
    pub statistic: f64,
    pub threshold: f64,
    pub p_value: Option<f64>,
    pub samples: usize,
    pub holds: bool,
}

/// What is expected, of the run or of a workflow.
#[derive(Debug, Serialize)]
pub(crate) struct Expected {
    pub of: String,
    pub what: String,
    pub value: Option<f64>,
    pub note: String,
}

/// Those of the whole run first, then what endangers workflows, then the rest.
fn outlook(decided: &Decided) -> Vec<Expected> {
    let row = |of: &str, what: &str, value: Option<f64>, note: String| Expected {
        of: of.to_owned(),
        what: what.to_owned(),
        value,
        note,
    };
    let mut rows = Vec::new();
    let next = decided.forecast.as_ref().and_then(|forecast| forecast.points.first());
    rows.extend(next.map(|point| {
        let note = point.interval.map(|(low, high)| format!("between {low:.3} and {high:.3}"));
        row("the run", "ROI of the next cycle", Some(point.mean), note.unwrap_or_default())
    }));
    rows.extend(decided.calibrated.map(|one| {
        let note = if one.low_confidence { "not to be trusted much" } else { "" };
        let what = "ROI of the next cycle, calibrated";
        row("the run", what, Some(one.value), note.to_owned())
    }));
    for (workflow, collapse) in &decided.collapse {
        rows.push(row(workflow, "collapse", None, heading(collapse)));
    }
    for one in &decided.borderline {
        let became = match one.status {
            CandidateStatus::Pending => "it waits for a micro-pilot",
            CandidateStatus::Promoted => "its micro-pilot went well",
            CandidateStatus::Terminated => "its micro-pilot went badly",
        };
        let raroi = one.raroi.last().copied();
        let note = format!("{became}, confidence {:.2}", one.confidence);
        rows.push(row(&one.workflow_id, "RAROI on the border", raroi, note));
    }
    for (workflow, held_back) in &decided.bottlenecks {
        for one in held_back {
            let what = format!("held back by {}", one.what);
            rows.push(row(workflow, &what, Some(one.gain), one.hint.clone()));
        }
    }
    for (workflow, confidence) in &decided.confidence {
        rows.push(row(workflow, "confidence", Some(*confidence), String::new()));
    }
    for (name, value) in &decided.predictions {
        rows.push(row("the run", name, Some(*value), String::new()));
    }
    rows
}

fn heading(collapse: &Collapse) -> String {
    let Collapse { risk, collapse_in, brittle, samples, .. } = collapse;
    let risk = match risk {
        Risk::Stable => "stable",
        Risk::SlowDecay => "slow decay",
        Risk::Volatile => "volatile",
        Risk::ImmediateCollapse => "immediate collapse risk",
    };
    let when = collapse_in.map(|cycles| format!(", in {}", counted(cycles as u64, "cycle")));
    let brittle = if *brittle { ", brittle" } else { "" };
    let when = when.unwrap_or_default();
    format!("{risk}{when}{brittle}, from {}", counted(*samples as u64, "cycle"))
}

/// Those of the whole run first, then those that somebody should act on.
fn decisions(decided: &Decided) -> Vec<DecisionView> {
    let judgement = &decided.judgement;
    let run = [("gains of the run have faded".to_owned(), &judgement.roi)];
    let synergy = judgement.synergy.metrics.iter();
    let synergy = synergy.map(|(name, one)| (format!("{name} has come to rest"), one));
    let modules = judgement.modules.iter();
    let modules = modules.map(|(path, one)| (format!("gains of {path} have faded"), one));
    let entropy = judgement.entropy.iter().flat_map(|(path, one)| {
        let ceiling = (format!("more entropy in {path} does not pay"), &one.ceiling);
        let plateau = one.plateau.as_ref().map(|one| (format!("entropy of {path} is flat"), one));
        std::iter::once(ceiling).chain(plateau)
    });
    let border = decided.borderline_evidence.iter();
    let border = border.map(|(workflow, one)| (format!("{workflow} holds the border"), one));
    let features: Vec<_> = decided.drifts.iter().map(|one| (one, one.decision())).collect();
    let (moved, still): (Vec<_>, Vec<_>) = features.iter().partition(|(one, _)| one.drifted);
    let feature = |(one, decision): &'_ (&FeatureDrift, Decision)| {
        let name = one.feature.strip_prefix("predicted_").unwrap_or(&one.feature);
        view(format!("forecasts of {name} look as in training"), decision)
    };
    let acute = run.into_iter().chain(border).map(|(what, one)| view(what, one));
    let rest = synergy.chain(modules).chain(entropy).map(|(what, one)| view(what, one));
    acute
        .chain(moved.into_iter().map(feature))
        .chain(rest)
        .chain(still.into_iter().map(feature))
        .collect()
}

fn view(what: String, decision: &Decision) -> DecisionView {
    let Decision { verdict, confidence, needed, samples, evidence } = decision;
    DecisionView {
        what,
        verdict: *verdict,
        confidence: *confidence,
        needed: *needed,
        samples: *samples,
        evidence: evidence.iter().map(row).collect(),
    }
}

fn row(evidence: &Evidence) -> EvidenceRow {
    let Evidence { check, statistic, threshold, p_value, samples, holds } = *evidence;
    EvidenceRow { check, statistic, threshold, p_value, samples, holds }
}
