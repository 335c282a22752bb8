//! Compares forecasts with actual values, and shows the next ones.

use std::collections::BTreeSet;

use menace_track::stats::forecast::ForecastMethod;
use minijinja::Value;
use serde::Serialize;

use super::paging::{PageAddress, SortableColumn, TableSorting, sort_by_number};
use super::run::roi_chart;
use super::svg;
use crate::chart::{ChartSeries, LineChart, MarkRole};
use crate::data_source::DataSource;
use crate::error::{ServeError, ServeResult};
use crate::history::{ListTail, RoiHistoryView};

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct ForecastsQuery {
    pub metric: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

impl ForecastsQuery {
    pub(crate) fn page_address(&self) -> PageAddress {
        PageAddress::new("/forecasts")
            .with("metric", self.metric.as_deref())
            .with("q", self.q.as_deref())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }
}

const FORECAST_COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "What", false),
    ("latest", "Latest", true),
    ("predicted", "Predicted last", true),
    ("actual", "Came", true),
    ("error", "Mean error", true),
    ("count", "Forecasts", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct ForecastsPage {
    /// Empty for ROI.
    pub metric: String,
    pub name: String,
    pub columns: Vec<SortableColumn>,
    pub rows: Vec<ForecastRow>,
    pub trend: Value,
    pub pairs: Value,
    pub trend_png: String,
    pub pairs_png: String,
    pub pairs_csv: String,
    pub csv: String,
    pub next: Option<NextForecast>,
    pub error: Option<f64>,
    pub q: String,
    pub hidden_fields: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ForecastRow {
    pub name: String,
    pub href: String,
    pub latest: Option<f64>,
    pub predicted: Option<f64>,
    pub actual: Option<f64>,
    pub error: Option<f64>,
    pub count: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct NextForecast {
    pub mean: f64,
    pub interval: Option<(f64, f64)>,
    pub confidence: f64,
    pub method: String,
    pub samples: usize,
}

/// `None` for ROI.
pub(crate) fn requested_metric(metric: Option<&str>) -> Option<&str> {
    metric.filter(|metric| !metric.is_empty() && !metric.eq_ignore_ascii_case("roi"))
}

/// Predicted and actual, in one chart.
pub(crate) fn pairs_chart(history: &RoiHistoryView, metric: Option<&str>) -> LineChart {
    let pairs = history.pairs(metric);
    let name = metric.unwrap_or("ROI");
    LineChart::new(format!("{name}: predicted and actual"))
        .with_series(ChartSeries::from_values(
            "actual",
            MarkRole::Actual,
            pairs.first,
            pairs.actual,
        ))
        .with_series(ChartSeries::from_values(
            "predicted",
            MarkRole::Predicted,
            pairs.first,
            pairs.predicted,
        ))
}

/// Every value with a history or forecasts that matches the query, sorted.
pub(crate) fn forecast_rows(
    history: &RoiHistoryView,
    query: &ForecastsQuery,
    here: &PageAddress,
) -> (Vec<ForecastRow>, TableSorting) {
    let by_name = TableSorting { by: "name", descending: false };
    let sorting = TableSorting::from_query(
        FORECAST_COLUMNS,
        by_name,
        query.sort.as_deref(),
        query.dir.as_deref(),
    );
    let wanted = query.q.as_deref().unwrap_or_default().to_lowercase();
    let names: BTreeSet<&String> = history.metric_names().collect();
    let names = std::iter::once(None).chain(names.into_iter().map(Some));
    let mut rows: Vec<ForecastRow> = names
        .map(|name| {
            let pairs = history.pairs(name.map(String::as_str));
            let shown = name.map_or("ROI", String::as_str);
            let here = here.clone().with("metric", Some(shown));
            ForecastRow {
                name: shown.to_owned(),
                href: here.href(),
                latest: history.series(name.map(String::as_str)).and_then(ListTail::last),
                predicted: pairs.predicted.last().copied().flatten(),
                actual: pairs.actual.last().copied().flatten(),
                error: pairs.mean_absolute_error(),
                count: pairs.first.saturating_sub(1) + pairs.actual.len(),
            }
        })
        .filter(|row| row.name.to_lowercase().contains(&wanted))
        .collect();
    match sorting.by {
        "name" if sorting.descending => rows.reverse(),
        "name" => {}
        by => sort_by_number(&mut rows, sorting.descending, |row| match by {
            "latest" => row.latest,
            "predicted" => row.predicted,
            "actual" => row.actual,
            "error" => row.error,
            _ => Some(row.count as f64),
        }),
    }
    (rows, sorting)
}

pub(crate) fn forecasts_page(
    source: &DataSource,
    query: &ForecastsQuery,
) -> ServeResult<ForecastsPage> {
    let history = source.history()?;
    let metric = requested_metric(query.metric.as_deref());
    if let Some(name) = metric
        && !history.has_metric(name)
    {
        return Err(ServeError::NotFound(format!("no metric `{name}` was ever recorded")));
    }
    let here = query.page_address();
    let (rows, sorting) = forecast_rows(&history, query, &here);
    let next = source.forecast(metric)?.and_then(|forecast| {
        let point = forecast.points.first()?;
        Some(NextForecast {
            mean: point.mean,
            interval: point.interval,
            confidence: forecast.confidence,
            method: method_name(forecast.method),
            samples: forecast.samples,
        })
    });
    let of_metric = PageAddress::new("/forecasts").with("metric", metric);
    Ok(ForecastsPage {
        metric: metric.unwrap_or_default().to_owned(),
        name: metric.unwrap_or("ROI").to_owned(),
        columns: sorting.column_heads(FORECAST_COLUMNS, &here),
        rows,
        trend: svg(&roi_chart(source, metric)?.draw()),
        pairs: svg(&pairs_chart(&history, metric).draw()),
        trend_png: of_metric.at_path("/plots/metric.png").href(),
        pairs_png: of_metric.at_path("/plots/predictions.png").href(),
        pairs_csv: of_metric.at_path("/forecasts.csv").href(),
        csv: here.at_path("/forecast_errors.csv").href(),
        next,
        error: history.pairs(metric).mean_absolute_error(),
        q: query.q.clone().unwrap_or_default(),
        hidden_fields: here.hidden_fields(&["q"]),
    })
}

fn method_name(method: ForecastMethod) -> String {
    match method {
        ForecastMethod::Mean => "the mean of few values".to_owned(),
        ForecastMethod::Constant => "all values were the same".to_owned(),
        ForecastMethod::Line => "a line of least squares".to_owned(),
        ForecastMethod::Smoothing => "exponential smoothing".to_owned(),
        ForecastMethod::Arima(order) => format!("ARIMA {order:?}"),
    }
}
