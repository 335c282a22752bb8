//! Draws sparklines: small line charts without axes, for table cells.

use super::scale::AxisScale;
use super::{ChartDrawing, DrawingMark, MarkRole};

/// Draws a sequence of values, without missing ones.
pub fn draw_sparkline(values: impl IntoIterator<Item = Option<f64>>, title: &str) -> ChartDrawing {
    let (width, height) = (120.0, 28.0);
    let mut drawing = ChartDrawing::new(width, height, title);
    let values: Vec<f64> = values.into_iter().flatten().filter(|value| value.is_finite()).collect();
    let Some(last) = values.last() else { return drawing };
    let up = AxisScale::covering(values.iter().copied(), height - 3.0, 3.0);
    let along = AxisScale::exact(0.0, values.len().saturating_sub(1) as f64, 3.0, width - 4.0);
    let place = |index: usize, value: f64| (along.position(index as f64), up.position(value));
    let points = values.iter().enumerate().map(|(index, value)| place(index, *value)).collect();
    drawing.marks.push(DrawingMark::Line { points, role: MarkRole::Actual });
    let (x, y) = place(values.len() - 1, *last);
    drawing.marks.push(DrawingMark::Dot { x, y, radius: 2.5, role: MarkRole::Actual, title: None });
    drawing
}
