//! Renders the tables of `docs/scenarios.md` from the tables in the code.

use super::{FAILURE_MODES, PRESET_KEYS, PresetKey, PresetProfile, ProfileCatalog};
use menace_model::ScenarioSeverity;

const KEY_TABLE_HEAD: &str = "\
| key | type | default | generated | meaning | enforced by |
|---|---|---|---|---|---|
";
const MODE_TABLE_HEAD: &str = "\
| failure mode | meaning | at `low` | at `high` | enforced by |
|---|---|---|---|---|
";
const PROFILE_TABLE_HEAD: &str = "\
| profile | category | what it is | at `low` | at `high` |
|---|---|---|---|---|
";

/// Tables of all keys, failure modes and built-in profiles.
pub fn render_markdown() -> String {
    let keys: String = PRESET_KEYS.iter().map(render_key_row).collect();
    let modes: String = FAILURE_MODES
        .iter()
        .map(|mode| {
            render_row(&[
                render_code(mode.mode.as_str()),
                mode.meaning.to_owned(),
                mode.describe_strength(ScenarioSeverity::Low),
                mode.describe_strength(ScenarioSeverity::High),
                mode.enforced_by.to_owned(),
            ])
        })
        .collect();
    let profiles: String = ProfileCatalog::built_in().iter().map(render_profile_row).collect();
    format!(
        "### Keys\n\n{KEY_TABLE_HEAD}{keys}\n### Failure modes\n\n{MODE_TABLE_HEAD}{modes}\n\
         ### Profiles\n\n{PROFILE_TABLE_HEAD}{profiles}"
    )
}

fn render_key_row(key: &PresetKey) -> String {
    let declared = key.setting();
    render_row(&[
        render_code(key.name),
        declared.map(menace_settings::SettingDeclaration::kind).unwrap_or_default(),
        key.default.to_owned(),
        key.generated.to_owned(),
        declared.map(menace_settings::SettingDeclaration::help_with_status).unwrap_or_default(),
        key.enforced_by.to_owned(),
    ])
}

fn render_profile_row(profile: &PresetProfile) -> String {
    let names = std::iter::once(&profile.name).chain(&profile.aliases);
    let names: Vec<String> = names.map(|name| render_code(name)).collect();
    let at = |severity| profile.level(severity).map(|level| render_level(level, severity));
    render_row(&[
        names.join(", "),
        profile.category.to_string(),
        profile.about.clone().unwrap_or_default(),
        at(ScenarioSeverity::Low).unwrap_or_default(),
        at(ScenarioSeverity::High).unwrap_or_default(),
    ])
}

/// The keys of a level and their values.
fn render_level(level: &super::ProfileLevel, severity: ScenarioSeverity) -> String {
    if level.values.has_no_effect() {
        return "nothing".to_owned();
    }
    if level.severity.is_some_and(|own| own != severity) {
        return String::new();
    }
    let assignments = PRESET_KEYS.iter().filter_map(|key| {
        let text = key.value_text(&level.values)?;
        let text = if text.len() > 60 { "…" } else { &text };
        Some(render_code(&format!("{}={text}", key.name)))
    });
    assignments.collect::<Vec<_>>().join(" ")
}

fn render_row(cells: &[String]) -> String {
    // A bar would end the cell.
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn render_code(text: &str) -> String {
    format!("`{text}`")
}
