//! What modules are worth together, cycle by cycle, and the weights that training has made.

use std::collections::BTreeSet;

use menace_store::Numbers;
use minijinja::Value;
use serde::Serialize;

use super::paging::{Column, Here, Sorting, by_number};
use super::svg;
use crate::chart::{Drawing, LineChart, Role, Series, bars, spark};
use crate::error::Result;
use crate::library::Library;

/// Cycles that are shown.
pub(crate) const CYCLES: u32 = 200;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

const COLUMNS: &[(&str, &str, bool)] =
    &[("name", "Metric", false), ("latest", "Latest", true), ("mean", "Mean", true)];

const WEIGHTS: &[(&str, &str, bool)] = &[("weight", "Weight", false), ("worth", "Value", true)];

#[derive(Debug, Serialize)]
pub(crate) struct Synergy {
    pub latest: Value,
    pub chart: Value,
    pub columns: Vec<Column>,
    pub rows: Vec<SynergyRow>,
    pub q: String,
    pub kept: Vec<(String, String)>,
    pub cycles: usize,
    pub csv: String,
    /// Nothing before somebody trained.
    pub weights: Vec<(String, String)>,
    pub has_weights: bool,
    pub weight_columns: Vec<Column>,
    pub weights_csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SynergyRow {
    pub name: String,
    pub latest: Option<f64>,
    pub mean: f64,
    pub spark: Value,
}

/// Whether its metric has values between fixed ends, so that it can be drawn beside others.
pub(crate) fn is_bounded(name: &str) -> bool {
    let metric = name.strip_prefix("synergy_").unwrap_or(name);
    name == menace_track::SYNERGY_ROI
        || menace_track::metric(metric).is_some_and(|metric| metric.range.is_bounded())
}

/// What ROI was worth together, over these cycles.
pub(crate) fn chart(entries: &[Numbers]) -> LineChart {
    let roi: Vec<f64> = entries
        .iter()
        .map(|entry| entry.get(menace_track::SYNERGY_ROI).copied().unwrap_or(f64::NAN))
        .collect();
    LineChart::new("synergy_roi over cycles").with(Series::from(
        menace_track::SYNERGY_ROI,
        Role::Actual,
        1,
        &roi,
    ))
}

/// What the last cycle was worth together, as far as that can be drawn beside each other.
pub(crate) fn latest_chart(entries: &[Numbers]) -> Drawing {
    let latest = entries.last().into_iter().flatten();
    let latest: Vec<(String, f64)> = latest
        .filter(|(name, _)| is_bounded(name))
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    bars("The latest synergy values", &latest)
}

/// The weights that fit what was asked for, sorted, and whether there are any at all.
pub(crate) fn weights(library: &Library, asked: &Asked) -> Result<(Vec<(String, String)>, bool)> {
    let Some(serde_json::Value::Object(weights)) = library.weights()? else {
        return Ok((Vec::new(), false));
    };
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    let found = weights.into_iter().filter(|(name, _)| name.to_lowercase().contains(&wanted));
    let mut found: Vec<(String, serde_json::Value)> = found.collect();
    let by_name = Sorting { by: "weight", descending: false };
    let sorting = Sorting::of(WEIGHTS, by_name, asked.sort.as_deref(), asked.dir.as_deref());
    if sorting.by == "worth" {
        by_number(&mut found, sorting.descending, |(_, value)| value.as_f64());
    } else {
        found.sort_by(|one, other| one.0.cmp(&other.0));
        if sorting.descending {
            found.reverse();
        }
    }
    Ok((found.into_iter().map(|(name, weight)| (name, weight.to_string())).collect(), true))
}

pub(crate) fn synergy(library: &Library, asked: &Asked) -> Result<Synergy> {
    let entries = library.synergy(CYCLES)?;
    let names: BTreeSet<&String> = entries.iter().flat_map(|entry| entry.keys()).collect();
    let mut rows: Vec<SynergyRow> = names
        .into_iter()
        .map(|name| {
            let values: Vec<f64> =
                entries.iter().filter_map(|entry| entry.get(name).copied()).collect();
            SynergyRow {
                name: name.clone(),
                latest: entries.last().and_then(|entry| entry.get(name).copied()),
                mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
                spark: svg(&spark(&values, &format!("{name} over cycles"))),
            }
        })
        .collect();
    let by_name = Sorting { by: "name", descending: false };
    let sorting = Sorting::of(COLUMNS, by_name, asked.sort.as_deref(), asked.dir.as_deref());
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    rows.retain(|row| row.name.to_lowercase().contains(&wanted));
    match sorting.by {
        "name" if sorting.descending => rows.reverse(),
        "name" => {}
        by => by_number(&mut rows, sorting.descending, |row| match by {
            "latest" => row.latest,
            _ => Some(row.mean),
        }),
    }
    let here = Here::new("/synergy")
        .with("q", asked.q.as_deref())
        .with("sort", asked.sort.as_deref())
        .with("dir", asked.dir.as_deref());
    let (weights, has_weights) = weights(library, asked)?;
    let by_weight = Sorting::of(
        WEIGHTS,
        Sorting { by: "", descending: false },
        asked.sort.as_deref(),
        asked.dir.as_deref(),
    );
    Ok(Synergy {
        latest: svg(&latest_chart(&entries)),
        chart: svg(&chart(&entries).draw()),
        cycles: entries.len(),
        columns: sorting.heads(COLUMNS, &here),
        q: asked.q.clone().unwrap_or_default(),
        kept: here.kept(&["q"]),
        rows,
        csv: here.at("/synergy.csv").href(),
        weights,
        has_weights,
        weight_columns: by_weight.heads(WEIGHTS, &here),
        weights_csv: here.at("/weights.csv").href(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_ends_is_drawn_on_one_scale() {
        assert!(is_bounded("synergy_roi") && is_bounded("synergy_reliability"));
        assert!(!is_bounded("synergy_throughput") && !is_bounded("synergy_of_my_own"));
    }
}
