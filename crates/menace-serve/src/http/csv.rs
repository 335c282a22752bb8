//! Comma-separated values, as RFC 4180 has them, for spreadsheets that take text for formulas.

/// Rows below a head.
#[derive(Debug)]
pub(super) struct CsvTable(String);

impl CsvTable {
    /// `head` is the names of the columns, between commas.
    pub(super) fn new(head: &str) -> Self {
        Self(format!("{head}\r\n"))
    }

    pub(super) fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.write_cell(&cell);
        }
        self.0.push_str("\r\n");
    }

    fn write_cell(&mut self, text: &str) {
        let text = &*menace_model::escape_but_lines(text);
        // A message such as `=cmd|…` must stay a message when a spreadsheet opens the file.
        let is_number = text.parse::<f64>().is_ok();
        let is_formula = !is_number && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        let guard = if is_formula { "'" } else { "" };
        if guard.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
            self.0.push_str(text);
            return;
        }
        self.0.push('"');
        self.0.push_str(guard);
        self.0.push_str(&text.replace('"', "\"\""));
        self.0.push('"');
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// Empty for a missing value.
pub(super) fn format_number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut csv = CsvTable::new("a,b");
        csv.add_row(["x,\"y\"\n".to_owned(), "-0.5".to_owned()]);
        csv.add_row(["=HYPERLINK(\"x\")".to_owned(), "@sum".to_owned()]);
        assert_eq!(
            csv.into_text(),
            "a,b\r\n\"x,\"\"y\"\"\n\",-0.5\r\n\"'=HYPERLINK(\"\"x\"\")\",\"'@sum\"\r\n"
        );
    }
}
