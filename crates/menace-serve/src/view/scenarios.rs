//! What scenarios made of the repository.

use std::collections::BTreeMap;

use minijinja::Value;
use serde::Serialize;

use super::heat::{Heat, heat};
use super::paging::{Column, Here, Sorting, by_number};
use super::run::{Head, Shown};
use super::svg;
use crate::chart::spark;
use crate::error::Result;
use crate::library::Library;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub run: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

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
    /// What sections were worth together under it, the latest that was recorded.
    pub synergy: BTreeMap<String, f64>,
    pub spark: Value,
}

pub(crate) fn scenarios(library: &Library, asked: &Asked) -> Result<Scenarios> {
    let history = library.history()?;
    let here = Here::new("/scenarios")
        .with("run", asked.run.as_deref())
        .with("q", asked.q.as_deref())
        .with("sort", asked.sort.as_deref())
        .with("dir", asked.dir.as_deref());
    let worst_first = Sorting { by: "roi", descending: false };
    let sorting = Sorting::of(COLUMNS, worst_first, asked.sort.as_deref(), asked.dir.as_deref());
    let found = library.ask(|store| {
        let Some(shown) = Shown::find(store, asked.run.as_deref())? else { return Ok(None) };
        let (records, cells) = match shown.cycle {
            Some(cycle) => {
                (store.scenarios(&shown.run.id, cycle)?, store.heat(&shown.run.id, cycle)?)
            }
            None => (Vec::new(), Vec::new()),
        };
        Ok(Some((Head::of(&shown.run), records, heat(&cells))))
    })?;
    let (head, records, map) = match found.flatten() {
        Some((head, records, map)) => (Some(head), records, map),
        None => (None, Vec::new(), Heat::default()),
    };
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    let mut rows: Vec<ScenarioRow> = records
        .into_iter()
        .filter(|record| record.scenario.to_lowercase().contains(&wanted))
        .map(|record| {
            let way = history.scenario_roi.get(&record.scenario);
            let values = way.map(|tail| tail.values.as_slice()).unwrap_or_default();
            let title = format!("ROI of {} over cycles", record.scenario);
            let synergy = history.scenario_synergy.get(&record.scenario);
            ScenarioRow {
                synergy: synergy.map(|last| last.0.clone()).unwrap_or_default(),
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
    match sorting.by {
        "name" if sorting.descending => rows.reverse(),
        "name" => {}
        by => by_number(&mut rows, sorting.descending, |row| match by {
            "roi" => row.roi,
            "delta" => row.roi_delta,
            metric => row.metrics.get(metric).or_else(|| row.synergy.get(metric)).copied(),
        }),
    }
    Ok(Scenarios {
        head,
        columns: sorting.heads(COLUMNS, &here),
        rows,
        worst,
        heat: map,
        q: asked.q.clone().unwrap_or_default(),
        kept: here.kept(&["q"]),
        csv: here.at("/scenarios.csv").href(),
    })
}
