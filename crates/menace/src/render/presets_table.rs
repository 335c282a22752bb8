//! Profiles and presets for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::Cell;

use menace_scenario::preset::{KEYS, Level, Placed, Preset, Profile, Profiles, Values};
use menace_settings::{KeywordProfiles, ScenarioSeverity};

use super::presets_json::{ValidateJson, modes};
use super::sheet::{Sheet, head};
use super::table::{printable, table};
use super::units::counted;

/// Answers of a service can be long.
const VALUE_WIDTH: usize = 60;

/// Every profile, then the words that call for some.
pub(crate) fn list(profiles: &Profiles, keywords: &KeywordProfiles) -> String {
    let mut rows = table(&["Profile", "Category", "Severity", "Sets"]);
    for profile in profiles.iter() {
        let names = std::iter::once(&profile.name).chain(&profile.aliases);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let severities: Vec<&str> =
            profile.levels.iter().filter_map(|level| Some(level.severity?.as_str())).collect();
        let set = KEYS
            .iter()
            .filter(|key| profile.levels.iter().any(|level| key.json(&level.values).is_some()))
            .map(|key| key.name);
        let cells = [
            names.join(", "),
            profile.category.to_string(),
            or_dash(severities.join(", ")),
            or_dash(set.collect::<Vec<_>>().join(", ")),
        ];
        rows.add_row(cells.map(|cell| Cell::new(printable(&cell))));
    }
    let mut words = table(&["Word in a path", "Profiles"]);
    for (word, names) in keywords.iter() {
        words.add_row([word, &names.join(", ")].map(|cell| Cell::new(printable(cell))));
    }
    format!("{rows}\n\n{words}\n")
}

/// One profile with everything that is known about its keys.
pub(crate) fn profile(profile: &Profile) -> String {
    let mut sheet = Sheet::default();
    sheet.styled("profile", Style::new().bold(), &profile.name);
    if !profile.aliases.is_empty() {
        sheet.add("also", &profile.aliases.join(", "));
    }
    sheet.add("category", profile.category.as_str());
    if let Some(about) = &profile.about {
        sheet.add("about", about);
    }
    sheet.add("from", profile.file.as_deref().unwrap_or("built in"));
    let mut out = sheet.into_text();
    let is_set = |level: &Level| !level.values.changes_nothing();
    if !profile.levels.iter().any(is_set) {
        out.push_str("\nIt sets nothing.\n");
        return out;
    }
    let _ = writeln!(out, "\n{}", keys(profile));
    if modes(profile).next().is_some() {
        let _ = writeln!(out, "\n{}", failure_modes(profile));
    }
    out
}

fn keys(profile: &Profile) -> String {
    let severities = profile.levels.iter().map(|level| match level.severity {
        Some(severity) => severity.as_str(),
        None => "Value",
    });
    let head: Vec<&str> =
        std::iter::once("Key").chain(severities).chain(["Meaning", "Held by"]).collect();
    let mut rows = table(&head);
    for key in KEYS {
        let values: Vec<Option<String>> =
            profile.levels.iter().map(|level| key.text(&level.values)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let meaning = key.setting().map_or("", |setting| setting.help());
        let cells = std::iter::once(key.name.to_owned())
            .chain(values.into_iter().map(|value| short(&value.unwrap_or_default())))
            .chain([plain(meaning), plain(key.held_by)]);
        rows.add_row(cells.map(Cell::new));
    }
    rows.to_string()
}

fn failure_modes(profile: &Profile) -> String {
    let mut rows = table(&["Failure mode", "low", "high", "Meaning", "Held by"]);
    for mode in modes(profile) {
        let cells = [
            mode.mode.as_str().to_owned(),
            plain(&mode.strength(ScenarioSeverity::Low)),
            plain(&mode.strength(ScenarioSeverity::High)),
            plain(mode.meaning),
            plain(mode.held_by),
        ];
        rows.add_row(cells.map(Cell::new));
    }
    rows.to_string()
}

/// A preset in a row.
pub(crate) fn presets(presets: &[Preset]) -> String {
    let mut rows = table(&["Scenario", "Severity", "Origin", "Conditions"]);
    for preset in presets {
        let severity = preset.severity().map_or("–", ScenarioSeverity::as_str);
        let cells = [
            printable(preset.name()),
            severity.to_owned(),
            preset.origin.to_string(),
            or_dash(said(preset.values())),
        ];
        rows.add_row(cells.map(Cell::new));
    }
    format!("{rows}\n")
}

fn said(values: &Values) -> String {
    let naming = ["SCENARIO_NAME", "SCENARIO_SEVERITY"];
    let keys = KEYS.iter().filter(|key| !naming.contains(&key.name));
    let said = keys.filter_map(|key| Some(format!("{}={}", key.name, short(&key.text(values)?))));
    said.collect::<Vec<_>>().join("  ")
}

/// What is in a file, and what is odd about it.
pub(crate) fn validated(found: &ValidateJson<'_>, placed: &[Placed]) -> String {
    let presets: Vec<Preset> = placed.iter().map(|placed| placed.preset.clone()).collect();
    let mut out = self::presets(&presets);
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    out.push('\n');
    for warning in &found.warnings {
        let _ = writeln!(out, "{yellow}warning{yellow:#}: {}", printable(&warning.to_string()));
    }
    let warnings = match found.warnings.len() {
        0 => "nothing odd".to_owned(),
        some => counted(some, "warning"),
    };
    let presets = counted(presets.len(), "preset");
    let _ = writeln!(out, "{}: {presets}, {warnings}", printable(found.file));
    out
}

fn short(value: &str) -> String {
    head(&printable(value), VALUE_WIDTH)
}

/// Tables need no marks for code.
fn plain(text: &str) -> String {
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
