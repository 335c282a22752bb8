//! Charts: what is to be seen becomes marks, and marks become SVG for pages or PNG for others.
//!
//! Invariant: a drawing has no colours, only roles; who writes it out knows what they look like.

mod bars;
mod font;
mod graph;
mod heat;
mod lines;
mod png;
mod raster;
mod scale;
mod spark;
mod strip;
mod svg;

pub use bars::bars;
pub use graph::graph;
pub use heat::{HeatLine, heat};
pub use lines::{Band, LineChart, Series};
pub use png::encode;
pub use spark::spark;
pub use strip::strip;

/// What a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
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
    Quiet,
    Node,
    Orphan,
    Edge,
    /// From 0, the worst, to 8, the best.
    Heat(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    Line {
        points: Vec<(f64, f64)>,
        role: Role,
    },
    /// Closed.
    Area {
        points: Vec<(f64, f64)>,
        role: Role,
    },
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        role: Role,
        title: Option<String>,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        role: Role,
        title: Option<String>,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
        anchor: Anchor,
        role: Role,
    },
}

/// Marks from back to front, in a space of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    /// What it shows, for those who do not see it.
    pub title: String,
    pub marks: Vec<Mark>,
}

impl Drawing {
    pub fn new(width: f64, height: f64, title: impl Into<String>) -> Self {
        Self { width, height, title: title.into(), marks: Vec::new() }
    }

    /// Part of a page; text is escaped.
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// A picture of twice the size.
    pub fn png(&self) -> Vec<u8> {
        raster::paint(self)
    }

    fn text(&mut self, x: f64, y: f64, anchor: Anchor, role: Role, text: impl Into<String>) {
        self.marks.push(Mark::Text { x, y, text: text.into(), anchor, role });
    }
}
