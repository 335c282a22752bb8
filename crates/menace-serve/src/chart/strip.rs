//! How calls ended, in one bar: a part for each verdict.

use super::{Drawing, Mark, Role};

/// How bad a verdict is.
fn role(verdict: &str) -> Role {
    match verdict {
        "returned" => Role::Good,
        "refused" => Role::Refused,
        "raised" => Role::Bad,
        "unreachable" => Role::Quiet,
        _ => Role::Worse,
    }
}

pub fn strip(verdicts: &[(String, u64)]) -> Drawing {
    let (width, height) = (720.0, 22.0);
    let told: Vec<String> = verdicts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", verdict.replace('_', " ")))
        .collect();
    let mut drawing = Drawing::new(width, height, format!("How calls ended: {}", told.join(", ")));
    let all: u64 = verdicts.iter().map(|(_, count)| count).sum();
    let mut x = 0.0;
    for ((verdict, count), told) in verdicts.iter().zip(told) {
        let part = width * *count as f64 / all.max(1) as f64;
        drawing.marks.push(Mark::Rect {
            x,
            y: 0.0,
            // Something that happened is seen, however seldom.
            width: if *count > 0 { part.max(1.5) } else { 0.0 },
            height,
            role: role(verdict),
            title: Some(told),
        });
        x += part;
    }
    drawing
}
