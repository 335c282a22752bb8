//! Profiles and presets for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::Cell;
use menace_model::{ScenarioSeverity, format_count};

use menace_scenario::preset::{
    LocatedPreset, PRESET_KEYS, Preset, PresetProfile, PresetValues, ProfileCatalog, ProfileLevel,
};
use menace_settings::KeywordProfiles;

use super::labelled_lines::{LabelledLines, truncate};
use super::presets_json::{PresetCheckJson, failure_modes_of};
use super::table::{escape_for_terminal, new_table};

/// Answers of a service can be long.
const MAX_VALUE_CHARS: usize = 60;

/// Every profile, then the keywords that select profiles.
pub(crate) fn render_profile_list(profiles: &ProfileCatalog, keywords: &KeywordProfiles) -> String {
    let mut rows = new_table(&["Profile", "Category", "Severity", "Sets"]);
    for profile in profiles.iter() {
        let names = std::iter::once(&profile.name).chain(&profile.aliases);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let severities: Vec<&str> =
            profile.levels.iter().filter_map(|level| Some(level.severity?.as_str())).collect();
        let set = PRESET_KEYS
            .iter()
            .filter(|key| {
                profile.levels.iter().any(|level| key.value_json(&level.values).is_some())
            })
            .map(|key| key.name);
        let cells = [
            names.join(", "),
            profile.category.to_string(),
            or_dash(severities.join(", ")),
            or_dash(set.collect::<Vec<_>>().join(", ")),
        ];
        rows.add_row(cells.map(|cell| Cell::new(escape_for_terminal(&cell))));
    }
    let mut words = new_table(&["Word in a path", "Profiles"]);
    for (word, names) in keywords.iter() {
        words.add_row([word, &names.join(", ")].map(|cell| Cell::new(escape_for_terminal(cell))));
    }
    format!("{rows}\n\n{words}\n")
}

/// One profile with the details of its keys.
pub(crate) fn render_profile(profile: &PresetProfile) -> String {
    let mut sheet = LabelledLines::default();
    sheet.add_styled("profile", Style::new().bold(), &profile.name);
    if !profile.aliases.is_empty() {
        sheet.add("also", &profile.aliases.join(", "));
    }
    sheet.add("category", profile.category.as_str());
    if let Some(about) = &profile.about {
        sheet.add("about", about);
    }
    sheet.add("from", profile.file.as_deref().unwrap_or("built in"));
    let mut out = sheet.into_text();
    let is_set = |level: &ProfileLevel| !level.values.has_no_effect();
    if !profile.levels.iter().any(is_set) {
        out.push_str("\nIt sets nothing.\n");
        return out;
    }
    let _ = writeln!(out, "\n{}", keys_table(profile));
    if failure_modes_of(profile).next().is_some() {
        let _ = writeln!(out, "\n{}", failure_modes_table(profile));
    }
    out
}

fn keys_table(profile: &PresetProfile) -> String {
    let severities = profile.levels.iter().map(|level| match level.severity {
        Some(severity) => severity.as_str(),
        None => "Value",
    });
    let head: Vec<&str> =
        std::iter::once("Key").chain(severities).chain(["Meaning", "Enforced by"]).collect();
    let mut rows = new_table(&head);
    for key in PRESET_KEYS {
        let values: Vec<Option<String>> =
            profile.levels.iter().map(|level| key.value_text(&level.values)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let meaning = key.setting().map_or("", |setting| setting.help());
        let cells = std::iter::once(key.name.to_owned())
            .chain(values.into_iter().map(|value| truncate_value(&value.unwrap_or_default())))
            .chain([strip_code_marks(meaning), strip_code_marks(key.enforced_by)]);
        rows.add_row(cells.map(Cell::new));
    }
    rows.to_string()
}

fn failure_modes_table(profile: &PresetProfile) -> String {
    let mut rows = new_table(&["Failure mode", "low", "high", "Meaning", "Enforced by"]);
    for mode in failure_modes_of(profile) {
        let cells = [
            mode.mode.as_str().to_owned(),
            strip_code_marks(&mode.describe_strength(ScenarioSeverity::Low)),
            strip_code_marks(&mode.describe_strength(ScenarioSeverity::High)),
            strip_code_marks(mode.meaning),
            strip_code_marks(mode.enforced_by),
        ];
        rows.add_row(cells.map(Cell::new));
    }
    rows.to_string()
}

/// A preset in a row.
pub(crate) fn render_presets(presets: &[Preset]) -> String {
    let mut rows = new_table(&["Scenario", "Severity", "Origin", "Conditions"]);
    for preset in presets {
        let severity = preset.severity().map_or("–", ScenarioSeverity::as_str);
        let cells = [
            escape_for_terminal(preset.name()),
            severity.to_owned(),
            preset.origin.to_string(),
            or_dash(format_values(preset.values())),
        ];
        rows.add_row(cells.map(Cell::new));
    }
    format!("{rows}\n")
}

fn format_values(values: &PresetValues) -> String {
    let naming = ["SCENARIO_NAME", "SCENARIO_SEVERITY"];
    let keys = PRESET_KEYS.iter().filter(|key| !naming.contains(&key.name));
    let said = keys.filter_map(|key| {
        Some(format!("{}={}", key.name, truncate_value(&key.value_text(values)?)))
    });
    said.collect::<Vec<_>>().join("  ")
}

/// The presets of a file, with warnings about them.
pub(crate) fn render_check(found: &PresetCheckJson<'_>, placed: &[LocatedPreset]) -> String {
    let presets: Vec<Preset> = placed.iter().map(|placed| placed.preset.clone()).collect();
    let mut out = self::render_presets(&presets);
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    out.push('\n');
    for warning in &found.warnings {
        let _ = writeln!(
            out,
            "{yellow}warning{yellow:#}: {}",
            escape_for_terminal(&warning.to_string())
        );
    }
    let warnings = match found.warnings.len() {
        0 => "nothing odd".to_owned(),
        some => format_count(some, "warning"),
    };
    let presets = format_count(presets.len(), "preset");
    let _ = writeln!(out, "{}: {presets}, {warnings}", escape_for_terminal(found.file));
    out
}

fn truncate_value(value: &str) -> String {
    truncate(&escape_for_terminal(value), MAX_VALUE_CHARS)
}

/// Tables need no marks for code.
fn strip_code_marks(text: &str) -> String {
    let text = match text.split_once("](") {
        // `[sandbox.md](…)` is for pages.
        Some((before, _)) => before.replace('[', "docs/"),
        None => text.to_owned(),
    };
    text.replace('`', "")
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "–".to_owned() } else { text }
}
