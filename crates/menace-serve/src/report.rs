//! One run in one HTML file that can be sent to a colleague: no network, no scripts.
//!
//! Invariant: its size is bounded, however much has failed: what is told in full and what is listed
//! has an end, and says so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use menace_loop::report::RunReport;
use menace_store::{KnownFailure, SectionRecord, Store};
use minijinja::Value;
use serde::Serialize;

use crate::chart::bars;
use crate::clock::{moment, now_ms};
use crate::error::Result;
use crate::library::Library;
use crate::page::{STYLE, render};
use crate::story::{Story, tell};
use crate::text::cut;
use crate::view::heat::Heat;
use crate::view::metrics::{MetricTile, metric_tiles};
use crate::view::paging::by_number;
use crate::view::run::{
    Head, ModuleLine, Shown, Sums, Verdicts, roi_chart_of, settings_of, weakest,
};
use crate::view::svg;
use crate::view::synergy::is_bounded;

/// Failures that are told in full.
const STORIES: usize = 100;
/// Failures that are listed beyond these.
const LISTED: usize = 500;
/// Modules in the table, and lines of every other list.
const MODULES: usize = 100;
const SECTIONS: usize = 25;
/// Of each of the weakest sections.
const FAILURES: usize = 5;
const LINES: usize = 200;

/// Who imports whom, as the analysis of the repository has it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// From importer to imported, as places in `nodes`.
    pub edges: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub path: String,
    /// Nobody imports it, and it is nothing that is started or collected by its name.
    pub orphan: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    style: Value,
    made: String,
    version: &'static str,
    head: Head,
    settings: Vec<(String, String)>,
    scenarios: Vec<String>,
    sums: Option<Sums>,
    verdicts: Option<Verdicts>,
    heat: Heat,
    modules: Vec<ModuleLine>,
    module_count: usize,
    sections: Vec<WeakSection>,
    stories: Vec<Group>,
    story_count: usize,
    listed: Vec<Listed>,
    failure_count: usize,
    roi: Value,
    metrics: Vec<MetricTile>,
    synergy: Option<Value>,
    synergy_others: Vec<(String, f64)>,
    graph: Option<Value>,
    graph_modules: usize,
    orphans: Vec<String>,
    not_importable: Vec<(String, String)>,
    unreachable: Vec<(String, String)>,
    not_covered: Vec<(String, usize)>,
    discrepancies: Vec<String>,
}

/// One of the weakest, with what fails in it.
#[derive(Debug, Serialize)]
struct WeakSection {
    section: String,
    roi: f64,
    raroi: Option<f64>,
    failures: Vec<Listed>,
}

/// The failures of a section.
#[derive(Debug, Serialize)]
struct Group {
    section: String,
    name: String,
    module: String,
    stories: Vec<Story>,
}

#[derive(Debug, Serialize)]
struct Listed {
    id: String,
    section: String,
    kind: String,
    message: String,
    count: u64,
    /// Its story is told elsewhere in the report.
    is_told: bool,
}

/// Writes the report of a run, by its id or the beginning of it; of the last one that has results
/// without.
pub fn report(library: &Library, run: Option<&str>, graph: Option<&Graph>) -> Result<String> {
    let page = library.must(|store| {
        let shown = Shown::must(store, run)?;
        let sections = by_worth(store, &shown)?;
        let failures = weakest_first(store, &shown, &sections)?;
        let (told, listed) = failures.split_at(failures.len().min(STORIES));
        let repository = Path::new(&shown.run.repository);
        let sums = shown.report.as_ref();
        let lists = Lists::of(&shown);
        let drawn = graph.map(|Graph { nodes, edges }| {
            let named: Vec<(String, bool)> =
                nodes.iter().map(|node| (node.path.clone(), node.orphan)).collect();
            crate::chart::graph(&named, edges)
        });
        let orphans = graph.iter().flat_map(|graph| &graph.nodes).filter(|node| node.orphan);
        Ok(Report {
            style: Value::from_safe_string(STYLE.to_owned()),
            made: moment(now_ms()),
            version: env!("CARGO_PKG_VERSION"),
            head: Head::of(&shown.run),
            settings: settings_of(&shown.run.settings, false),
            scenarios: sums.map(scenarios_of).unwrap_or_default(),
            sums: sums.map(Sums::of),
            verdicts: sums.map(|report| {
                Verdicts::of(|verdict| report.verdicts.get(&verdict).copied().unwrap_or_default())
            }),
            heat: library.heat(store, &shown)?,
            modules: weakest(store, &shown, MODULES)?,
            module_count: sums.map_or(0, |report| report.modules.len()),
            sections: weakest_sections(sections, &failures, told),
            stories: groups(told, repository, &shown),
            story_count: told.len(),
            listed: listed.iter().take(LISTED).map(line).collect(),
            failure_count: failures.len(),
            roi: svg(&roi_chart_of(library, &shown.run)?.draw()),
            metrics: metric_tiles(library, &shown.run)?,
            synergy: sums
                .filter(|report| !report.synergy.is_empty())
                .map(|report| svg(&bars("Synergy of the run", &synergy_of(report, true)))),
            synergy_others: sums.map(|report| synergy_of(report, false)).unwrap_or_default(),
            graph: drawn.flatten().map(|drawing| svg(&drawing)),
            graph_modules: graph.map_or(0, |graph| graph.nodes.len()),
            orphans: orphans.map(|node| node.path.clone()).take(LINES).collect(),
            not_importable: lists.not_importable,
            unreachable: lists.unreachable,
            not_covered: lists.not_covered,
            discrepancies: lists.discrepancies,
        })
    })?;
    render("report.html", page)
}

