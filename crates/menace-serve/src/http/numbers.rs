//! Numbers for programs, at the addresses that are documented for them.

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::App;
use super::answer::{answered, json as as_json, text};
use crate::error::Error;
use crate::history::Tail;
use crate::prometheus;
use crate::view::forecasts::metric_of;

/// What is not a number is nothing in JSON.
fn numbers(values: &[f64]) -> serde_json::Value {
    values.iter().map(|value| json!(value.is_finite().then_some(*value))).collect()
}

/// Changes of ROI, and forecasts of ROI with what came of them.
pub(super) async fn roi(State(app): App) -> Response {
    answered(move || {
        let history = app.library.history()?;
        let pairs = history.pairs(None);
        Ok(as_json(&json!({
            "roi": numbers(&history.roi_history.values),
            "deltas": numbers(&history.roi_deltas.values),
            "predicted": numbers(&pairs.predicted),
            "actual": numbers(&pairs.actual),
            "mean_error": pairs.error(),
        })))
    })
    .await
}

/// All of what charts are made of.
pub(super) async fn roi_data(State(app): App) -> Response {
    answered(move || {
        let history = app.library.history()?;
        let lists = |lists: &std::collections::BTreeMap<String, crate::history::Tail>| {
            lists
                .iter()
                .map(|(name, tail)| (name.clone(), numbers(&tail.values)))
                .collect::<serde_json::Map<_, _>>()
        };
        Ok(as_json(&json!({
            "cycles": history.cycles,
            "first_cycle": history.roi_history.first(),
            "roi": numbers(&history.roi_history.values),
            "raroi": numbers(&history.raroi_history.values),
            "deltas": numbers(&history.roi_deltas.values),
            "scenarios": lists(&history.scenario_roi),
            "modules": lists(&history.module_deltas),
            "forecast": app.library.forecast(None)?,
        })))
    })
    .await
}

/// A metric through cycles: its values, and forecasts with what came of them.
pub(super) async fn metric(State(app): App, Path(name): Path<String>) -> Response {
    answered(move || {
        let history = app.library.history()?;
        let metric = metric_of(Some(&name));
        if metric.is_some_and(|metric| !history.knows(metric)) {
            return Err(Error::Nothing(format!("no metric `{name}` was ever recorded")));
        }
        // One that is documented may have no values yet.
        let none = Tail::default();
        let tail = history.series(metric).unwrap_or(&none);
        let pairs = history.pairs(metric);
        Ok(as_json(&json!({
            "name": name,
            "first_cycle": tail.first(),
            "values": numbers(&tail.values),
            "predicted": numbers(&pairs.predicted),
            "actual": numbers(&pairs.actual),
            "mean_error": pairs.error(),
        })))
    })
    .await
}

/// What training has made of synergy; empty before it did.
pub(super) async fn weights(State(app): App) -> Response {
    answered(move || Ok(as_json(&app.library.weights()?.unwrap_or_else(|| json!({}))))).await
}

pub(super) async fn prometheus(State(app): App) -> Response {
    answered(move || {
        let made = prometheus::everything(&app.library)?;
        Ok(text(prometheus::CONTENT_TYPE, made))
    })
    .await
}
