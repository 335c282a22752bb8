//! A line in a word's space.

use super::scale::Scale;
use super::{Drawing, Mark, Role};

pub fn spark(values: &[f64], title: &str) -> Drawing {
    let (width, height) = (120.0, 28.0);
    let mut drawing = Drawing::new(width, height, title);
    let values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let Some(last) = values.last() else { return drawing };
    let up = Scale::around(values.iter().copied(), height - 3.0, 3.0);
    let along = Scale::exact(0.0, values.len().saturating_sub(1) as f64, 3.0, width - 4.0);
    let place = |index: usize, value: f64| (along.at(index as f64), up.at(value));
    let points = values.iter().enumerate().map(|(index, value)| place(index, *value)).collect();
    drawing.marks.push(Mark::Line { points, role: Role::Actual });
    let (x, y) = place(values.len() - 1, *last);
    drawing.marks.push(Mark::Dot { x, y, radius: 2.5, role: Role::Actual, title: None });
    drawing
}