/// Values that one scale can hold, or the others.
fn synergy_of(report: &RunReport, bounded: bool) -> Vec<(String, f64)> {
    let values = report.synergy.iter().filter(|(name, _)| is_bounded(name) == bounded);
    values.map(|(name, value)| (name.clone(), *value)).collect()
}

fn scenarios_of(report: &RunReport) -> Vec<String> {
    report.scenarios.iter().map(|scenario| scenario.name.clone()).collect()
}

#[derive(Default)]
struct Lists {
    not_importable: Vec<(String, String)>,
    unreachable: Vec<(String, String)>,
    not_covered: Vec<(String, usize)>,
    discrepancies: Vec<String>,
}

impl Lists {
    fn of(shown: &Shown) -> Self {
        let Some(report) = &shown.report else { return Self::default() };
        let not_importable = report.not_importable.iter();
        let unreachable = report.unreachable.iter();
        Self {
            not_importable: not_importable
                .map(|one| (one.module.clone(), cut(&one.why, 300)))
                .take(LINES)
                .collect(),
            unreachable: unreachable
                .map(|one| (one.section.as_str().to_owned(), cut(&one.why, 300)))
                .take(LINES)
                .collect(),
            not_covered: report
                .not_covered
                .iter()
                .map(|one| (one.what.clone(), one.sections))
                .collect(),
            discrepancies: report.discrepancies.iter().take(LINES).cloned().collect(),
        }
    }
}

/// Failures of the run; those of the weakest sections come first, those of sections without a
/// number last.
fn weakest_first(
    store: &Store,
    shown: &Shown,
    sections: &[SectionRecord],
) -> Result<Vec<KnownFailure>> {
    let mut failures = store.failures_of_run(&shown.run.id)?;
    let places: BTreeMap<&str, usize> =
        sections.iter().enumerate().map(|(place, one)| (one.section.as_str(), place)).collect();
    failures.sort_by_cached_key(|known| {
        let section = &known.failure.section;
        let place = places.get(section.as_str()).copied().unwrap_or(usize::MAX);
        (place, section.clone(), known.failure.id.clone())
    });
    Ok(failures)
}

/// Sections by what they are worth, the least first; those without a number were never called.
fn by_worth(store: &Store, shown: &Shown) -> Result<Vec<SectionRecord>> {
    let Some(cycle) = shown.cycle else { return Ok(Vec::new()) };
    let mut sections = store.sections(&shown.run.id, cycle)?;
    sections.retain(|one| one.roi.is_some_and(f64::is_finite));
    by_number(&mut sections, false, |one| one.roi);
    Ok(sections)
}

/// `told` are those failures whose stories follow.
fn weakest_sections(
    sections: Vec<SectionRecord>,
    failures: &[KnownFailure],
    told: &[KnownFailure],
) -> Vec<WeakSection> {
    let told: BTreeSet<&str> = told.iter().map(|known| known.failure.id.0.as_str()).collect();
    let weak = sections.into_iter().take(SECTIONS).map(|one| WeakSection {
        roi: one.roi.unwrap_or_default(),
        raroi: one.raroi,
        failures: failures
            .iter()
            .filter(|known| known.failure.section == one.section)
            .take(FAILURES)
            .map(|known| Listed {
                is_told: told.contains(known.failure.id.0.as_str()),
                ..line(known)
            })
            .collect(),
        section: one.section.as_str().to_owned(),
    });
    weak.collect()
}

fn groups(failures: &[KnownFailure], repository: &Path, shown: &Shown) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for known in failures {
        let mut story = tell(known, repository);
        story.is_new = known.first.run == shown.run.id;
        match groups.last_mut() {
            Some(group) if group.section == story.section => group.stories.push(story),
            _ => groups.push(Group {
                section: story.section.clone(),
                name: story.name.clone(),
                module: story.module.clone(),
                stories: vec![story],
            }),
        }
    }
    groups
}

fn line(known: &KnownFailure) -> Listed {
    let failure = &known.failure;
    Listed {
        id: failure.id.0.clone(),
        section: failure.section.as_str().to_owned(),
        kind: failure.kind.as_str().to_owned(),
        message: cut(&failure.message, 200),
        count: known.count_in_run.unwrap_or(known.count),
        is_told: false,
    }
}
