//! Who imports whom, from left to right: importers before what they import.

use std::collections::BTreeMap;

use super::{Anchor, Drawing, Mark, Role};
use crate::text::counted;

const COLUMN: f64 = 200.0;
const ROW: f64 = 22.0;
/// More cannot be read in one picture.
const MOST: usize = 120;

/// `edges` lead from importer to imported, as places in `nodes`; an orphan is imported by nobody.
pub fn graph(nodes: &[(String, bool)], edges: &[(usize, usize)]) -> Option<Drawing> {
    if nodes.is_empty() || nodes.len() > MOST {
        return None;
    }
    let depth = depths(nodes.len(), edges);
    let mut columns: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, depth) in depth.iter().enumerate() {
        columns.entry(*depth).or_default().push(node);
    }
    let rows = columns.values().map(Vec::len).max().unwrap_or_default();
    let width = COLUMN * columns.len() as f64 + 20.0;
    let title = format!(
        "Import graph of {} with {}",
        counted(nodes.len() as u64, "module"),
        counted(edges.len() as u64, "import")
    );
    let mut drawing = Drawing::new(width, ROW * rows as f64 + 16.0, title);
    let mut places = vec![(0.0, 0.0); nodes.len()];
    for (column, members) in columns.values().enumerate() {
        for (row, node) in members.iter().enumerate() {
            places[*node] = (12.0 + COLUMN * column as f64, 16.0 + ROW * row as f64);
        }
    }
    for (from, to) in edges {
        let (Some(from), Some(to)) = (places.get(*from), places.get(*to)) else { continue };
        let points = vec![(from.0 + 4.0, from.1), (to.0 - 4.0, to.1)];
        drawing.marks.push(Mark::Line { points, role: Role::Edge });
    }
    for ((name, is_orphan), (x, y)) in nodes.iter().zip(&places) {
        let role = if *is_orphan { Role::Orphan } else { Role::Node };
        let title = Some(name.clone());
        drawing.marks.push(Mark::Dot { x: *x, y: *y, radius: 4.0, role, title });
        drawing.text(x + 9.0, y + 4.0, Anchor::Start, Role::Label, end_of(name, 24));
    }
    Some(drawing)
}

/// The longest way from somebody whom nobody imports; circles are followed once.
fn depths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut depth = vec![0usize; nodes];
    // As many rounds as the longest way has steps; a circle would never come to rest.
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

fn end_of(name: &str, most: usize) -> String {
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
        assert_eq!(depths(3, &[(0, 1), (1, 2), (0, 2)]), [0, 1, 2]);
    }

    #[test]
    fn circles_come_to_an_end() {
        assert!(depths(2, &[(0, 1), (1, 0)]).iter().all(|depth| *depth <= 11));
    }
}
