//! What sections take and return: remembered, so that one that came, went or changed is told.
//!
//! Invariant: a module that a cycle is not about, or that cannot be read, is compared by the next one
//! that is about it, with what was known of it before.

use std::collections::{BTreeMap, BTreeSet};

use menace_model::{ModuleReport, SectionId};
use menace_track::{Discrepancy, History, Tracker, changed_sections, signature};
use serde_json::{Map, Value};

use crate::cycle::Wanted;

/// Under this key the history remembers them.
const SIGNATURES: &str = "section_signatures";

#[derive(Debug)]
pub(super) struct Signatures<'r> {
    modules: &'r [ModuleReport],
    wanted: &'r dyn Wanted,
}

impl<'r> Signatures<'r> {
    /// Of all modules there are; the cycle is about those that are wanted.
    pub(super) fn new(modules: &'r [ModuleReport], wanted: &'r dyn Wanted) -> Self {
        Self { modules, wanted }
    }

    /// Sections that came, went or changed since the last cycle about their module.
    pub(super) fn changed(&self, history: &History) -> Vec<Discrepancy> {
        let Some(known) = history.others.get(SIGNATURES).and_then(Value::as_object) else {
            return Vec::new();
        };
        let is_compared = self.is_compared();
        let before = known.iter().filter_map(|(id, value)| {
            let section = section(id).filter(|section| is_compared(section.path()))?;
            Some((section, u64::from_str_radix(value.as_str()?, 16).ok()?))
        });
        let before: Vec<(SectionId, u64)> = before.collect();
        changed_sections(&before, &self.now(&is_compared))
    }

    pub(super) fn remember(&self, tracker: &mut Tracker) {
        let others = tracker.others_mut();
        // The first cycle remembers all of them: what is unknown later is new.
        let is_first = !others.contains_key(SIGNATURES);
        let known = others.entry(SIGNATURES).or_insert_with(|| Map::new().into());
        let Some(known) = known.as_object_mut() else { return };
        let is_compared = self.is_compared();
        known.retain(|id, _| section(id).is_some_and(|section| !is_compared(section.path())));
        for (section, number) in self.now(&|path| is_first || is_compared(path)) {
            known.insert(section.to_string(), format!("{number:016x}").into());
        }
    }

    /// Whether the cycle is about the module of this path, which may be gone.
    fn is_compared(&self) -> impl Fn(&str) -> bool {
        let there: BTreeMap<&str, bool> = self
            .modules
            .iter()
            .map(|module| {
                let is_readable = module.error.is_none();
                (module.path.as_str(), is_readable && self.wanted.has_module(module))
            })
            .collect();
        move |path| there.get(path).copied().unwrap_or_else(|| self.wanted.has_path(path))
    }

    fn now(&self, is_wanted: &dyn Fn(&str) -> bool) -> Vec<(SectionId, u64)> {
        let modules = self.modules.iter().filter(|one| one.error.is_none() && is_wanted(&one.path));
        // A name that is defined twice is one section.
        let mut seen = BTreeSet::new();
        let sections = modules.flat_map(|module| &module.sections);
        sections
            .filter(|section| seen.insert(&section.id))
            .map(|section| (section.id.clone(), signature(section)))
            .collect()
    }
}

fn section(id: &str) -> Option<SectionId> {
    let (path, qualname) = id.rsplit_once("::")?;
    Some(SectionId::new(path, qualname))
}
