//! The metrics of one run, each with its way there.

use menace_store::RunRecord;
use menace_track::MetricDirection;
use minijinja::Value;
use serde::Serialize;

use super::svg;
use crate::chart::draw_sparkline;
use crate::data_source::DataSource;
use crate::error::ServeResult;

/// Values on the way to a run, at most.
const MAX_SPARKLINE_VALUES: u32 = 60;

#[derive(Debug, Serialize)]
pub(crate) struct MetricTile {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub definition: &'static str,
    pub better: &'static str,
    pub delta: Option<f64>,
    /// `good`, `bad`, or empty.
    pub trend: &'static str,
    pub spark: Value,
}

/// The values after the last cycle of the run; empty if no cycle was completed.
pub(crate) fn metric_tiles(source: &DataSource, run: &RunRecord) -> ServeResult<Vec<MetricTile>> {
    let mut tiles = Vec::new();
    for known in menace_track::METRICS {
        let values = source.metrics_db().values_until(known.name, run, MAX_SPARKLINE_VALUES)?;
        let Some(value) = values.last().copied().flatten() else { continue };
        let before = values.len().checked_sub(2).and_then(|index| values[index]);
        let delta = before.map(|before| value - before).filter(|delta| delta.is_finite());
        tiles.push(MetricTile {
            name: known.name,
            value,
            unit: known.unit,
            definition: known.definition,
            better: direction_word(known.direction),
            delta,
            trend: trend_word(known.direction, delta),
            spark: svg(&draw_sparkline(values, &format!("{} over cycles", known.name))),
        });
    }
    Ok(tiles)
}

pub(crate) fn direction_word(better: MetricDirection) -> &'static str {
    match better {
        MetricDirection::Up => "more is better",
        MetricDirection::Down => "less is better",
        MetricDirection::Neither => "neither way is better",
    }
}

/// Whether a change is for the better.
pub(crate) fn trend_word(better: MetricDirection, delta: Option<f64>) -> &'static str {
    match (better, delta) {
        (_, None) | (MetricDirection::Neither, _) => "",
        (_, Some(delta)) if delta.abs() < 1e-9 => "",
        (MetricDirection::Up, Some(delta)) => {
            if delta > 0.0 {
                "good"
            } else {
                "bad"
            }
        }
        (MetricDirection::Down, Some(delta)) => {
            if delta < 0.0 {
                "good"
            } else {
                "bad"
            }
        }
    }
}
