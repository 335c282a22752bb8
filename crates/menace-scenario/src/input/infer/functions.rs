//! What functions of the standard library take, from `data/functions.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::annotation;
use crate::input::facts::Facts;
use crate::input::shape::Shape;

#[derive(Debug, Default)]
struct Takes {
    positional: Vec<&'static str>,
    named: Vec<(&'static str, &'static str)>,
}

fn table() -> &'static HashMap<&'static str, Takes> {
    static TABLE: OnceLock<HashMap<&'static str, Takes>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines = include_str!("../data/functions.txt").lines();
        let lines = lines.filter(|line| !line.starts_with('#'));
        let mut table = HashMap::new();
        for (names, kinds) in lines.filter_map(|line| line.split_once(": ")) {
            for name in names.split_whitespace() {
                let mut takes = Takes::default();
                for kind in kinds.split(';').map(str::trim) {
                    match kind.strip_prefix('=').and_then(|kind| kind.split_once(' ')) {
                        Some((name, kind)) => takes.named.push((name, kind)),
                        None => takes.positional.push(kind),
                    }
                }
                table.insert(name, takes);
            }
        }
        table
    })
}

/// What the function takes in that place: a position, a keyword, `*` or `**`.
pub(crate) fn argument(facts: &Facts<'_>, function: &str, argument: &str) -> Vec<Shape> {
    let function = function.strip_prefix("builtins.").unwrap_or(function);
    let table = table();
    let method = || {
        let (_, name) = function.rsplit_once('.')?;
        table.get(format!("*.{name}").as_str())
    };
    let Some(takes) = table.get(function).or_else(method) else { return Vec::new() };
    let kind = if let Ok(position) = argument.parse::<usize>() {
        // More than are listed are like the last.
        takes.positional.get(position).or(takes.positional.last()).copied()
    } else {
        let named = takes.named.iter().find(|(name, _)| *name == argument);
        named.map(|(_, kind)| *kind)
    };
    match kind {
        None | Some("-") => Vec::new(),
        Some(kinds) => kinds.split('/').map(|kind| annotation::kind(facts, kind.trim())).collect(),
    }
}
