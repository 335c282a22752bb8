//! Settings for people, group by group.

use std::fmt::Write;

use comfy_table::{Cell, Color};

use menace_settings::SettingEntry;

use super::labelled_lines::truncate;
use super::table::{escape_for_terminal, new_row, new_table};

const MAX_VALUE_CHARS: usize = 48;

pub(crate) fn render(settings: &[SettingEntry]) -> String {
    let mut out = String::new();
    for group in settings.chunk_by(|a, b| a.group == b.group) {
        let mut table = new_table(&[group[0].group, "Value", "From"]);
        for entry in group {
            let value = match &entry.value {
                Some(value) => truncate(&escape_for_terminal(value), MAX_VALUE_CHARS),
                None => "–".to_owned(),
            };
            let name = Cell::new(entry.name);
            let name = if entry.origin.is_explicit() { name.fg(Color::Green) } else { name };
            let origin = escape_for_terminal(&entry.origin_text());
            table.add_row(new_row([name, Cell::new(value), Cell::new(origin)]));
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
