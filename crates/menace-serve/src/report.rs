//! One run in one HTML file that can be sent to a colleague: no network, no scripts.
//!
//! Invariant: the size is bounded, however much has failed: the failures shown in full and those
//! listed are limited, and the report says when a limit was reached.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use minijinja::Value;
use serde::Serialize;

use menace_model::{SectionId, is_test_path, now_ms};
use menace_store::{FailureRecord, RunReport, SectionRecord, Store};

use crate::chart::draw_bars;
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::failure_detail::{FailureDetail, build_failure_detail};
use crate::page::{STYLE_SHEET, render};
use crate::text::{format_timestamp, truncate};
use crate::view::heat_map::HeatMap;
use crate::view::metrics::{MetricTile, metric_tiles};
use crate::view::paging::sort_by_number;
use crate::view::run::{
    RunHead, RunTotals, SelectedRun, VerdictShares, WeakModuleRow, displayed_settings,
    roi_chart_at_run, weakest_modules,
};
use crate::view::svg;
use crate::view::synergy::is_bounded;

/// Failures that are shown in full.
const MAX_DETAILED_FAILURES: usize = 100;
/// Failures that are listed beyond these.
const MAX_LISTED_FAILURES: usize = 500;
/// Modules in the table, and lines of every other list.
const MAX_MODULES: usize = 100;
const MAX_WEAK_SECTIONS: usize = 25;
/// The most failures shown for each of the weakest sections.
const MAX_FAILURES_PER_SECTION: usize = 5;
const MAX_LIST_LINES: usize = 200;

