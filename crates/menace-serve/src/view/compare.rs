//! Two runs side by side.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::WeaknessKind;
use menace_store::{FailureReport, PageRange, RunReport, Store};
use menace_track::{MetricDirection, find_metric};
use serde::Serialize;

use super::metrics::trend_word;
use super::paging::{PageAddress, SortableColumn, TableSorting, sort_by_number};
use super::run::displayed_settings;
use super::run::{RunHead, SelectedRun};
use super::runs::RunsPageRow;
use crate::data_source::DataSource;
use crate::error::{ServeError, ServeResult};
use crate::text::truncate;

/// Runs to choose from.
const MAX_RUN_CHOICES: u32 = 50;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct ComparisonQuery {
    pub a: Option<String>,
    pub b: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

const PAIR_COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "Name", false),
    ("a", "First", true),
    ("b", "Second", true),
    ("change", "Change", true),
];

impl ComparisonQuery {
    /// The largest changes come first, unless the query has another order.
    fn sorting(&self) -> TableSorting {
        let moved = TableSorting { by: "moved", descending: true };
        TableSorting::from_query(PAIR_COLUMNS, moved, self.sort.as_deref(), self.dir.as_deref())
    }

    fn page_address(&self) -> PageAddress {
        PageAddress::new("/compare")
            .with("a", self.a.as_deref())
            .with("b", self.b.as_deref())
            .with("q", self.q.as_deref())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }
}

/// Two runs, or why there are none to compare.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ComparisonPage {
    Compared(Box<ComparedRuns>),
    Unavailable { reason: String },
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparedRuns {
    pub a: RunHead,
    pub b: RunHead,
    pub sums: Vec<ComparedValue>,
    pub modules: Vec<ComparedValue>,
    pub scenarios: Vec<ComparedValue>,
    /// The values at the end of each run.
    pub metrics: Vec<ComparedValue>,
    pub synergy: Vec<ComparedValue>,
    /// Settings of the runs, where they differ.
    pub settings: Vec<ComparedSetting>,
    /// Failures of the second run only, and of the first only.
    pub appeared: Vec<ComparedFailure>,
    pub disappeared: Vec<ComparedFailure>,
    pub choices: Vec<RunsPageRow>,
    pub columns: Vec<SortableColumn>,
    pub q: String,
    pub choice_hidden_fields: Vec<(String, String)>,
    pub hidden_fields: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparedValue {
    pub name: String,
    pub a: Option<f64>,
    pub b: Option<f64>,
    pub delta: Option<f64>,
    pub trend: &'static str,
}

/// The differing setting of two runs, as text; `None` where a run does not have it.
#[derive(Debug, Serialize)]
pub(crate) struct ComparedSetting {
    pub name: String,
    pub a: Option<String>,
    pub b: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparedFailure {
    pub id: String,
    pub section: String,
    pub kind: WeaknessKind,
    pub message: String,
}

impl ComparedValue {
    fn new(name: &str, a: Option<f64>, b: Option<f64>, better: MetricDirection) -> Self {
        let delta = a.zip(b).map(|(a, b)| b - a);
        Self { name: name.to_owned(), a, b, delta, trend: trend_word(better, delta) }
    }

    /// `better`, `worse`, or empty.
    pub(crate) fn trend_word(&self) -> &'static str {
        match self.trend {
            "good" => "better",
            "bad" => "worse",
            _ => "",
        }
    }
}

/// Which way a metric is better, alone or together.
fn better_direction(name: &str) -> MetricDirection {
    let metric = find_metric(name.strip_prefix("synergy_").unwrap_or(name));
    metric.map_or(MetricDirection::Up, |metric| metric.direction)
}

/// Compares two runs, by default the last two that have a summary.
pub(crate) fn comparison_page(
    source: &DataSource,
    query: &ComparisonQuery,
) -> ServeResult<ComparisonPage> {
    let names_none = [&query.a, &query.b].iter().all(|id| id.as_deref().is_none_or(str::is_empty));
    match compare_runs(source, query) {
        // The query names no run: the page explains what a comparison needs.
        Err(ServeError::NotFound(lacks)) if names_none => {
            Ok(ComparisonPage::Unavailable { reason: lacks })
        }
        found => found,
    }
}

fn compare_runs(source: &DataSource, query: &ComparisonQuery) -> ServeResult<ComparisonPage> {
    source.query_existing(|store| {
        let b = find_run(store, query.b.as_deref())?;
        let named = query.a.clone().filter(|id| !id.is_empty());
        let before = match named {
            named @ Some(_) => named,
            None => store.previous_run(&b.run.id)?.map(|before| before.0),
        };
        let Some(before) = before else {
            let lacks = format!("there is no run before {}", b.run.id);
            return Ok(ComparisonPage::Unavailable { reason: lacks });
        };
        let a = find_run(store, Some(&before))?;
        let (one, other) = (existing_report(&a)?, existing_report(&b)?);
        let here = query.page_address();
        let choices = store.list_runs(PageRange::first(MAX_RUN_CHOICES))?;
        Ok(ComparisonPage::Compared(Box::new(ComparedRuns {
            sums: compare_sums(one, other),
            metrics: compare_values(
                query,
                &run_metrics(source, &a)?,
                &run_metrics(source, &b)?,
                better_direction,
            ),
            synergy: compare_values(
                query,
                &values_by_name(&one.synergy),
                &values_by_name(&other.synergy),
                better_direction,
            ),
            settings: differing_settings(&a, &b),
            modules: compare_roi(
                query,
                one.modules.iter().map(|module| (module.path.as_str(), module.roi)),
                other.modules.iter().map(|module| (module.path.as_str(), module.roi)),
            ),
            scenarios: compare_roi(
                query,
                one.scenarios.iter().map(|scenario| (scenario.name.as_str(), scenario.roi)),
                other.scenarios.iter().map(|scenario| (scenario.name.as_str(), scenario.roi)),
            ),
            appeared: failures_only_in(&other.failures, &one.failures),
            disappeared: failures_only_in(&one.failures, &other.failures),
            a: RunHead::from_run(&a.run),
            b: RunHead::from_run(&b.run),
            choices: choices.into_iter().map(RunsPageRow::from_line).collect(),
            columns: query.sorting().column_heads(PAIR_COLUMNS, &here),
            q: query.q.clone().unwrap_or_default(),
            choice_hidden_fields: here.hidden_fields(&["a", "b"]),
            hidden_fields: here.hidden_fields(&["q"]),
            csv: here.at_path("/compare.csv").href(),
        })))
    })
}

fn find_run(store: &Store, id: Option<&str>) -> ServeResult<SelectedRun> {
    SelectedRun::find_existing(store, id)
}

fn existing_report(shown: &SelectedRun) -> ServeResult<&RunReport> {
    shown.report.as_ref().ok_or_else(|| {
        ServeError::NotFound(format!(
            "run {} has not come to its end: it has no sums to compare",
            shown.run.id
        ))
    })
}

/// Values by name.
type NamedValues<'a> = BTreeMap<&'a str, f64>;

fn values_by_name(values: &BTreeMap<String, f64>) -> NamedValues<'_> {
    values.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

/// The metrics of a whole run, as its last cycle left them.
fn run_metrics(source: &DataSource, shown: &SelectedRun) -> ServeResult<NamedValues<'static>> {
    let mut found = NamedValues::new();
    for metric in menace_track::METRICS {
        let values = source.metrics_db().values_until(metric.name, &shown.run, 1)?;
        let value = values.last().copied().flatten();
        found.extend(value.map(|value| (metric.name, value)));
    }
    Ok(found)
}

