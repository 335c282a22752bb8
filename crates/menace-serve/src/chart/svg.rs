//! A drawing as part of a page. Colours are the business of the style sheet.

use std::fmt::Write;

use super::{Anchor, Drawing, Mark, Role};
use crate::text::escaped;

pub(super) fn write(drawing: &Drawing) -> String {
    let Drawing { width, height, title, marks } = drawing;
    let mut out = String::new();
    let title = escaped(title);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        r#"<svg class="chart" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-label="{title}">"#
    );
    for mark in marks {
        let _ = match mark {
            Mark::Line { points, role } => {
                write!(out, r#"<polyline class="l {}" points="{}"/>"#, class(*role), places(points))
            }
            Mark::Area { points, role } => {
                write!(out, r#"<polygon class="f {}" points="{}"/>"#, class(*role), places(points))
            }
            Mark::Rect { x, y, width, height, role, title } => write!(
                out,
                r#"<rect class="f {}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}">{}</rect>"#,
                class(*role),
                told(title.as_deref())
            ),
            Mark::Dot { x, y, radius, role, title } => write!(
                out,
                r#"<circle class="f {}" cx="{x:.1}" cy="{y:.1}" r="{radius}">{}</circle>"#,
                class(*role),
                told(title.as_deref())
            ),
            Mark::Text { x, y, text, anchor, role } => write!(
                out,
                r#"<text class="{}" x="{x:.1}" y="{y:.1}" text-anchor="{}">{}</text>"#,
                class(*role),
                match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                },
                escaped(text)
            ),
        };
    }
    out.push_str("</svg>");
    out
}

fn told(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!("<title>{}</title>", escaped(title)))
}

fn places(points: &[(f64, f64)]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (x, y) in points {
        let _ = write!(out, "{x:.1},{y:.1} ");
    }
    out.pop();
    out
}

const HEAT: [&str; 9] = ["c-h0", "c-h1", "c-h2", "c-h3", "c-h4", "c-h5", "c-h6", "c-h7", "c-h8"];

fn class(role: Role) -> &'static str {
    match role {
        Role::Grid => "c-grid",
        Role::Axis => "c-axis",
        Role::Label => "c-label",
        Role::Actual => "c-actual",
        Role::Predicted => "c-predicted",
        Role::Band => "c-band",
        Role::Good => "c-good",
        Role::Refused => "c-refused",
        Role::Bad => "c-bad",
        Role::Worse => "c-worse",
        Role::Quiet => "c-quiet",
        Role::Node => "c-node",
        Role::Orphan => "c-orphan",
        Role::Edge => "c-edge",
        Role::Heat(step) => HEAT[usize::from(step).min(HEAT.len() - 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_become_markup() {
        let mut drawing = Drawing::new(10.0, 10.0, "<script>alert(1)</script>\"");
        drawing.text(0.0, 0.0, Anchor::Start, Role::Label, "</svg><script>");
        let title = Some("<img onerror=x>".to_owned());
        drawing.marks.push(Mark::Dot { x: 0.0, y: 0.0, radius: 1.0, role: Role::Node, title });
        let svg = write(&drawing);
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
        assert!(svg.contains("&lt;script&gt;"), "{svg}");
    }
}
