//! Bar charts of positive and negative values, with a name for each bar.

use super::scale::{AxisScale, format_tick};
use super::{ChartDrawing, DrawingMark, MarkRole, TextAnchor};

const ROW_HEIGHT: f64 = 22.0;
const NAME_COLUMN_WIDTH: f64 = 220.0;

pub fn draw_bars(title: &str, values: &[(String, f64)]) -> ChartDrawing {
    let width = 720.0;
    let mut drawing =
        ChartDrawing::new(width, ROW_HEIGHT * values.len().max(1) as f64 + 8.0, title);
    let largest = values.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let along = AxisScale::exact(-largest, largest, NAME_COLUMN_WIDTH + 60.0, width - 60.0);
    let zero = along.position(0.0);
    for (index, (name, value)) in values.iter().enumerate() {
        let y = 4.0 + ROW_HEIGHT * index as f64;
        let end = along.position(*value);
        drawing.add_text(
            NAME_COLUMN_WIDTH,
            y + 15.0,
            TextAnchor::End,
            MarkRole::Label,
            name.as_str(),
        );
        drawing.marks.push(DrawingMark::Rect {
            x: zero.min(end),
            y: y + 4.0,
            width: (end - zero).abs().max(1.0),
            height: ROW_HEIGHT - 8.0,
            role: if *value < 0.0 { MarkRole::Bad } else { MarkRole::Good },
            title: Some(format!("{name}: {value:.4}")),
        });
        let (x, anchor) = if *value < 0.0 {
            (end - 6.0, TextAnchor::End)
        } else {
            (end + 6.0, TextAnchor::Start)
        };
        drawing.add_text(x, y + 15.0, anchor, MarkRole::Label, format_tick(*value));
    }
    let bottom = drawing.height;
    drawing.marks.push(DrawingMark::Line {
        points: vec![(zero, 0.0), (zero, bottom)],
        role: MarkRole::Axis,
    });
    drawing
}
