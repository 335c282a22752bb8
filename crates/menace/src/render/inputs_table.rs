//! Inputs of a section for people.

use comfy_table::Cell;

use super::inputs_json::InputsJson;
use super::sheet::head;
use super::table::{number, printable, table};

/// Oversized inputs are longer than anybody reads.
const CALL_WIDTH: usize = 240;

pub(crate) fn render(inputs: &InputsJson<'_>) -> String {
    let mut rows = table(&["", "Way", "Intent", "Call"]);
    for (index, input) in inputs.inputs.iter().enumerate() {
        rows.add_row([
            number(index + 1),
            Cell::new(input.strategy),
            Cell::new(input.intent),
            Cell::new(printable(&head(&input.python, CALL_WIDTH))),
        ]);
    }
    if inputs.inputs.is_empty() {
        return format!("No inputs could be made for {}.\n", inputs.target);
    }
    format!("{rows}\n")
}
