//! Tables that fit the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Row, Table, TableStyle};

/// One line below the header, and none between rows.
const TABLE_STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width when the output is no terminal: wide enough for most, narrow enough to read in a log.
const WIDTH_WITHOUT_TERMINAL: u16 = 110;

/// The width assumed for a terminal that reports none, like a serial console.
const DEFAULT_TERMINAL_WIDTH: u16 = 80;

/// A table with a head; numbers go to the right.
pub(crate) fn new_table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(TABLE_STYLE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = override_width(table.is_tty(), table.width()) {
        table.set_width(width);
    }
    table.set_header(head.iter().map(Cell::new));
    table
}

/// The width to use where the terminal's own will not do.
fn override_width(is_terminal: bool, reported: Option<u16>) -> Option<u16> {
    if !is_terminal {
        return Some(WIDTH_WITHOUT_TERMINAL);
    }
    (reported.unwrap_or(0) == 0).then_some(DEFAULT_TERMINAL_WIDTH)
}

pub(crate) fn number_cell(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

pub(crate) fn new_row(cells: impl IntoIterator<Item = Cell>) -> Row {
    let mut row = Row::from(cells.into_iter().collect::<Vec<_>>());
    row.max_height(1);
    row
}

/// Text of untrusted files for display: without control characters, and of bounded length.
///
/// The end of a path is more specific than its start, so the start is cut.
pub(crate) fn keep_end(text: &str, width: usize) -> String {
    let clean = escape_for_terminal(text);
    let length = clean.chars().count();
    if length <= width {
        return clean;
    }
    let kept: String = clean.chars().skip(length + 1 - width).collect();
    format!("…{kept}")
}

/// Escapes characters that a terminal would interpret.
pub(crate) use menace_model::escape_for_terminal;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_path_is_kept() {
        assert_eq!(keep_end("pkg/mod.py", 20), "pkg/mod.py");
        assert_eq!(keep_end("a/very/long/path/mod.py", 10), "…th/mod.py");
    }

    #[test]
    fn a_terminal_that_does_not_tell_its_width_has_the_usual_one() {
        assert_eq!(override_width(true, Some(0)), Some(DEFAULT_TERMINAL_WIDTH));
        assert_eq!(override_width(true, Some(132)), None);
        assert_eq!(override_width(false, Some(0)), Some(WIDTH_WITHOUT_TERMINAL));
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(escape_for_terminal("a\x1b[31mb\n"), "a\\x1b[31mb\\n");
    }
}
