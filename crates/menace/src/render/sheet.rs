//! Labelled lines, for facts that are no table.
//!
//! Invariant: text that goes in through [`Sheet::add`] or [`Sheet::more`] cannot drive the terminal;
//! styles come from the caller alone.

use std::fmt::Write;

use anstyle::Style;

use super::table::printable;

const LABEL_WIDTH: usize = 12;

#[derive(Debug, Default)]
pub(crate) struct Sheet(String);

impl Sheet {
    /// A line with a label.
    pub(crate) fn add(&mut self, label: &str, text: &str) {
        self.styled(label, Style::new(), text);
    }

    pub(crate) fn styled(&mut self, label: &str, style: Style, text: &str) {
        let text = printable(&text.replace('\t', "    "));
        let dim = Style::new().dimmed();
        let _ = writeln!(self.0, "{dim}{label:<LABEL_WIDTH$}{dim:#}{style}{text}{style:#}");
    }

    /// A line that belongs to the one above.
    pub(crate) fn more(&mut self, text: &str) {
        self.styled("", Style::new(), text);
    }

    /// One line per item, the label before the first; nothing when there are none.
    pub(crate) fn list<T: AsRef<str>>(&mut self, label: &str, items: impl IntoIterator<Item = T>) {
        for (index, item) in items.into_iter().enumerate() {
            self.add(if index == 0 { label } else { "" }, item.as_ref());
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// The beginning of a long text.
pub(crate) fn head(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_cannot_drive_the_terminal() {
        let mut sheet = Sheet::default();
        sheet.add("value", "a\x1b[31mb\tc");
        let text = sheet.into_text();
        assert!(text.contains("a\u{fffd}[31mb    c"), "{text:?}");
    }
}
