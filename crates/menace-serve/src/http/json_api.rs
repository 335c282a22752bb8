//! Numbers for programs, at the addresses that are documented for them.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::AppState;
use super::response::{json_response as as_json, respond_blocking, text_response};
use crate::error::ServeError;
use crate::history::ListTail;
use crate::prometheus;
use crate::view::forecasts::requested_metric;

/// Changes of ROI, and forecasts of ROI with the actual values.
pub(super) async fn roi(State(app): AppState) -> Response {
    respond_blocking(move || {
        let history = app.data_source.history()?;
        let pairs = history.pairs(None);
        Ok(as_json(&json!({
            "roi": history.roi_history.values,
            "deltas": history.roi_deltas.values,
            "predicted": pairs.predicted,
            "actual": pairs.actual,
            "mean_error": pairs.mean_absolute_error(),
        })))
    })
    .await
}

/// All the data that charts are made from.
pub(super) async fn roi_data(State(app): AppState) -> Response {
    respond_blocking(move || {
        let history = app.data_source.history()?;
        let lists = |lists: &BTreeMap<String, ListTail>| {
            let lists = lists.iter().map(|(name, tail)| (name.clone(), json!(tail.values)));
            lists.collect::<serde_json::Map<_, _>>()
        };
        Ok(as_json(&json!({
            "cycles": history.cycles,
            "first_cycle": history.roi_history.first_cycle(),
            "roi": history.roi_history.values,
            "raroi": history.raroi_history.values,
            "deltas": history.roi_deltas.values,
            "scenarios": lists(&history.scenario_roi),
            "modules": lists(&history.module_deltas),
            "forecast": app.data_source.forecast(None)?,
        })))
    })
    .await
}

/// A metric over cycles: its values, and forecasts with the actual values.
pub(super) async fn metric(State(app): AppState, Path(name): Path<String>) -> Response {
    respond_blocking(move || {
        let history = app.data_source.history()?;
        let metric = requested_metric(Some(&name));
        if metric.is_some_and(|metric| !history.has_metric(metric)) {
            return Err(ServeError::NotFound(format!("no metric `{name}` was ever recorded")));
        }
        // A documented metric may have no values yet.
        let none = ListTail::default();
        let tail = history.series(metric).unwrap_or(&none);
        let pairs = history.pairs(metric);
        Ok(as_json(&json!({
            "name": name,
            "first_cycle": tail.first_cycle(),
            "values": tail.values,
            "predicted": pairs.predicted,
            "actual": pairs.actual,
            "mean_error": pairs.mean_absolute_error(),
        })))
    })
    .await
}

/// The synergy weights that training has stored; empty before that.
pub(super) async fn weights(State(app): AppState) -> Response {
    respond_blocking(move || Ok(as_json(&app.data_source.weights()?.unwrap_or_else(|| json!({})))))
        .await
}

pub(super) async fn prometheus(State(app): AppState) -> Response {
    respond_blocking(move || {
        let made = prometheus::collect_all(&app.data_source)?;
        Ok(text_response(prometheus::CONTENT_TYPE, made))
    })
    .await
}
