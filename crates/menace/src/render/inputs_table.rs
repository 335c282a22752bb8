//! Inputs of a section for people.

use comfy_table::Cell;

use super::inputs_json::InputListJson;
use super::labelled_lines::truncate;
use super::table::{escape_for_terminal, new_table, number_cell};

/// Longer inputs are truncated.
const MAX_CALL_CHARS: usize = 240;

pub(crate) fn render(inputs: &InputListJson<'_>) -> String {
    let mut rows = new_table(&["", "Way", "Intent", "Call"]);
    for (index, input) in inputs.inputs.iter().enumerate() {
        rows.add_row([
            number_cell(index + 1),
            Cell::new(input.strategy),
            Cell::new(input.intent),
            Cell::new(escape_for_terminal(&truncate(&input.python, MAX_CALL_CHARS))),
        ]);
    }
    if inputs.inputs.is_empty() {
        return format!("No inputs could be made for {}.\n", inputs.target);
    }
    format!("{rows}\n")
}
