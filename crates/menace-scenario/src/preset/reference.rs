//! The tables of `docs/scenarios.md`, out of the tables in the code.

use menace_settings::ScenarioSeverity;

use super::{KEYS, Key, MODES, Profile, Profiles};

const KEY_HEAD: &str = "\
| key | type | default | generated | meaning | held by |
|---|---|---|---|---|---|
";
const MODE_HEAD: &str = "\
| failure mode | meaning | at `low` | at `high` | held by |
|---|---|---|---|---|
";
const PROFILE_HEAD: &str = "\
| profile | category | what it is | at `low` | at `high` |
|---|---|---|---|---|
";

/// Every key, every failure mode, every built-in profile.
pub fn markdown() -> String {
    let keys: String = KEYS.iter().map(key).collect();
    let modes: String = MODES
        .iter()
        .map(|mode| {
            row(&[
                code(mode.mode.as_str()),
                mode.meaning.to_owned(),
                mode.strength(ScenarioSeverity::Low),
                mode.strength(ScenarioSeverity::High),
                mode.held_by.to_owned(),
            ])
        })
        .collect();
    let profiles: String = Profiles::built_in().iter().map(profile).collect();
    format!(
        "### Keys\n\n{KEY_HEAD}{keys}\n### Failure modes\n\n{MODE_HEAD}{modes}\n\
         ### Profiles\n\n{PROFILE_HEAD}{profiles}"
    )
}

fn key(key: &Key) -> String {
    let declared = key.setting();
    row(&[
        code(key.name),
        declared.map(menace_settings::Declaration::kind).unwrap_or_default(),
        key.default.to_owned(),
        key.generated.to_owned(),
        declared.map(|declared| declared.help().to_owned()).unwrap_or_default(),
        key.held_by.to_owned(),
    ])
}

fn profile(profile: &Profile) -> String {
    let names = std::iter::once(&profile.name).chain(&profile.aliases);
    let names: Vec<String> = names.map(|name| code(name)).collect();
    let at = |severity| profile.level(severity).map(|level| said(level, severity));
    row(&[
        names.join(", "),
        profile.category.to_string(),
        profile.about.clone().unwrap_or_default(),
        at(ScenarioSeverity::Low).unwrap_or_default(),
        at(ScenarioSeverity::High).unwrap_or_default(),
    ])
}

/// The keys of a level and what they are set to.
fn said(level: &super::Level, severity: ScenarioSeverity) -> String {
    if level.values.changes_nothing() {
        return "nothing".to_owned();
    }
    if level.severity.is_some_and(|own| own != severity) {
        return String::new();
    }
    let said = KEYS.iter().filter_map(|key| {
        let text = key.text(&level.values)?;
        let text = if text.len() > 60 { "…" } else { &text };
        Some(code(&format!("{}={text}", key.name)))
    });
    said.collect::<Vec<_>>().join(" ")
}

fn row(cells: &[String]) -> String {
    // A bar would end the cell.
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}
