//! Heat maps: a coloured cell for each pair of row name and column name.

use super::scale::format_tick;
use super::{ChartDrawing, DrawingMark, MarkRole, TextAnchor};
use crate::text::truncate;

const ROW_HEIGHT: f64 = 20.0;
const COLUMN_WIDTH: f64 = 48.0;
/// The height of a column head's line. Each head has a line of its own, so that long names do not
/// overlap.
const HEAD_LINE_HEIGHT: f64 = 13.0;
const LETTER_WIDTH: f64 = 6.0;
/// The most characters of a name that are drawn.
const MAX_NAME_CHARS: usize = 60;

/// A name, and under each column its value and its colour.
pub type HeatMapLine<'a> = (&'a str, Vec<Option<(f64, u8)>>);

pub fn draw_heat_map(title: &str, columns: &[String], lines: &[HeatMapLine<'_>]) -> ChartDrawing {
    let long = |name: &str| LETTER_WIDTH * name.chars().count().min(MAX_NAME_CHARS + 1) as f64;
    let names = lines.iter().map(|(name, _)| long(name)).fold(0.0, f64::max) + 12.0;
    let at = |column: usize| names + COLUMN_WIDTH * column as f64;
    let top = HEAD_LINE_HEIGHT * columns.len() as f64 + 10.0;
    let ends = columns.iter().enumerate().map(|(column, name)| at(column) + long(name) + 12.0);
    let width = ends.fold(at(columns.len()) + 8.0, f64::max);
    let height = top + ROW_HEIGHT * lines.len() as f64 + 8.0;
    if lines.is_empty() {
        let mut empty = ChartDrawing::new(720.0, 60.0, title);
        empty.add_text(
            360.0,
            32.0,
            TextAnchor::Middle,
            MarkRole::Label,
            "nothing was recorded yet",
        );
        return empty;
    }
    let mut drawing = ChartDrawing::new(width, height, title);
    for (column, name) in columns.iter().enumerate() {
        let (x, y) = (at(column) + 4.0, HEAD_LINE_HEIGHT * (column + 1) as f64);
        drawing
            .marks
            .push(DrawingMark::Line { points: vec![(x, y + 2.0), (x, top)], role: MarkRole::Grid });
        drawing.add_text(x, y, TextAnchor::Start, MarkRole::Label, truncate(name, MAX_NAME_CHARS));
    }
    for (row, (name, cells)) in lines.iter().enumerate() {
        let y = top + ROW_HEIGHT * row as f64;
        drawing.add_text(
            names - 8.0,
            y + 13.0,
            TextAnchor::End,
            MarkRole::Label,
            truncate(name, MAX_NAME_CHARS),
        );
        for (column, cell) in cells.iter().enumerate() {
            let Some((value, step)) = cell else { continue };
            drawing.marks.push(DrawingMark::Rect {
                x: at(column) + 1.0,
                y: y + 1.0,
                width: COLUMN_WIDTH - 2.0,
                height: ROW_HEIGHT - 2.0,
                role: MarkRole::Heat(*step),
                title: columns.get(column).map(|under| format!("{name}, {under}: {value:.4}")),
            });
            let (x, y) = (at(column) + COLUMN_WIDTH / 2.0, y + 13.0);
            drawing.add_text(
                x,
                y,
                TextAnchor::Middle,
                MarkRole::Label,
                format_tick((value * 1e3).round() / 1e3),
            );
        }
    }
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_do_not_run_into_each_other_and_nothing_is_outside() {
        let columns = ["normal", "a scenario whose name is long"].map(str::to_owned);
        let lines = [("shop/cart.py", vec![Some((0.25, 0)), None])];
        let drawing = draw_heat_map("", &columns, &lines);
        let mut heights = Vec::new();
        for mark in &drawing.marks {
            let DrawingMark::Text { x, y, text, anchor: TextAnchor::Start, .. } = mark else {
                continue;
            };
            assert!(x + LETTER_WIDTH * text.chars().count() as f64 <= drawing.width, "{text}");
            heights.push(*y);
        }
        assert_eq!(heights.len(), 2);
        assert!(heights[1] - heights[0] >= 7.0, "letters are that high");
        let cells = drawing.marks.iter().filter(|mark| matches!(mark, DrawingMark::Rect { .. }));
        assert_eq!(cells.count(), 1, "what was not called has no colour");
    }
}
