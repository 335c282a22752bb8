//! What scenarios made of the repository.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::heat::Heat;
use super::metrics::better;
use super::paging::{Column, Here, Sorting};
use super::run::{Head, Shown};
use super::svg;
use super::wish::{Wish, sort_rows};
use crate::chart::spark;
use crate::error::Result;
use crate::history::History;
use crate::library::Library;

const COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "Scenario", false),
    ("roi", "ROI", true),
    ("delta", "Change", true),
    ("reliability", "Reliability", true),
    ("resilience", "Resilience", true),
    ("safety_rating", "Safety", true),
    ("synergy_roi", "ROI together", true),
    ("synergy_resilience", "Resilience together", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct Scenarios {
    pub head: Option<Head>,
    pub columns: Vec<Column>,
    pub rows: Vec<ScenarioRow>,
    pub worst: Option<String>,
    /// The other way round: every metric that was measured, with a value for each scenario.
    pub metrics: Vec<MetricRow>,
    pub heat: Heat,
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ScenarioRow {
    pub name: String,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
    pub metrics: BTreeMap<String, f64>,
    /// What sections were worth together under it at the end of the run.
    pub synergy: BTreeMap<String, f64>,
    pub spark: Value,
}

/// A metric under each scenario, in the order of those.
#[derive(Debug, Serialize)]
pub(crate) struct MetricRow {
    /// Sorts scenarios by it.
    pub head: Column,
    pub better: &'static str,
    pub values: Vec<Option<MetricValue>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct MetricValue {
    pub value: f64,
    /// To its way through cycles; nothing where none was kept.
    pub href: Option<String>,
}

fn metric_rows(
    history: &History,
    rows: &[ScenarioRow],
    sorting: Sorting,
    here: &Here,
) -> Vec<MetricRow> {
    let has = |name: &str| rows.iter().any(|row| row.metrics.contains_key(name));
    let known = menace_track::METRICS.iter().filter(|metric| has(metric.name));
    let of = |metric: &'static str, row: &ScenarioRow| {
        let value = *row.metrics.get(metric)?;
        let series = format!("{}:{metric}", row.name);
        let is_kept = history.metrics_history.contains_key(&series);
        let href = is_kept.then(|| Here::new("/forecasts").with("metric", Some(&series)).href());
        Some(MetricValue { value, href })
    };
    let row = |metric: &'static menace_track::Metric| {
        let head = sorting.heads(&[(metric.name, metric.name, true)], here).pop()?;
        let values = rows.iter().map(|row| of(metric.name, row)).collect();
        Some(MetricRow { head, better: better(metric.better), values })
    };
    known.filter_map(row).collect()
}

pub(crate) fn scenarios(library: &Library, asked: &Wish) -> Result<Scenarios> {
    let history = library.history()?;
    let here = asked.at(Here::new("/scenarios"));
    let worst_first = Sorting { by: "roi", descending: false };
    let metrics = menace_track::METRICS.iter().map(|metric| (metric.name, metric.name, true));
    let columns: Vec<_> = COLUMNS.iter().copied().chain(metrics).collect();
    let sorting = asked.sorting(&columns, worst_first);
    let found = library.ask(|store| {
        let Some(shown) = Shown::find(store, asked.run.as_deref())? else { return Ok(None) };
        let records = match shown.cycle {
            Some(cycle) => store.scenarios(&shown.run.id, cycle)?,
            None => Vec::new(),
        };
        let mut synergy = library.measured().scenario_synergy(&shown.run)?;
        if synergy.is_empty() && library.measured().cycles_after(&shown.run)? == 0 {
            // Runs of older versions left it in the history only, and that ends with this one.
            let last = history.scenario_synergy.iter();
            synergy = last.map(|(name, entry)| (name.clone(), entry.0.clone())).collect();
        }
        Ok(Some((Head::of(&shown.run), records, library.heat(store, &shown)?, synergy)))
    })?;
    let (head, records, map, mut synergy) = match found.flatten() {
        Some((head, records, map, synergy)) => (Some(head), records, map, synergy),
        None => (None, Vec::new(), Heat::default(), BTreeMap::new()),
    };
    let mut rows: Vec<ScenarioRow> = records
        .into_iter()
        .filter(|record| asked.finds(&[&record.scenario]))
        .map(|record| {
            let way = history.scenario_roi.get(&record.scenario);
            let values = way.map(|tail| tail.values.as_slice()).unwrap_or_default();
            let title = format!("ROI of {} over cycles", record.scenario);
            ScenarioRow {
                synergy: synergy.remove(&record.scenario).unwrap_or_default(),
                spark: svg(&spark(values, &title)),
                name: record.scenario,
                roi: record.roi,
                roi_delta: record.roi_delta,
                metrics: record
                    .metrics
                    .into_iter()
                    .filter(|(_, value)| value.is_finite())
                    .collect(),
            }
        })
        .collect();
    let worst = rows
        .iter()
        .filter_map(|row| Some((row.roi?, &row.name)))
        .min_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, name)| name.clone());
    sort_rows(&mut rows, "name", sorting, |row, column| match column {
        "roi" => row.roi,
        "delta" => row.roi_delta,
        metric => row.metrics.get(metric).or_else(|| row.synergy.get(metric)).copied(),
    });
    Ok(Scenarios {
        head,
        columns: sorting.heads(COLUMNS, &here),
        metrics: metric_rows(&history, &rows, sorting, &here),
        rows,
        worst,
        heat: map,
        q: asked.search(),
        kept: here.kept(&["q"]),
        csv: here.at("/scenarios.csv").href(),
    })
}
