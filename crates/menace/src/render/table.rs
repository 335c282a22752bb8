//! Tables that fit the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Row, Table, TableStyle};

/// One line below the head; the rows need none between them.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width when the output is no terminal: wide enough for most, narrow enough to read in a log.
const WIDTH_WITHOUT_TERMINAL: u16 = 110;

/// A table with a head; numbers go to the right.
pub(crate) fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(WIDTH_WITHOUT_TERMINAL);
    }
    table.set_header(head.iter().map(Cell::new));
    table
}

pub(crate) fn number(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

pub(crate) fn row(cells: impl IntoIterator<Item = Cell>) -> Row {
    let mut row = Row::from(cells.into_iter().collect::<Vec<_>>());
    row.max_height(1);
    row
}

/// Text out of someone else's files, safe to print: no control characters, bounded length.
///
/// The end of a path says more than its start, so the start is cut.
pub(crate) fn tail(text: &str, width: usize) -> String {
    let clean = printable(text);
    let length = clean.chars().count();
    if length <= width {
        return clean;
    }
    let kept: String = clean.chars().skip(length + 1 - width).collect();
    format!("…{kept}")
}

/// Replaces what a terminal would obey instead of show.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|each| if each.is_control() { '\u{fffd}' } else { each }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_path_is_kept() {
        assert_eq!(tail("pkg/mod.py", 20), "pkg/mod.py");
        assert_eq!(tail("a/very/long/path/mod.py", 10), "…th/mod.py");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }
}
