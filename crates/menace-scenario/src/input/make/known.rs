//! Instances of classes that Python or a well-known library has, from `data/known.json`.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::Deserialize;

use menace_model::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Known {
    #[serde(default)]
    aliases: Vec<String>,
    pub valid: Vec<Value>,
    pub boundary: Vec<Value>,
}

struct Table {
    known: Vec<Known>,
    by_name: HashMap<String, usize>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let read: BTreeMap<String, Known> =
            serde_json::from_str(include_str!("../data/known.json")).expect("tested");
        let mut table = Table { known: Vec::new(), by_name: HashMap::new() };
        for (name, mut known) in read {
            let names = std::mem::take(&mut known.aliases);
            for name in names.into_iter().chain([name]) {
                table.by_name.insert(name, table.known.len());
            }
            table.known.push(known);
        }
        table
    })
}

/// The instances that are known of a class, by its dotted name.
pub(crate) fn find(name: &str) -> Option<&'static Known> {
    let table = table();
    let name = name.strip_prefix("builtins.").unwrap_or(name);
    table.by_name.get(name).map(|index| &table.known[*index])
}