/// The settings in which two runs differ: repository, seed and others.
fn differing_settings(one: &SelectedRun, other: &SelectedRun) -> Vec<ComparedSetting> {
    let facts = |shown: &SelectedRun| -> BTreeMap<String, String> {
        let run = &shown.run;
        let own = [
            ("repository".to_owned(), run.repository.clone()),
            ("seed".to_owned(), run.seed.to_string()),
        ];
        displayed_settings(&run.settings, true).into_iter().chain(own).collect()
    };
    let (one, other) = (facts(one), facts(other));
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    let differing = |name: &String| ComparedSetting {
        name: name.clone(),
        a: one.get(name).cloned(),
        b: other.get(name).cloned(),
    };
    differ.map(differing).collect()
}

fn compare_sums(one: &RunReport, other: &RunReport) -> Vec<ComparedValue> {
    type ReportNumber = fn(&RunReport) -> Option<f64>;
    let sums: [(&str, MetricDirection, ReportNumber); 7] = [
        ("ROI", MetricDirection::Up, |run| run.roi),
        ("failures", MetricDirection::Down, |run| Some(run.failures.len() as f64)),
        ("calls", MetricDirection::Neither, |run| Some(run.calls as f64)),
        ("sections", MetricDirection::Neither, |run| Some(run.sections as f64)),
        ("sections called", MetricDirection::Up, |run| Some(run.coverage.called as f64)),
        ("share of lines reached", MetricDirection::Up, |run| Some(run.coverage.lines)),
        ("seconds", MetricDirection::Down, |run| Some(run.elapsed_s)),
    ];
    let compare = |(name, better, number): (&str, MetricDirection, ReportNumber)| {
        ComparedValue::new(name, number(one), number(other), better)
    };
    sums.map(compare).into()
}

fn compare_roi<'a>(
    query: &ComparisonQuery,
    one: impl Iterator<Item = (&'a str, f64)>,
    other: impl Iterator<Item = (&'a str, f64)>,
) -> Vec<ComparedValue> {
    compare_values(query, &one.collect(), &other.collect(), |_| MetricDirection::Up)
}

/// The values that match the query, sorted.
fn compare_values(
    query: &ComparisonQuery,
    one: &NamedValues<'_>,
    other: &NamedValues<'_>,
    better: fn(&str) -> MetricDirection,
) -> Vec<ComparedValue> {
    let names: BTreeSet<&str> = one.keys().chain(other.keys()).copied().collect();
    let wanted = query.q.as_deref().unwrap_or_default().to_lowercase();
    let mut pairs: Vec<ComparedValue> = names
        .into_iter()
        .filter(|name| name.to_lowercase().contains(&wanted))
        .map(|name| {
            let (a, b) = (one.get(name).copied(), other.get(name).copied());
            ComparedValue::new(name, a, b, better(name))
        })
        .collect();
    let TableSorting { by, descending } = query.sorting();
    match by {
        "name" if descending => pairs.reverse(),
        "name" => {}
        by => sort_by_number(&mut pairs, descending, |pair| match by {
            "a" => pair.a,
            "b" => pair.b,
            "change" => pair.delta,
            _ => Some(pair.delta.map_or(f64::INFINITY, f64::abs)),
        }),
    }
    pairs
}

fn failures_only_in(here: &[FailureReport], elsewhere: &[FailureReport]) -> Vec<ComparedFailure> {
    let known: BTreeSet<&str> = elsewhere.iter().map(|failure| failure.id.as_str()).collect();
    here.iter()
        .filter(|failure| !known.contains(failure.id.as_str()))
        .map(|failure| ComparedFailure {
            id: failure.id.clone(),
            section: failure.section.as_str().to_owned(),
            kind: failure.kind,
            message: truncate(&failure.message, 200),
        })
        .collect()
}
