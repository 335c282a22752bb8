//! Values as colours: one row for each name, one column for each of the others.

use super::scale::short;
use super::{Anchor, Drawing, Mark, Role};
use crate::text::cut;

const ROW: f64 = 20.0;
const COLUMN: f64 = 48.0;
/// Of a head: each has a line of its own, so that long names do not run into each other.
const LINE: f64 = 13.0;
const LETTER: f64 = 6.0;
/// Letters of a name that are drawn.
const LETTERS: usize = 60;

/// A name, and under each column its value and its colour.
pub type HeatLine<'a> = (&'a str, Vec<Option<(f64, u8)>>);

pub fn heat(title: &str, columns: &[String], lines: &[HeatLine<'_>]) -> Drawing {
    let long = |name: &str| LETTER * name.chars().count().min(LETTERS + 1) as f64;
    let names = lines.iter().map(|(name, _)| long(name)).fold(0.0, f64::max) + 12.0;
    let at = |column: usize| names + COLUMN * column as f64;
    let top = LINE * columns.len() as f64 + 10.0;
    let ends = columns.iter().enumerate().map(|(column, name)| at(column) + long(name) + 12.0);
    let width = ends.fold(at(columns.len()) + 8.0, f64::max);
    let height = top + ROW * lines.len() as f64 + 8.0;
    if lines.is_empty() {
        let mut empty = Drawing::new(720.0, 60.0, title);
        empty.text(360.0, 32.0, Anchor::Middle, Role::Label, "nothing was recorded yet");
        return empty;
    }
    let mut drawing = Drawing::new(width, height, title);
    for (column, name) in columns.iter().enumerate() {
        let (x, y) = (at(column) + 4.0, LINE * (column + 1) as f64);
        drawing.marks.push(Mark::Line { points: vec![(x, y + 2.0), (x, top)], role: Role::Grid });
        drawing.text(x, y, Anchor::Start, Role::Label, cut(name, LETTERS));
    }
    for (row, (name, cells)) in lines.iter().enumerate() {
        let y = top + ROW * row as f64;
        drawing.text(names - 8.0, y + 13.0, Anchor::End, Role::Label, cut(name, LETTERS));
        for (column, cell) in cells.iter().enumerate() {
            let Some((value, step)) = cell else { continue };
            drawing.marks.push(Mark::Rect {
                x: at(column) + 1.0,
                y: y + 1.0,
                width: COLUMN - 2.0,
                height: ROW - 2.0,
                role: Role::Heat(*step),
                title: columns.get(column).map(|under| format!("{name}, {under}: {value:.4}")),
            });
            let (x, y) = (at(column) + COLUMN / 2.0, y + 13.0);
            drawing.text(x, y, Anchor::Middle, Role::Label, short((value * 1e3).round() / 1e3));
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
        let drawing = heat("", &columns, &lines);
        let mut heights = Vec::new();
        for mark in &drawing.marks {
            let Mark::Text { x, y, text, anchor: Anchor::Start, .. } = mark else { continue };
            assert!(x + LETTER * text.chars().count() as f64 <= drawing.width, "{text}");
            heights.push(*y);
        }
        assert_eq!(heights.len(), 2);
        assert!(heights[1] - heights[0] >= 7.0, "letters are that high");
        let cells = drawing.marks.iter().filter(|mark| matches!(mark, Mark::Rect { .. }));
        assert_eq!(cells.count(), 1, "what was not called has no colour");
    }
}
