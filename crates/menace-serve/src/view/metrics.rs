//! The metrics of one run, each with its way there.

use menace_store::Run;
use menace_track::Better;
use minijinja::Value;
use serde::Serialize;

use super::svg;
use crate::chart::spark;
use crate::error::Result;
use crate::library::Library;

/// Values on the way to a run, at most.
const WAY: u32 = 60;

#[derive(Debug, Serialize)]
pub(crate) struct MetricTile {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub definition: &'static str,
    pub better: &'static str,
    pub delta: Option<f64>,
    /// `good`, `bad` or nothing.
    pub trend: &'static str,
    pub spark: Value,
}

/// As they were after the last cycle of the run; none when no cycle came to its end.
pub(crate) fn metric_tiles(library: &Library, run: &Run) -> Result<Vec<MetricTile>> {
    let mut tiles = Vec::new();
    for known in menace_track::METRICS {
        let values = library.measured().way_to(known.name, run, WAY)?;
        let Some(value) = values.last().copied().filter(|value| value.is_finite()) else {
            continue;
        };
        let before = values.len().checked_sub(2).map(|index| values[index]);
        let delta = before.map(|before| value - before).filter(|delta| delta.is_finite());
        tiles.push(MetricTile {
            name: known.name,
            value,
            unit: known.unit,
            definition: known.definition,
            better: better(known.better),
            delta,
            trend: trend(known.better, delta),
            spark: svg(&spark(&values, &format!("{} over cycles", known.name))),
        });
    }
    Ok(tiles)
}

pub(crate) fn better(better: Better) -> &'static str {
    match better {
        Better::Up => "more is better",
        Better::Down => "less is better",
        Better::Neither => "neither way is better",
    }
}

/// Whether a change is for the better.
pub(crate) fn trend(better: Better, delta: Option<f64>) -> &'static str {
    match (better, delta) {
        (_, None) | (Better::Neither, _) => "",
        (_, Some(delta)) if delta.abs() < 1e-9 => "",
        (Better::Up, Some(delta)) => {
            if delta > 0.0 {
                "good"
            } else {
                "bad"
            }
        }
        (Better::Down, Some(delta)) => {
            if delta < 0.0 {
                "good"
            } else {
                "bad"
            }
        }
    }
}
