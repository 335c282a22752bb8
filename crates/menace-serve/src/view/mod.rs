//! The content of pages: plain values made from the data source, which templates lay out.
//!
//! Invariant: strings are text. Only charts are markup, and they escape text in them.

pub(crate) mod compare;
pub(crate) mod decisions;
pub(crate) mod failures;
pub(crate) mod forecasts;
pub(crate) mod heat_map;
pub(crate) mod metrics;
pub(crate) mod modules;
pub(crate) mod paging;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scenarios;
pub(crate) mod section;
pub(crate) mod settings;
pub(crate) mod synergy;
pub(crate) mod table_query;

use minijinja::Value;

use crate::chart::ChartDrawing;

/// A chart in a page.
pub(crate) fn svg(drawing: &ChartDrawing) -> Value {
    Value::from_safe_string(drawing.to_svg())
}
