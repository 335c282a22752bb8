//! Tables that fit the terminal.

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Row, Table, TableStyle};

/// One line below the head; the rows need none between them.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width when the output is no terminal: wide enough for most, narrow enough to read in a log.
const WIDTH_WITHOUT_TERMINAL: u16 = 110;

/// Width of a terminal that does not tell its own, as serial consoles do.
const USUAL_WIDTH: u16 = 80;

/// A table with a head; numbers go to the right.
pub(crate) fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width_instead(table.is_tty(), table.width()) {
        table.set_width(width);
    }
    table.set_header(head.iter().map(Cell::new));
    table
}

/// The width to use where the terminal's own will not do.
fn width_instead(is_terminal: bool, told: Option<u16>) -> Option<u16> {
    if !is_terminal {
        return Some(WIDTH_WITHOUT_TERMINAL);
    }
    (told.unwrap_or(0) == 0).then_some(USUAL_WIDTH)
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
    fn a_terminal_that_does_not_tell_its_width_has_the_usual_one() {
        assert_eq!(width_instead(true, Some(0)), Some(USUAL_WIDTH));
        assert_eq!(width_instead(true, Some(132)), None);
        assert_eq!(width_instead(false, Some(0)), Some(WIDTH_WITHOUT_TERMINAL));
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }
}
