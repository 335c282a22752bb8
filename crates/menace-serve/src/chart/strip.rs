//! A bar that is divided into verdicts by their share of the calls.

use super::{ChartDrawing, DrawingMark, MarkRole};

/// How bad a verdict is.
fn role_of_verdict(verdict: &str) -> MarkRole {
    match verdict {
        "returned" => MarkRole::Good,
        "refused" => MarkRole::Refused,
        "raised" => MarkRole::Bad,
        "unreachable" => MarkRole::Muted,
        _ => MarkRole::Worse,
    }
}

pub fn draw_verdict_strip(verdicts: &[(String, u64)]) -> ChartDrawing {
    let (width, height) = (720.0, 22.0);
    let labels: Vec<String> = verdicts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", verdict.replace('_', " ")))
        .collect();
    let mut drawing =
        ChartDrawing::new(width, height, format!("How calls ended: {}", labels.join(", ")));
    let all: u64 = verdicts.iter().map(|(_, count)| count).sum();
    let mut x = 0.0;
    for ((verdict, count), label) in verdicts.iter().zip(labels) {
        let part = width * *count as f64 / all.max(1) as f64;
        drawing.marks.push(DrawingMark::Rect {
            x,
            y: 0.0,
            // A verdict that occurred stays visible, however rare it is.
            width: if *count > 0 { part.max(1.5) } else { 0.0 },
            height,
            role: role_of_verdict(verdict),
            title: Some(label),
        });
        x += part;
    }
    drawing
}
