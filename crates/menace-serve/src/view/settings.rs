//! The settings in effect. Secrets are masked before they come here.

use menace_settings::Entry;
use serde::Serialize;

use super::paging::{Column, Here, Sorting};

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct Asked {
    pub q: Option<String>,
    pub set: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

const COLUMNS: &[(&str, &str, bool)] =
    &[("name", "Setting", false), ("value", "Value", false), ("from", "From", false)];

#[derive(Debug, Serialize)]
pub(crate) struct SettingsView {
    pub groups: Vec<Group>,
    pub columns: Vec<Column>,
    pub q: String,
    pub set: bool,
    pub kept: Vec<(String, String)>,
    pub csv: String,
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
    // As they are declared, unless somebody wants another order.
    let declared = Sorting { by: "", descending: false };
    let sorting = Sorting::of(COLUMNS, declared, asked.sort.as_deref(), asked.dir.as_deref());
    for group in &mut groups {
        match sorting.by {
            "name" => group.entries.sort_by_key(|line| line.name),
            "value" => group.entries.sort_by(|one, other| one.value.cmp(&other.value)),
            "from" => group.entries.sort_by(|one, other| one.origin.cmp(&other.origin)),
            _ => {}
        }
        if sorting.descending {
            group.entries.reverse();
        }
    }
    let here = Here::new("/settings")
        .with("q", asked.q.as_deref())
        .with("set", asked.set.as_deref())
        .with("sort", asked.sort.as_deref())
        .with("dir", asked.dir.as_deref());
    SettingsView {
        groups,
        columns: sorting.heads(COLUMNS, &here),
        q: asked.q.clone().unwrap_or_default(),
        set: asked.set.is_some(),
        kept: here.kept(&["q", "set"]),
        csv: here.at("/settings.csv").href(),
    }
}