/// Which module imports which, from the analysis of the repository.
#[derive(Debug, Clone, Default)]
pub struct ImportGraph {
    pub nodes: Vec<ImportGraphNode>,
    /// From importer to imported module, as indices of `nodes`.
    pub edges: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportGraphNode {
    pub path: String,
    /// Whether no module imports it, although it does nothing when it is run directly.
    pub orphan: bool,
}

#[derive(Debug, Serialize)]
struct HtmlReport {
    style: Value,
    made: String,
    version: &'static str,
    head: RunHead,
    settings: Vec<(String, String)>,
    scenarios: Vec<String>,
    sums: Option<RunTotals>,
    verdicts: Option<VerdictShares>,
    heat: HeatMap,
    modules: Vec<WeakModuleRow>,
    module_count: usize,
    sections: Vec<WeakSection>,
    failure_groups: Vec<FailureGroup>,
    detailed_count: usize,
    listed: Vec<ListedFailure>,
    failure_count: usize,
    roi: Value,
    metrics: Vec<MetricTile>,
    synergy: Option<Value>,
    synergy_others: Vec<(String, f64)>,
    graph: Option<Value>,
    graph_modules: usize,
    orphans: Vec<String>,
    not_importable: Vec<(String, String)>,
    uncallable_sections: Vec<(String, String)>,
    skipped_stages: Vec<(String, usize)>,
    discrepancies: Vec<String>,
}

/// One of the weakest sections, with its failures.
#[derive(Debug, Serialize)]
struct WeakSection {
    section: String,
    roi: f64,
    raroi: Option<f64>,
    failures: Vec<ListedFailure>,
}

/// The failures of a section.
#[derive(Debug, Serialize)]
struct FailureGroup {
    section: String,
    name: String,
    module: String,
    failures: Vec<FailureDetail>,
}

#[derive(Debug, Serialize)]
struct ListedFailure {
    id: String,
    section: String,
    kind: String,
    message: String,
    count: u64,
    /// The report shows it in full, too.
    has_detail: bool,
}

/// Renders the report of a run, given its id or the beginning of it; without one, of the last run
/// with results.
pub fn render_report(
    source: &DataSource,
    run: Option<&str>,
    graph: Option<&ImportGraph>,
) -> ServeResult<String> {
    let page = source.query_existing(|store| {
        let shown = SelectedRun::find_existing(store, run)?;
        let sections = sections_by_roi(store, &shown)?;
        let failures = failures_worst_first(store, &shown, &sections)?;
        let (detailed, listed) = failures.split_at(failures.len().min(MAX_DETAILED_FAILURES));
        let repository = Path::new(&shown.run.repository);
        let sums = shown.report.as_ref();
        let lists = UncoveredLists::from_run(&shown);
        let drawn = graph.map(|ImportGraph { nodes, edges }| {
            let named: Vec<(String, bool)> =
                nodes.iter().map(|node| (node.path.clone(), node.orphan)).collect();
            crate::chart::draw_graph(&named, edges)
        });
        let orphans = graph.iter().flat_map(|graph| &graph.nodes).filter(|node| node.orphan);
        Ok(HtmlReport {
            style: Value::from_safe_string(STYLE_SHEET.to_owned()),
            made: format_timestamp(now_ms()),
            version: env!("CARGO_PKG_VERSION"),
            head: RunHead::from_run(&shown.run),
            settings: displayed_settings(&shown.run.settings, false),
            scenarios: sums.map(scenario_names).unwrap_or_default(),
            sums: sums.map(RunTotals::from_report),
            verdicts: sums.map(|report| {
                VerdictShares::from_counts(|verdict| {
                    report.verdicts.get(&verdict).copied().unwrap_or_default()
                })
            }),
            heat: source.heat_map(store, &shown)?,
            modules: weakest_modules(store, &shown, MAX_MODULES)?,
            module_count: sums.map_or(0, |report| {
                report.modules.iter().filter(|module| !is_test_path(&module.path)).count()
            }),
            sections: weakest_sections(sections, &failures, detailed),
            failure_groups: group_by_section(detailed, repository),
            detailed_count: detailed.len(),
            listed: listed.iter().take(MAX_LISTED_FAILURES).map(list_failure).collect(),
            failure_count: failures.len(),
            roi: svg(&roi_chart_at_run(source, &shown.run)?.draw()),
            metrics: metric_tiles(source, &shown.run)?,
            synergy: sums
                .filter(|report| !report.synergy.is_empty())
                .map(|report| svg(&draw_bars("Synergy of the run", &synergy_values(report, true)))),
            synergy_others: sums.map(|report| synergy_values(report, false)).unwrap_or_default(),
            graph: drawn.flatten().map(|drawing| svg(&drawing)),
            graph_modules: graph.map_or(0, |graph| graph.nodes.len()),
            orphans: orphans.map(|node| node.path.clone()).take(MAX_LIST_LINES).collect(),
            not_importable: lists.not_importable,
            uncallable_sections: lists.uncallable_sections,
            skipped_stages: lists.skipped_stages,
            discrepancies: lists.discrepancies,
        })
    })?;
    render("report.html", page)
}

/// Values with a bounded range, which fit one scale, or the others.
fn synergy_values(report: &RunReport, bounded: bool) -> Vec<(String, f64)> {
    let values = report.synergy.iter().filter(|(name, _)| is_bounded(name) == bounded);
    values.map(|(name, value)| (name.clone(), *value)).collect()
}

fn scenario_names(report: &RunReport) -> Vec<String> {
    report.scenarios.iter().map(|scenario| scenario.name.clone()).collect()
}

#[derive(Default)]
struct UncoveredLists {
    not_importable: Vec<(String, String)>,
    uncallable_sections: Vec<(String, String)>,
    skipped_stages: Vec<(String, usize)>,
    discrepancies: Vec<String>,
}

impl UncoveredLists {
    fn from_run(shown: &SelectedRun) -> Self {
        let Some(report) = &shown.report else { return Self::default() };
        let not_importable = report.not_importable.iter();
        let uncallable_sections = report.uncallable_sections.iter();
        Self {
            not_importable: not_importable
                .map(|one| (one.module.clone(), truncate(&one.reason, 300)))
                .take(MAX_LIST_LINES)
                .collect(),
            uncallable_sections: uncallable_sections
                .map(|one| (one.section.as_str().to_owned(), truncate(&one.reason, 300)))
                .take(MAX_LIST_LINES)
                .collect(),
            skipped_stages: report
                .skipped_stages
                .iter()
                .map(|one| (one.kind.as_str().to_owned(), one.count))
                .collect(),
            discrepancies: report.discrepancies.iter().take(MAX_LIST_LINES).cloned().collect(),
        }
    }
}

/// Failures of the run, section by section: the section with the worst kind of failure first, of
/// sections with the same kind the one with the lowest ROI.
fn failures_worst_first(
    store: &Store,
    shown: &SelectedRun,
    sections: &[SectionRecord],
) -> ServeResult<Vec<FailureRecord>> {
    let mut failures = store.failures_of_run(&shown.run.id)?;
    let places: BTreeMap<&str, usize> =
        sections.iter().enumerate().map(|(place, one)| (one.section.as_str(), place)).collect();
    let rank = |record: &FailureRecord| record.failure.kind.rank();
    let mut worst: BTreeMap<SectionId, usize> = BTreeMap::new();
    for record in &failures {
        let of_section = worst.entry(record.failure.section.clone()).or_insert(usize::MAX);
        *of_section = rank(record).min(*of_section);
    }
    failures.sort_by_cached_key(|record| {
        let section = &record.failure.section;
        let place = places.get(section.as_str()).copied().unwrap_or(usize::MAX);
        (worst[section], place, section.clone(), rank(record), record.failure.id.clone())
    });
    Ok(failures)
}

/// Sections by ROI, lowest first; those without one were never called.
fn sections_by_roi(store: &Store, shown: &SelectedRun) -> ServeResult<Vec<SectionRecord>> {
    let Some(cycle) = shown.cycle else { return Ok(Vec::new()) };
    let mut sections = store.sections(&shown.run.id, cycle)?;
    sections.retain(|one| one.roi.is_some_and(f64::is_finite));
    sort_by_number(&mut sections, false, |one| one.roi);
    Ok(sections)
}

/// `detailed` are the failures that the report shows in full.
fn weakest_sections(
    sections: Vec<SectionRecord>,
    failures: &[FailureRecord],
    detailed: &[FailureRecord],
) -> Vec<WeakSection> {
    let detailed: BTreeSet<&str> =
        detailed.iter().map(|record| record.failure.id.0.as_str()).collect();
    let ranked = sections.into_iter().filter(|one| !is_test_path(one.section.path()));
    let weak = ranked.take(MAX_WEAK_SECTIONS).map(|one| WeakSection {
        roi: one.roi.unwrap_or_default(),
        raroi: one.raroi,
        failures: failures
            .iter()
            .filter(|record| record.failure.section == one.section)
            .take(MAX_FAILURES_PER_SECTION)
            .map(|record| ListedFailure {
                has_detail: detailed.contains(record.failure.id.0.as_str()),
                ..list_failure(record)
            })
            .collect(),
        section: one.section.as_str().to_owned(),
    });
    weak.collect()
}

fn group_by_section(failures: &[FailureRecord], repository: &Path) -> Vec<FailureGroup> {
    let mut groups: Vec<FailureGroup> = Vec::new();
    for record in failures {
        let detail = build_failure_detail(record, repository);
        match groups.last_mut() {
            Some(group) if group.section == detail.section => group.failures.push(detail),
            _ => groups.push(FailureGroup {
                section: detail.section.clone(),
                name: detail.name.clone(),
                module: detail.module.clone(),
                failures: vec![detail],
            }),
        }
    }
    groups
}

fn list_failure(record: &FailureRecord) -> ListedFailure {
    let failure = &record.failure;
    ListedFailure {
        id: failure.id.0.clone(),
        section: failure.section.as_str().to_owned(),
        kind: failure.kind.as_str().to_owned(),
        message: truncate(&failure.message, 200),
        count: record.count_in_run.unwrap_or(record.count),
        has_detail: false,
    }
}
