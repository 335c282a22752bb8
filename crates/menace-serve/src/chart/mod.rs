//! Charts: data becomes marks, and marks become SVG for pages or PNG for other programs.
//!
//! Invariant: a drawing has no colours, only roles; the SVG and PNG writers give each its colour.

mod bars;
mod font;
mod graph;
mod heat_map;
mod lines;
mod png;
mod raster;
mod scale;
mod spark;
mod strip;
mod svg;

pub use bars::draw_bars;
pub use graph::draw_graph;
pub use heat_map::{HeatMapLine, draw_heat_map};
pub use lines::{ChartSeries, ForecastBand, LineChart};
pub use png::encode;
pub use spark::draw_sparkline;
pub use strip::draw_verdict_strip;

/// The meaning of a mark, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkRole {
    Grid,
    Axis,
    Label,
    Actual,
    Predicted,
    Band,
    Good,
    Refused,
    Bad,
    Worse,
    Muted,
    Node,
    Orphan,
    Edge,
    /// A step from 0, the worst, to 8, the best.
    Heat(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAnchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DrawingMark {
    Line {
        points: Vec<(f64, f64)>,
        role: MarkRole,
    },
    /// Closed.
    Area {
        points: Vec<(f64, f64)>,
        role: MarkRole,
    },
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        role: MarkRole,
        title: Option<String>,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        role: MarkRole,
        title: Option<String>,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
        anchor: TextAnchor,
        role: MarkRole,
    },
}

/// Marks from back to front, in a space of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartDrawing {
    pub width: f64,
    pub height: f64,
    /// A description for screen readers.
    pub title: String,
    pub marks: Vec<DrawingMark>,
}

impl ChartDrawing {
    pub fn new(width: f64, height: f64, title: impl Into<String>) -> Self {
        Self { width, height, title: title.into(), marks: Vec::new() }
    }

    /// Part of a page; text is escaped.
    pub fn to_svg(&self) -> String {
        svg::render_svg(self)
    }

    /// A picture of twice the size.
    pub fn to_png(&self) -> Vec<u8> {
        raster::render_png(self)
    }

    fn add_text(
        &mut self,
        x: f64,
        y: f64,
        anchor: TextAnchor,
        role: MarkRole,
        text: impl Into<String>,
    ) {
        self.marks.push(DrawingMark::Text { x, y, text: text.into(), anchor, role });
    }
}
