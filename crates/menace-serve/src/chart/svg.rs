//! A drawing as part of a page. Colours are the business of the style sheet.

use std::fmt::Write;

use super::{ChartDrawing, DrawingMark, MarkRole, TextAnchor};
use crate::text::escape;

pub(super) fn render_svg(drawing: &ChartDrawing) -> String {
    let ChartDrawing { width, height, title, marks } = drawing;
    let mut out = String::new();
    let title = escape(title);
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" aria-label=\"{title}\">"
    );
    for mark in marks {
        let _ = match mark {
            DrawingMark::Line { points, role } => {
                write!(
                    out,
                    r#"<polyline class="l {}" points="{}"/>"#,
                    css_class(*role),
                    format_points(points)
                )
            }
            DrawingMark::Area { points, role } => {
                write!(
                    out,
                    r#"<polygon class="f {}" points="{}"/>"#,
                    css_class(*role),
                    format_points(points)
                )
            }
            DrawingMark::Rect { x, y, width, height, role, title } => write!(
                out,
                "<rect class=\"f {}\" x=\"{x:.1}\" y=\"{y:.1}\" \
                 width=\"{width:.1}\" height=\"{height:.1}\">{}</rect>",
                css_class(*role),
                title_element(title.as_deref())
            ),
            DrawingMark::Dot { x, y, radius, role, title } => write!(
                out,
                r#"<circle class="f {}" cx="{x:.1}" cy="{y:.1}" r="{radius}">{}</circle>"#,
                css_class(*role),
                title_element(title.as_deref())
            ),
            DrawingMark::Text { x, y, text, anchor, role } => write!(
                out,
                r#"<text class="{}" x="{x:.1}" y="{y:.1}" text-anchor="{}">{}</text>"#,
                css_class(*role),
                match anchor {
                    TextAnchor::Start => "start",
                    TextAnchor::Middle => "middle",
                    TextAnchor::End => "end",
                },
                escape(text)
            ),
        };
    }
    out.push_str("</svg>");
    out
}

fn title_element(title: Option<&str>) -> String {
    title.map_or_else(String::new, |title| format!("<title>{}</title>", escape(title)))
}

fn format_points(points: &[(f64, f64)]) -> String {
    let mut out = String::with_capacity(points.len() * 12);
    for (x, y) in points {
        let _ = write!(out, "{x:.1},{y:.1} ");
    }
    out.pop();
    out
}

const HEAT_CLASSES: [&str; 9] =
    ["c-h0", "c-h1", "c-h2", "c-h3", "c-h4", "c-h5", "c-h6", "c-h7", "c-h8"];

fn css_class(role: MarkRole) -> &'static str {
    match role {
        MarkRole::Grid => "c-grid",
        MarkRole::Axis => "c-axis",
        MarkRole::Label => "c-label",
        MarkRole::Actual => "c-actual",
        MarkRole::Predicted => "c-predicted",
        MarkRole::Band => "c-band",
        MarkRole::Good => "c-good",
        MarkRole::Refused => "c-refused",
        MarkRole::Bad => "c-bad",
        MarkRole::Worse => "c-worse",
        MarkRole::Muted => "c-quiet",
        MarkRole::Node => "c-node",
        MarkRole::Orphan => "c-orphan",
        MarkRole::Edge => "c-edge",
        MarkRole::Heat(step) => HEAT_CLASSES[usize::from(step).min(HEAT_CLASSES.len() - 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_become_markup() {
        let mut drawing = ChartDrawing::new(10.0, 10.0, "<script>alert(1)</script>\"");
        drawing.add_text(0.0, 0.0, TextAnchor::Start, MarkRole::Label, "</svg><script>");
        let title = Some("<img onerror=x>".to_owned());
        drawing.marks.push(DrawingMark::Dot {
            x: 0.0,
            y: 0.0,
            radius: 1.0,
            role: MarkRole::Node,
            title,
        });
        let svg = render_svg(&drawing);
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
        assert!(svg.contains("&lt;script&gt;"), "{svg}");
    }
}
