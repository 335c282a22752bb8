//! Forecasts against what came, and where numbers lead.

use std::collections::BTreeSet;

use menace_track::stats::forecast::Method;
use minijinja::Value;
use serde::Serialize;

use super::paging::{Column, Here, Sorting, by_number};
use super::run::roi_chart;
use super::svg;
use crate::chart::{LineChart, Role, Series};
use crate::error::{Error, Result};
use crate::history::{History, Tail};
use crate::library::Library;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub metric: Option<String>,
    pub q: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

impl Asked {
    pub(crate) fn here(&self) -> Here {
        Here::new("/forecasts")
            .with("metric", self.metric.as_deref())
            .with("q", self.q.as_deref())
            .with("sort", self.sort.as_deref())
            .with("dir", self.dir.as_deref())
    }
}

const COLUMNS: &[(&str, &str, bool)] = &[
    ("name", "What", false),
    ("latest", "Latest", true),
    ("predicted", "Predicted last", true),
    ("actual", "Came", true),
    ("error", "Mean error", true),
    ("count", "Forecasts", true),
];

#[derive(Debug, Serialize)]
pub(crate) struct Forecasts {
    /// Empty for ROI.
    pub metric: String,
    pub name: String,
    pub columns: Vec<Column>,
    pub rows: Vec<ForecastRow>,
    pub trend: Value,
    pub pairs: Value,
    pub trend_png: String,
    pub pairs_png: String,
    pub pairs_csv: String,
    pub csv: String,
    pub next: Option<Next>,
    pub error: Option<f64>,
    pub q: String,
    pub kept: Vec<(String, String)>,
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
pub(crate) struct Next {
    pub mean: f64,
    pub interval: Option<(f64, f64)>,
    pub confidence: f64,
    pub method: String,
    pub samples: usize,
}

/// Nothing for ROI.
pub(crate) fn metric_of(asked: Option<&str>) -> Option<&str> {
    asked.filter(|metric| !metric.is_empty() && !metric.eq_ignore_ascii_case("roi"))
}

/// Predicted and actual, in one chart.
pub(crate) fn pairs_chart(history: &History, metric: Option<&str>) -> LineChart {
    let pairs = history.pairs(metric);
    let name = metric.unwrap_or("ROI");
    LineChart::new(format!("{name}: predicted and actual"))
        .with(Series::from("actual", Role::Actual, pairs.first, &pairs.actual))
        .with(Series::from("predicted", Role::Predicted, pairs.first, &pairs.predicted))
}

/// Every number that has a history or forecasts and fits what was asked for, sorted.
pub(crate) fn rows(history: &History, asked: &Asked, here: &Here) -> (Vec<ForecastRow>, Sorting) {
    let by_name = Sorting { by: "name", descending: false };
    let sorting = Sorting::of(COLUMNS, by_name, asked.sort.as_deref(), asked.dir.as_deref());
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    let names: BTreeSet<&String> = history.named().collect();
    let names = std::iter::once(None).chain(names.into_iter().map(Some));
    let mut rows: Vec<ForecastRow> = names
        .map(|name| {
            let pairs = history.pairs(name.map(String::as_str));
            let shown = name.map_or("ROI", String::as_str);
            let here = here.clone().with("metric", Some(shown));
            ForecastRow {
                name: shown.to_owned(),
                href: here.href(),
                latest: history.series(name.map(String::as_str)).and_then(Tail::last),
                predicted: pairs.predicted.last().copied(),
                actual: pairs.actual.last().copied(),
                error: pairs.error(),
                count: pairs.first.saturating_sub(1) + pairs.actual.len(),
            }
        })
        .filter(|row| row.name.to_lowercase().contains(&wanted))
        .collect();
    match sorting.by {
        "name" if sorting.descending => rows.reverse(),
        "name" => {}
        by => by_number(&mut rows, sorting.descending, |row| match by {
            "latest" => row.latest,
            "predicted" => row.predicted,
            "actual" => row.actual,
            "error" => row.error,
            _ => Some(row.count as f64),
        }),
    }
    (rows, sorting)
}

pub(crate) fn forecasts(library: &Library, asked: &Asked) -> Result<Forecasts> {
    let history = library.history()?;
    let metric = metric_of(asked.metric.as_deref());
    if let Some(name) = metric
        && !history.knows(name)
    {
        return Err(Error::Nothing(format!("no metric `{name}` was ever recorded")));
    }
    let here = asked.here();
    let (rows, sorting) = rows(&history, asked, &here);
    let next = library.forecast(metric)?.and_then(|forecast| {
        let point = forecast.points.first()?;
        Some(Next {
            mean: point.mean,
            interval: point.interval,
            confidence: forecast.confidence,
            method: method(forecast.method),
            samples: forecast.samples,
        })
    });
    let of_metric = Here::new("/forecasts").with("metric", metric);
    Ok(Forecasts {
        metric: metric.unwrap_or_default().to_owned(),
        name: metric.unwrap_or("ROI").to_owned(),
        columns: sorting.heads(COLUMNS, &here),
        rows,
        trend: svg(&roi_chart(library, metric)?.draw()),
        pairs: svg(&pairs_chart(&history, metric).draw()),
        trend_png: of_metric.at("/plots/metric.png").href(),
        pairs_png: of_metric.at("/plots/predictions.png").href(),
        pairs_csv: of_metric.at("/forecasts.csv").href(),
        csv: here.at("/forecast_errors.csv").href(),
        next,
        error: history.pairs(metric).error(),
        q: asked.q.clone().unwrap_or_default(),
        kept: here.kept(&["q"]),
    })
}

fn method(method: Method) -> String {
    match method {
        Method::Mean => "the mean of few values".to_owned(),
        Method::Constant => "all values were the same".to_owned(),
        Method::Line => "a line of least squares".to_owned(),
        Method::Smoothing => "exponential smoothing".to_owned(),
        Method::Arima(order) => format!("ARIMA {order:?}"),
    }
}
