//! Settings for people, group by group.

use std::fmt::Write;

use comfy_table::{Cell, Color};

use menace_settings::Entry;

use super::table::{printable, row, table};

const VALUE_WIDTH: usize = 48;

pub(crate) fn render(settings: &[Entry]) -> String {
    let mut out = String::new();
    for group in settings.chunk_by(|a, b| a.group == b.group) {
        let mut table = table(&[group[0].group, "Value", "From"]);
        for entry in group {
            let value: String = match &entry.value {
                Some(value) => printable(value).chars().take(VALUE_WIDTH).collect(),
                None => "–".to_owned(),
            };
            let name = Cell::new(entry.name);
            let name = if entry.origin.is_explicit() { name.fg(Color::Green) } else { name };
            let origin = printable(&entry.origin.to_string());
            table.add_row(row([name, Cell::new(value), Cell::new(origin)]));
        }
        let _ = writeln!(out, "{table}\n");
    }
    if settings.is_empty() {
        out.push_str(
            "Every setting has its default; `menace settings` without --set lists them.\n",
        );
    }
    out
}
