//! The settings in effect. Secrets are masked before they come here.

use menace_settings::Entry;
use serde::Serialize;

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub q: Option<String>,
    pub set: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SettingsView {
    pub groups: Vec<Group>,
    pub q: String,
    pub set: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub name: &'static str,
    pub entries: Vec<Line>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub name: &'static str,
    pub value: Option<String>,
    pub origin: String,
    pub is_set: bool,
    pub help: &'static str,
}

pub(crate) fn settings(entries: &[Entry], asked: &Asked) -> SettingsView {
    let wanted = asked.q.as_deref().unwrap_or_default().to_lowercase();
    let mut groups: Vec<Group> = Vec::new();
    for entry in entries {
        let is_set = entry.origin.is_explicit();
        let is_found = entry.name.to_lowercase().contains(&wanted)
            || entry.help.to_lowercase().contains(&wanted);
        if !is_found || (asked.set.is_some() && !is_set) {
            continue;
        }
        let line = Line {
            name: entry.name,
            value: entry.value.clone(),
            origin: entry.origin.to_string(),
            is_set,
            help: entry.help,
        };
        match groups.iter_mut().find(|group| group.name == entry.group) {
            Some(group) => group.entries.push(line),
            None => groups.push(Group { name: entry.group, entries: vec![line] }),
        }
    }
    SettingsView { groups, q: asked.q.clone().unwrap_or_default(), set: asked.set.is_some() }
}
