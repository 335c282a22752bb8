//! Charts of pages, as pictures.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use super::App;
use super::answer::{answered, text};
use crate::chart::Drawing;
use crate::error::Error;
use crate::view::forecasts::{metric_of, pairs_chart};
use crate::view::run::{Shown, roi_chart, runs_chart};
use crate::view::{modules, section, synergy};

/// What a chart is of.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    metric: Option<String>,
    path: Option<String>,
    id: Option<String>,
    run: Option<String>,
}

/// By the name of a file that is not there.
pub(super) async fn plot(
    State(app): App,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Response {
    answered(move || {
        let library = &app.library;
        let metric = metric_of(asked.metric.as_deref());
        let drawing: Drawing = match &*name {
            "predictions.png" => pairs_chart(&*library.history()?, metric).draw(),
            "roi.png" | "metric.png" => roi_chart(library, metric)?.draw(),
            "runs.png" => library.must(runs_chart)?,
            "module.png" => {
                let path = asked.path.unwrap_or_default();
                library.must(|store| modules::chart(store, &path))?.draw()
            }
            "section.png" => {
                let id = section::section_of(asked.id.as_deref())?;
                library.must(|store| section::chart(store, &id))?.draw()
            }
            "heat.png" => library
                .must(|store| library.heat(store, &Shown::must(store, asked.run.as_deref())?))?
                .draw(),
            "synergy_latest.png" => synergy::latest_chart(&library.synergy(1)?),
            "synergy.png" => synergy::chart(&library.synergy(synergy::CYCLES)?).draw(),
            other => {
                return Err(Error::Nothing(format!(
                    "there is no plot `{other}`: predictions.png, roi.png, metric.png, runs.png, \
                     module.png, section.png, heat.png, synergy.png or synergy_latest.png"
                )));
            }
        };
        Ok(text("image/png", drawing.png()))
    })
    .await
}
