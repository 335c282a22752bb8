//! Named values to both sides of zero.

use super::scale::{Scale, short};
use super::{Anchor, Drawing, Mark, Role};

const ROW: f64 = 22.0;
const NAMES: f64 = 220.0;

pub fn bars(title: &str, values: &[(String, f64)]) -> Drawing {
    let width = 720.0;
    let mut drawing = Drawing::new(width, ROW * values.len().max(1) as f64 + 8.0, title);
    let largest = values.iter().map(|(_, value)| value.abs()).fold(0.0, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let along = Scale::exact(-largest, largest, NAMES + 60.0, width - 60.0);
    let zero = along.at(0.0);
    for (index, (name, value)) in values.iter().enumerate() {
        let y = 4.0 + ROW * index as f64;
        let end = along.at(*value);
        drawing.text(NAMES, y + 15.0, Anchor::End, Role::Label, name.as_str());
        drawing.marks.push(Mark::Rect {
            x: zero.min(end),
            y: y + 4.0,
            width: (end - zero).abs().max(1.0),
            height: ROW - 8.0,
            role: if *value < 0.0 { Role::Bad } else { Role::Good },
            title: Some(format!("{name}: {value:.4}")),
        });
        let (x, anchor) =
            if *value < 0.0 { (end - 6.0, Anchor::End) } else { (end + 6.0, Anchor::Start) };
        drawing.text(x, y + 15.0, anchor, Role::Label, short(*value));
    }
    let bottom = drawing.height;
    drawing.marks.push(Mark::Line { points: vec![(zero, 0.0), (zero, bottom)], role: Role::Axis });
    drawing
}
