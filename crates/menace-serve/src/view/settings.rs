//! The settings in effect. Secrets are masked before they come here.

use menace_settings::SettingEntry;
use serde::Serialize;

use super::paging::{PageAddress, SortableColumn, TableSorting};

#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(crate) struct SettingsQuery {
    pub q: Option<String>,
    pub set: Option<String>,
    pub sort: Option<String>,
    pub dir: Option<String>,
}

const SETTING_COLUMNS: &[(&str, &str, bool)] =
    &[("name", "Setting", false), ("value", "Value", false), ("from", "From", false)];

#[derive(Debug, Serialize)]
pub(crate) struct SettingsPage {
    pub groups: Vec<SettingsGroup>,
    pub columns: Vec<SortableColumn>,
    pub q: String,
    pub set: bool,
    pub hidden_fields: Vec<(String, String)>,
    pub csv: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct SettingsGroup {
    pub name: &'static str,
    pub entries: Vec<SettingRow>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SettingRow {
    pub name: &'static str,
    pub value: Option<String>,
    pub origin: String,
    pub is_set: bool,
    pub help: &'static str,
}

pub(crate) fn settings_page(entries: &[SettingEntry], query: &SettingsQuery) -> SettingsPage {
    let wanted = query.q.as_deref().unwrap_or_default().to_lowercase();
    let mut groups: Vec<SettingsGroup> = Vec::new();
    for entry in entries {
        let is_set = entry.origin.is_explicit();
        let is_found = entry.name.to_lowercase().contains(&wanted)
            || entry.help.to_lowercase().contains(&wanted);
        if !is_found || (query.set.is_some() && !is_set) {
            continue;
        }
        let line = SettingRow {
            name: entry.name,
            value: entry.value.clone(),
            origin: entry.origin_text(),
            is_set,
            help: entry.help,
        };
        match groups.iter_mut().find(|group| group.name == entry.group) {
            Some(group) => group.entries.push(line),
            None => groups.push(SettingsGroup { name: entry.group, entries: vec![line] }),
        }
    }
    // In the order of their declaration, unless the query has another order.
    let declared = TableSorting { by: "", descending: false };
    let sorting = TableSorting::from_query(
        SETTING_COLUMNS,
        declared,
        query.sort.as_deref(),
        query.dir.as_deref(),
    );
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
    let here = PageAddress::new("/settings")
        .with("q", query.q.as_deref())
        .with("set", query.set.as_deref())
        .with("sort", query.sort.as_deref())
        .with("dir", query.dir.as_deref());
    SettingsPage {
        groups,
        columns: sorting.column_heads(SETTING_COLUMNS, &here),
        q: query.q.clone().unwrap_or_default(),
        set: query.set.is_some(),
        hidden_fields: here.hidden_fields(&["q", "set"]),
        csv: here.at_path("/settings.csv").href(),
    }
}
