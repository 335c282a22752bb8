//! The scenarios of a run, with their metrics.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::heat_map::HeatMap;
use super::metrics::direction_word;
use super::paging::{PageAddress, SortableColumn, TableSorting};
use super::run::{RunHead, SelectedRun};
use super::svg;
use super::table_query::{TableQuery, sort_rows};
use crate::chart::draw_sparkline;
use crate::data_source::DataSource;
use crate::error::ServeResult;
use crate::history::RoiHistoryView;

const SCENARIO_COLUMNS: &[(&str, &str, bool)] = &[
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
pub(crate) struct ScenariosPage {
    pub head: Option<RunHead>,
    pub columns: Vec<SortableColumn>,
    pub rows: Vec<ScenarioPageRow>,
    pub worst: Option<String>,
    /// The other way round: every metric that was measured, with a value for each scenario.
    pub metrics: Vec<ScenarioMetricRow>,
    pub heat: HeatMap,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct ScenarioPageRow {
    pub name: String,
    pub roi: Option<f64>,
    pub roi_delta: Option<f64>,
    pub metrics: BTreeMap<String, f64>,
    /// The synergy of sections under this scenario at the end of the run.
    pub synergy: BTreeMap<String, f64>,
    pub spark: Value,
}

/// A metric under each scenario, in the order of the scenarios.
#[derive(Debug, Serialize)]
pub(crate) struct ScenarioMetricRow {
    /// Sorts scenarios by it.
    pub head: SortableColumn,
    pub better: &'static str,
    pub values: Vec<Option<ScenarioMetricValue>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ScenarioMetricValue {
    pub value: f64,
    /// The address of its history; `None` if there is none.
    pub href: Option<String>,
}

fn metric_rows(
    history: &RoiHistoryView,
    rows: &[ScenarioPageRow],
    sorting: TableSorting,
    here: &PageAddress,
) -> Vec<ScenarioMetricRow> {
    let has = |name: &str| rows.iter().any(|row| row.metrics.contains_key(name));
    let known = menace_track::METRICS.iter().filter(|metric| has(metric.name));
    let of = |metric: &'static str, row: &ScenarioPageRow| {
        let value = *row.metrics.get(metric)?;
        let series = format!("{}:{metric}", row.name);
        let is_kept = history.metrics_history.contains_key(&series);
        let href =
            is_kept.then(|| PageAddress::new("/forecasts").with("metric", Some(&series)).href());
        Some(ScenarioMetricValue { value, href })
    };
    let row = |metric: &'static menace_track::MetricDefinition| {
        let head = sorting.column_heads(&[(metric.name, metric.name, true)], here).pop()?;
        let values = rows.iter().map(|row| of(metric.name, row)).collect();
        Some(ScenarioMetricRow { head, better: direction_word(metric.direction), values })
    };
    known.filter_map(row).collect()
}

pub(crate) fn scenarios_page(
    source: &DataSource,
    query: &TableQuery,
) -> ServeResult<ScenariosPage> {
    let history = source.history()?;
    let here = query.add_to_address(PageAddress::new("/scenarios"));
    let worst_first = TableSorting { by: "roi", descending: false };
    let metrics = menace_track::METRICS.iter().map(|metric| (metric.name, metric.name, true));
    let columns: Vec<_> = SCENARIO_COLUMNS.iter().copied().chain(metrics).collect();
    let sorting = query.sorting(&columns, worst_first);
    let found = source.query(|store| {
        let Some(shown) = SelectedRun::find(store, query.run.as_deref())? else { return Ok(None) };
        let records = match shown.cycle {
            Some(cycle) => store.scenarios(&shown.run.id, cycle)?,
            None => Vec::new(),
        };
        let mut synergy = source.metrics_db().scenario_synergy(&shown.run)?;
        if synergy.is_empty() && source.metrics_db().cycles_after(&shown.run)? == 0 {
            // Runs of older versions left it in the history only, and that ends with this one.
            let last = history.scenario_synergy.iter();
            synergy = last.map(|(name, entry)| (name.clone(), entry.0.clone())).collect();
        }
        Ok(Some((RunHead::from_run(&shown.run), records, source.heat_map(store, &shown)?, synergy)))
    })?;
    let (head, records, map, mut synergy) = match found.flatten() {
        Some((head, records, map, synergy)) => (Some(head), records, map, synergy),
        None => (None, Vec::new(), HeatMap::default(), BTreeMap::new()),
    };
    let mut rows: Vec<ScenarioPageRow> = records
        .into_iter()
        .filter(|record| query.matches_search(&[&record.scenario]))
        .map(|record| {
            let way = history.scenario_roi.get(&record.scenario);
            let values = way.map(|tail| tail.values.as_slice()).unwrap_or_default();
            let title = format!("ROI of {} over cycles", record.scenario);
            ScenarioPageRow {
                synergy: synergy.remove(&record.scenario).unwrap_or_default(),
                spark: svg(&draw_sparkline(values.iter().copied(), &title)),
                name: record.scenario,
                roi: record.roi,
                roi_delta: record.roi_delta,
                metrics: record
                    .metrics
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
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
    Ok(ScenariosPage {
        head,
        columns: sorting.column_heads(SCENARIO_COLUMNS, &here),
        metrics: metric_rows(&history, &rows, sorting, &here),
        rows,
        worst,
        heat: map,
        q: query.search_text(),
        hidden_fields: here.hidden_fields(&["q"]),
        csv: here.at_path("/scenarios.csv").href(),
    })
}
