//! Draws the import graph from left to right: a module before the modules that it imports.

use std::collections::BTreeMap;

use super::{ChartDrawing, DrawingMark, MarkRole, TextAnchor};
use crate::text::format_grouped_count;

const COLUMN_WIDTH: f64 = 200.0;
const ROW_HEIGHT: f64 = 22.0;
/// Larger graphs are unreadable in one picture.
const MAX_GRAPH_NODES: usize = 120;

/// `edges` lead from importer to imported, as places in `nodes`; no module imports an orphan.
pub fn draw_graph(nodes: &[(String, bool)], edges: &[(usize, usize)]) -> Option<ChartDrawing> {
    if nodes.is_empty() || nodes.len() > MAX_GRAPH_NODES {
        return None;
    }
    let depth = compute_depths(nodes.len(), edges);
    let mut columns: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, depth) in depth.iter().enumerate() {
        columns.entry(*depth).or_default().push(node);
    }
    let rows = columns.values().map(Vec::len).max().unwrap_or_default();
    let width = COLUMN_WIDTH * columns.len() as f64 + 20.0;
    let title = format!(
        "Import graph of {} with {}",
        format_grouped_count(nodes.len() as u64, "module"),
        format_grouped_count(edges.len() as u64, "import")
    );
    let mut drawing = ChartDrawing::new(width, ROW_HEIGHT * rows as f64 + 16.0, title);
    let mut places = vec![(0.0, 0.0); nodes.len()];
    for (column, members) in columns.values().enumerate() {
        for (row, node) in members.iter().enumerate() {
            places[*node] = (12.0 + COLUMN_WIDTH * column as f64, 16.0 + ROW_HEIGHT * row as f64);
        }
    }
    for (from, to) in edges {
        let (Some(from), Some(to)) = (places.get(*from), places.get(*to)) else { continue };
        let points = vec![(from.0 + 4.0, from.1), (to.0 - 4.0, to.1)];
        drawing.marks.push(DrawingMark::Line { points, role: MarkRole::Edge });
    }
    for ((name, is_orphan), (x, y)) in nodes.iter().zip(&places) {
        let role = if *is_orphan { MarkRole::Orphan } else { MarkRole::Node };
        let title = Some(name.clone());
        drawing.marks.push(DrawingMark::Dot { x: *x, y: *y, radius: 4.0, role, title });
        drawing.add_text(x + 9.0, y + 4.0, TextAnchor::Start, MarkRole::Label, keep_end(name, 24));
    }
    Some(drawing)
}

/// The longest path from a module that no other imports; cycles are followed once.
fn compute_depths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut depth = vec![0usize; nodes];
    // As many rounds as the longest path has steps; with a cycle, positions would never settle.
    for _ in 0..nodes.min(12) {
        let mut is_at_rest = true;
        for (from, to) in edges {
            let (Some(start), Some(end)) = (depth.get(*from).copied(), depth.get(*to).copied())
            else {
                continue;
            };
            if from != to && end <= start && start < 11 {
                depth[*to] = start + 1;
                is_at_rest = false;
            }
        }
        if is_at_rest {
            break;
        }
    }
    depth
}

fn keep_end(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    format!("…{}", name.chars().skip(length + 1 - most).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn importers_come_before_what_they_import() {
        assert_eq!(compute_depths(3, &[(0, 1), (1, 2), (0, 2)]), [0, 1, 2]);
    }

    #[test]
    fn circles_come_to_an_end() {
        assert!(compute_depths(2, &[(0, 1), (1, 0)]).iter().all(|depth| *depth <= 11));
    }
}
