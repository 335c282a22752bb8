//! Turns results into text: tables for people, JSON for machines.

pub(crate) mod analysis_json;
pub(crate) mod analysis_table;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod settings_table;
pub(crate) mod table;
