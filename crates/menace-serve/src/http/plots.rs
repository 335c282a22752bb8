//! The handlers of charts as PNG.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use super::AppState;
use super::response::{respond_blocking, text_response};
use crate::chart::ChartDrawing;
use crate::error::ServeError;
use crate::view::forecasts::{pairs_chart, requested_metric};
use crate::view::run::{SelectedRun, roi_chart, runs_chart};
use crate::view::{modules, section, synergy};

/// The data of a chart.
#[derive(Debug, Default, Deserialize)]
pub(super) struct PlotQuery {
    metric: Option<String>,
    path: Option<String>,
    id: Option<String>,
    run: Option<String>,
}

/// Draws the chart that the file name denotes; there are no such files.
pub(super) async fn plot(
    State(app): AppState,
    Path(name): Path<String>,
    Query(query): Query<PlotQuery>,
) -> Response {
    respond_blocking(move || {
        let source = &app.data_source;
        let metric = requested_metric(query.metric.as_deref());
        let drawing: ChartDrawing = match &*name {
            "predictions.png" => pairs_chart(&*source.history()?, metric).draw(),
            "roi.png" | "metric.png" => roi_chart(source, metric)?.draw(),
            "runs.png" => source.query_existing(runs_chart)?,
            "module.png" => {
                let path = query.path.unwrap_or_default();
                source.query_existing(|store| modules::module_chart(store, &path))?.draw()
            }
            "section.png" => {
                let id = section::parse_section_id(query.id.as_deref())?;
                source.query_existing(|store| section::section_chart(store, &id))?.draw()
            }
            "heat.png" => source
                .query_existing(|store| {
                    source
                        .heat_map(store, &SelectedRun::find_existing(store, query.run.as_deref())?)
                })?
                .draw(),
            "synergy_latest.png" => synergy::latest_chart(&source.synergy(1)?),
            "synergy.png" => {
                synergy::synergy_chart(&source.synergy(synergy::MAX_CHART_CYCLES)?).draw()
            }
            other => {
                return Err(ServeError::NotFound(format!(
                    "there is no plot `{other}`: predictions.png, roi.png, metric.png, runs.png, \
                     module.png, section.png, heat.png, synergy.png or synergy_latest.png"
                )));
            }
        };
        Ok(text_response("image/png", drawing.to_png()))
    })
    .await
}
