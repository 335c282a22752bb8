//! The synergy page: values per cycle, and the trained weights.

use std::collections::BTreeSet;

use menace_store::MetricMap;
use minijinja::Value;
use serde::Serialize;

use super::paging::{PageAddress, SortableColumn, TableSorting, sort_by_number};
use super::svg;
use crate::chart::{ChartDrawing, ChartSeries, LineChart, MarkRole, draw_bars, draw_sparkline};
use crate::data_source::DataSource;
use crate::error::ServeResult;

/// The most cycles that are shown.
pub(crate) const MAX_CHART_CYCLES: u32 = 200;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct SynergyQuery {
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

const SYNERGY_COLUMNS: &[(&str, &str, bool)] =
    &[("name", "Metric", false), ("latest", "Latest", true), ("mean", "Mean", true)];

const WEIGHT_COLUMNS: &[(&str, &str, bool)] =
    &[("weight", "Weight", false), ("worth", "Value", true)];

#[derive(Debug, Serialize)]
pub(crate) struct SynergyPage {
    pub latest: Value,
    pub chart: Value,
    pub columns: Vec<SortableColumn>,
    pub rows: Vec<SynergyPageRow>,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
    pub cycles: usize,
    pub csv: String,
    /// Empty before weights were trained.
    pub weights: Vec<(String, String)>,
    pub has_weights: bool,
    pub weight_columns: Vec<SortableColumn>,
    pub weights_csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SynergyPageRow {
    pub name: String,
    pub latest: Option<f64>,
    pub mean: f64,
    pub spark: Value,
}

/// Whether the metric has a bounded range, so that it can be drawn on one scale with others.
pub(crate) fn is_bounded(name: &str) -> bool {
    let metric = name.strip_prefix("synergy_").unwrap_or(name);
    name == menace_track::SYNERGY_ROI
        || menace_track::find_metric(metric).is_some_and(|metric| metric.range.is_bounded())
}

/// The chart of `synergy_roi` over these cycles.
pub(crate) fn synergy_chart(entries: &[MetricMap]) -> LineChart {
    let roi = entries.iter().map(|entry| entry.get(menace_track::SYNERGY_ROI).copied());
    LineChart::new("synergy_roi over cycles").with_series(ChartSeries::from_values(
        menace_track::SYNERGY_ROI,
        MarkRole::Actual,
        1,
        roi,
    ))
}

/// The chart of the last cycle's synergy metrics that fit one scale.
pub(crate) fn latest_chart(entries: &[MetricMap]) -> ChartDrawing {
    let latest = entries.last().into_iter().flatten();
    let latest: Vec<(String, f64)> = latest
        .filter(|(name, _)| is_bounded(name))
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    draw_bars("The latest synergy values", &latest)
}

/// The weights that match the query, sorted, and whether there are any at all.
pub(crate) fn weight_rows(
    source: &DataSource,
    query: &SynergyQuery,
) -> ServeResult<(Vec<(String, String)>, bool)> {
    let Some(serde_json::Value::Object(weights)) = source.weights()? else {
        return Ok((Vec::new(), false));
    };
    let wanted = query.q.as_deref().unwrap_or_default().to_lowercase();
    let found = weights.into_iter().filter(|(name, _)| name.to_lowercase().contains(&wanted));
    let mut found: Vec<(String, serde_json::Value)> = found.collect();
    let by_name = TableSorting { by: "weight", descending: false };
    let sorting = TableSorting::from_query(
        WEIGHT_COLUMNS,
        by_name,
        query.sort.as_deref(),
        query.dir.as_deref(),
    );
    if sorting.by == "worth" {
        sort_by_number(&mut found, sorting.descending, |(_, value)| value.as_f64());
    } else {
        found.sort_by(|one, other| one.0.cmp(&other.0));
        if sorting.descending {
            found.reverse();
        }
    }
    Ok((found.into_iter().map(|(name, weight)| (name, weight.to_string())).collect(), true))
}

pub(crate) fn synergy_page(source: &DataSource, query: &SynergyQuery) -> ServeResult<SynergyPage> {
    let entries = source.synergy(MAX_CHART_CYCLES)?;
    let names: BTreeSet<&String> = entries.iter().flat_map(|entry| entry.keys()).collect();
    let mut rows: Vec<SynergyPageRow> = names
        .into_iter()
        .map(|name| {
            let values: Vec<f64> =
                entries.iter().filter_map(|entry| entry.get(name).copied()).collect();
            SynergyPageRow {
                name: name.clone(),
                latest: entries.last().and_then(|entry| entry.get(name).copied()),
                mean: values.iter().sum::<f64>() / values.len().max(1) as f64,
                spark: svg(&draw_sparkline(
                    values.into_iter().map(Some),
                    &format!("{name} over cycles"),
                )),
            }
        })
        .collect();
    let by_name = TableSorting { by: "name", descending: false };
    let sorting = TableSorting::from_query(
        SYNERGY_COLUMNS,
        by_name,
        query.sort.as_deref(),
        query.dir.as_deref(),
    );
    let wanted = query.q.as_deref().unwrap_or_default().to_lowercase();
    rows.retain(|row| row.name.to_lowercase().contains(&wanted));
    match sorting.by {
        "name" if sorting.descending => rows.reverse(),
        "name" => {}
        by => sort_by_number(&mut rows, sorting.descending, |row| match by {
            "latest" => row.latest,
            _ => Some(row.mean),
        }),
    }
    let here = PageAddress::new("/synergy")
        .with("q", query.q.as_deref())
        .with("sort", query.sort.as_deref())
        .with("dir", query.dir.as_deref());
    let (weights, has_weights) = weight_rows(source, query)?;
    let by_weight = TableSorting::from_query(
        WEIGHT_COLUMNS,
        TableSorting { by: "", descending: false },
        query.sort.as_deref(),
        query.dir.as_deref(),
    );
    Ok(SynergyPage {
        latest: svg(&latest_chart(&entries)),
        chart: svg(&synergy_chart(&entries).draw()),
        cycles: entries.len(),
        columns: sorting.column_heads(SYNERGY_COLUMNS, &here),
        q: query.q.clone().unwrap_or_default(),
        hidden_fields: here.hidden_fields(&["q"]),
        rows,
        csv: here.at_path("/synergy.csv").href(),
        weights,
        has_weights,
        weight_columns: by_weight.column_heads(WEIGHT_COLUMNS, &here),
        weights_csv: here.at_path("/weights.csv").href(),
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
