//! Turns results into text: tables for people, JSON for machines.

pub(crate) mod analysis_json;
pub(crate) mod analysis_table;
pub(crate) mod bars;
pub(crate) mod doctor_table;
pub(crate) mod explain_table;
pub(crate) mod failure_table;
pub(crate) mod inputs_json;
pub(crate) mod inputs_table;
pub(crate) mod labelled_lines;
pub(crate) mod outcome_json;
pub(crate) mod outcome_table;
pub(crate) mod output;
pub(crate) mod presets_json;
pub(crate) mod presets_table;
pub(crate) mod progress;
pub(crate) mod repeat_table;
pub(crate) mod run_table;
pub(crate) mod settings_table;
pub(crate) mod table;
