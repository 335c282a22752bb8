//! Profiles, presets, templates and histories of inputs, and answers of models.

use menace_scenario::input::InputTemplates;
use menace_scenario::input::history::InputHistory;
use menace_scenario::input::synthetic::parse_answer;
use menace_scenario::preset::{PresetOrigin, ProfileCatalog, read_mocks, read_presets};

/// Reads the text as each of them.
pub fn read_all(text: &str) {
    let _ = ProfileCatalog::built_in().add_file(text, "profiles.json");
    let _ = read_presets(text, "presets.json", PresetOrigin::StaticFile);
    let _ = InputTemplates::read(text, "templates.json");
    let _ = InputHistory::read(text, "history.jsonl");
    let _ = parse_answer(text);
    if let Ok(json) = serde_json::from_str(text) {
        let _ = read_mocks(&json, "mocks.json");
    }
}
