//! Labelled lines, for facts that are no table.
//!
//! Invariant: text that goes in through [`LabelledLines::add`] or
//! [`LabelledLines::add_continuation`] cannot drive the terminal; styles come from the caller
//! alone.

use std::fmt::Write;

use anstyle::Style;

use super::table::escape_for_terminal;

const LABEL_WIDTH: usize = 12;

#[derive(Debug, Default)]
pub(crate) struct LabelledLines(String);

impl LabelledLines {
    /// A line with a label.
    pub(crate) fn add(&mut self, label: &str, text: &str) {
        self.add_styled(label, Style::new(), text);
    }

    pub(crate) fn add_styled(&mut self, label: &str, style: Style, text: &str) {
        let text = escape_for_terminal(&text.replace('\t', "    "));
        let dim = Style::new().dimmed();
        let _ = writeln!(self.0, "{dim}{label:<LABEL_WIDTH$}{dim:#}{style}{text}{style:#}");
    }

    /// Adds a line without a label, which continues the one above.
    pub(crate) fn add_continuation(&mut self, text: &str) {
        self.add_styled("", Style::new(), text);
    }

    /// Adds one line per item, with the label before the first; nothing without items.
    pub(crate) fn add_list<T: AsRef<str>>(
        &mut self,
        label: &str,
        items: impl IntoIterator<Item = T>,
    ) {
        for (index, item) in items.into_iter().enumerate() {
            self.add(if index == 0 { label } else { "" }, item.as_ref());
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

pub(crate) use menace_model::truncate_chars as truncate;

/// The beginning of a text on one line.
pub(crate) fn truncate_line(text: &str, width: usize) -> String {
    truncate(&menace_model::escape_for_terminal(&text.replace(['\n', '\t'], " ")), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_cannot_drive_the_terminal() {
        let mut sheet = LabelledLines::default();
        sheet.add("value", "a\x1b[31mb\tc");
        let text = sheet.into_text();
        assert!(text.contains("a\\x1b[31mb    c"), "{text:?}");
    }
}
